import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { artifactIn } from "../../runtime/core/model/store-address.js";
import { PolledArtifacts } from "../../generator/artifacts/artifacts.js";
import { needs } from "../support/needs.js";
import { buildFiles } from "./builds.js";
import { withVariables } from "./store.js";
import { STORES } from "./stores.js";

/** `ARTIFACT_CHANGES=300 npm test -- artifacts/watch.test.ts` looks at more. */
const CHANGES = Number(process.env["ARTIFACT_CHANGES"] ?? 12);

const hasServers = needs("moto_server", "gcp-storage-emulator", "azurite-blob");
const opened = await Promise.all(
  (hasServers ? Object.entries(STORES) : []).map(async ([kind, open]) => ({ kind, store: await open() })),
);

/** The builds that a poll has found in manifest and catalog. */
function buildsIn({ manifest, catalog }: { manifest: { text: string }; catalog: { text: string } | null }) {
  return [manifest.text, catalog?.text ?? ""].map((text) =>
    Number(/"invocation_id":"build-(\d+)"/.exec(text)?.[1]),
  );
}

describe.each(opened)("dbt's files at $kind, written one after the other", ({ store }) => {
  beforeEach(() => withVariables(store.variables));

  it(`are the newest at each poll, and never of two builds, over ${CHANGES} changes`, async () => {
    const { folder, access, put } = store;
    let written = 0;
    // Files that take a second from one to the next count as settled, also where the machine is busy.
    let since: number | null = null;
    let slowest = 0;
    const isSlow = (): boolean => Math.max(slowest, since === null ? 0 : performance.now() - since) > 500;
    const write = async (build: number): Promise<void> => {
      for (const [name, text] of Object.entries(buildFiles(build))) {
        since = performance.now();
        await put(name, text);
        await sleep(Math.random() * 40);
        slowest = Math.max(slowest, performance.now() - since);
      }
      since = null;
      written = build;
    };
    await write(1);
    const artifacts = new PolledArtifacts({
      manifest: artifactIn(folder, "manifest"),
      catalog: artifactIn(folder, "catalog"),
      artifacts: folder,
      access,
    });
    let known: string | null = null;
    let found = 0;
    const poll = async (): Promise<void> => {
      const least = written;
      const polled = await artifacts.poll(known);
      if (polled.kind === "error") throw new Error(polled.detail);
      if (polled.kind === "text") {
        const [manifest = 0, catalog] = buildsIn(polled);
        const expected = { catalog: manifest, warnings: [] };
        if (!isSlow()) expect({ catalog, warnings: polled.warnings }).toEqual(expected);
        expect(manifest).toBeGreaterThanOrEqual(found);
        [known, found] = [polled.hash, manifest];
        slowest = 0;
      }
      expect(found).toBeGreaterThanOrEqual(least);
    };
    const writing = (async () => {
      for (let build = 2; build <= CHANGES; build++) {
        await write(build);
        await sleep(Math.random() * 300);
      }
    })();
    while (written < CHANGES) await poll();
    await writing;
    await poll();
    expect(found).toBe(CHANGES);
    expect(await artifacts.poll(known)).toEqual({ kind: "unchanged" });
  }, 1_800_000);
});
