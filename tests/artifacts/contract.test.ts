import { beforeEach, describe, expect, it } from "vitest";
import { artifactIn } from "../../runtime/core/model/store-address.js";
import { readIfModified } from "../../generator/artifacts/source.js";
import type { ArtifactAccess, SourceLimits, Validators } from "../../generator/artifacts/store.js";
import { needs } from "../support/needs.js";
import { withVariables } from "./store.js";
import { STORES } from "./stores.js";

const hasServers = needs("moto_server", "gcp-storage-emulator", "azurite-blob");

/** A manifest's text of some size, so that a read takes more than one piece. */
const textOf = (build: string): string => JSON.stringify({ build, filler: build.repeat(50_000) });

// Once for all tests: a server takes seconds to start.
const opened = await Promise.all(
  (hasServers ? Object.entries(STORES) : []).map(async ([kind, open]) => ({ kind, store: await open() })),
);

describe.each(opened)("a file at $kind", ({ store }) => {
  interface Options {
    readonly limits?: Partial<SourceLimits>;
    readonly access?: ArtifactAccess | undefined;
    readonly location?: string;
  }
  const read = (known: Validators | null = null, options: Options = {}) => {
    const { limits = {}, access = store.access, location = artifactIn(store.folder, "manifest") } = options;
    return readIfModified(location, known, limits, access);
  };
  const whole = async (known: Validators | null = null) => {
    const found = await read(known);
    if (found.kind !== "text") throw new Error(JSON.stringify(found));
    return found;
  };
  const expectNoSecret = (...messages: unknown[]): void => {
    for (const secret of store.secrets) expect(JSON.stringify(messages)).not.toContain(secret);
  };

  beforeEach(async () => {
    const { variables, put } = store;
    withVariables(variables);
    await put("manifest.json", textOf("a"));
  });

  it("is read, and not sent again while it stays", async () => {
    const { gate, isConditional, put } = store;
    const first = await whole();
    expect(first.source.text).toBe(textOf("a"));
    expectNoSecret(first.source.location);
    if (isConditional) {
      gate?.passed();
      expect(await read(first.validators)).toEqual({ kind: "unmodified" });
      expect(gate?.passed()).toBeLessThan(2000);
    } else expect(first.validators).toBeNull();
    await put("manifest.json", textOf("b"));
    const second = await whole(first.validators);
    expect(second.source.text).toBe(textOf("b"));
    if (isConditional) expect(second.validators).not.toEqual(first.validators);
  });

  it("is one of the two versions when it is replaced while it is read, and the new one then", async () => {
    const { gate, put } = store;
    gate?.pauseNext(() => put("manifest.json", textOf("b")));
    const { source, validators } = await whole();
    expect([textOf("a"), textOf("b")]).toContain(source.text);
    await put("manifest.json", textOf("c"));
    expect((await whole(validators)).source.text).toBe(textOf("c"));
  });

  it("is missing where it is not there, and found once it is", async () => {
    const { remove, put } = store;
    await remove("manifest.json");
    const missing = await read();
    expect(missing).toMatchObject({ kind: "missing", problem: expect.stringMatching(/manifest\.json/) });
    expectNoSecret(missing);
    await put("manifest.json", textOf("d"));
    expect((await whole()).source.text).toBe(textOf("d"));
  });

  it("is refused in one line where bucket, container or job are not there", async () => {
    const { elsewhere } = store;
    const found = await read(null, { location: elsewhere });
    expect(["missing", "failed"]).toContain(found.kind);
    expect((found as { problem: string }).problem).toMatch(/^[^\n]*(none|no-such|999)[^\n]*$/);
    expectNoSecret(found);
  });

  it("is refused with the reason for wrong credentials and for expired ones", async () => {
    const { refused, variables } = store;
    for (const { why, variables: own = variables, access } of refused) {
      withVariables(own);
      const found = await read(null, { access });
      expect(found).toMatchObject({
        kind: "failed",
        problem: expect.stringMatching(why === "wrong" ? /wrong/ : /expired/),
      });
      expectNoSecret(found);
    }
  });

  it("is given up at the time limit, and read once the store answers again", async () => {
    const { gate } = store;
    if (gate === null) return;
    gate.silence(true);
    const found = await read(null, { limits: { timeoutMs: 400 } });
    gate.silence(false);
    expect(found).toMatchObject({
      kind: "failed",
      problem: expect.stringMatching(/^Cannot fetch .*manifest\.json: no complete response within 0\.4 s\.$/),
    });
    expectNoSecret(found);
    expect((await whole()).source.text).toBe(textOf("a"));
  });

  it("is refused or read again, never cut off, where the connection ends within it", async () => {
    const { gate } = store;
    if (gate === null) return;
    gate.cutNext();
    const found = await read();
    if (found.kind === "text") expect(found.source.text).toBe(textOf("a"));
    else
      expect(found).toMatchObject({
        kind: "failed",
        problem: expect.stringMatching(/the connection ended before the file was complete\.$/),
      });
    expectNoSecret(found);
  });

  it("is given up at the size limit", async () => {
    expect(await read(null, { limits: { maxBytes: 20_000 } })).toMatchObject({
      kind: "failed",
      problem: expect.stringMatching(/is too large: at most 0 MB are read\.$/),
    });
  });
});
