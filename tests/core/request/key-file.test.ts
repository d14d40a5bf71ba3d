import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { describe, expect, it } from "vitest";
import { addKey, removeKey, storedKeys } from "../../../runtime/server/keys.js";
import { KeyFileWatcher } from "../../../runtime/server/operations/key-file-watcher.js";
import { Keyring, readKeyring } from "../../../runtime/core/request/keyring.js";
import { ownFolder } from "../../support/service.js";

const OWNER = { tier: "tier2", user: "ann", org: "acme" } as const;
const CREATED = {
  ...OWNER,
  created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string,
};
let files = 0;
const folder = ownFolder();
const newFile = (): string => join(folder, `keys-${String(++files)}.json`);

function added(file: string, owner: Parameters<typeof addKey>[1] = OWNER): { key: string; id: string } {
  const result = addKey(file, owner);
  if (!result.ok) throw new Error(result.problems.join(" "));
  return result.value;
}

describe("a key file", () => {
  it("is readable by its owner only, and holds the hash, never the key", () => {
    const file = newFile();
    const { key, id } = added(file);
    const text = readFileSync(file, "utf8");
    expect(key).toMatch(/^sk_live_[\w-]{43}$/);
    expect(text).not.toContain(key.slice(8));
    expect(JSON.parse(text)).toEqual({ [Object.keys(JSON.parse(text) as object)[0] ?? ""]: CREATED });
    expect(Object.keys(JSON.parse(text) as object)[0]).toMatch(new RegExp(`^sha256:${id}[0-9a-f]{52}$`));
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("is read by the server", () => {
    const file = newFile();
    const { key, id } = added(file);
    const reading = readKeyring(JSON.parse(readFileSync(file, "utf8")), file);
    expect(reading.ok && reading.value.find(key)).toEqual({ id, ...OWNER, expiresAt: null, allowed: null });
  });

  it("keeps its other entries and its mode when it is changed", () => {
    const file = newFile();
    writeFileSync(file, '{"sk_live_by_hand": "tier1"}', { mode: 0o600 });
    added(file);
    expect(storedKeys(file)).toMatchObject({ ok: true, value: [{ tier: "tier1", user: "" }, OWNER] });
    expect(readFileSync(file, "utf8")).toContain("sk_live_by_hand");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("removes the key that a prefix of its id identifies", () => {
    const file = newFile();
    const first = added(file);
    const second = added(file, { ...OWNER, user: "bob" });
    expect(removeKey(file, first.id)).toEqual({ ok: true, value: [first.id] });
    expect(storedKeys(file)).toEqual({ ok: true, value: [{ id: second.id, ...CREATED, user: "bob" }] });
  });

  it("removes nothing when an id matches no key or several", () => {
    const file = newFile();
    const ids = [added(file).id, added(file).id];
    expect(removeKey(file, "zzz")).toEqual({ ok: true, value: [] });
    expect(removeKey(file, "")).toEqual({ ok: true, value: ids });
    expect(storedKeys(file)).toMatchObject({ ok: true, value: [{}, {}] });
  });

  it("keeps when a key expires and what it is limited to", () => {
    const file = newFile();
    const limits = { expires: "2099-12-31", allowed: ["shop", "/v1/bank/accounts"] };
    added(file, { ...OWNER, ...limits });
    expect(storedKeys(file)).toMatchObject({ ok: true, value: [{ ...OWNER, ...limits }] });
    expect(addKey(file, { ...OWNER, expires: "tomorrow" })).toMatchObject({ ok: false });
  });

  it("gets no key of all organizations below tier3", () => {
    const file = newFile();
    const problem = '--org may be "*" (all organizations) only with tier3.';
    expect(addKey(file, { ...OWNER, org: "*" })).toEqual({ ok: false, problems: [problem] });
    expect(added(file, { ...OWNER, org: "*", tier: "tier3" }).key).toMatch(/^sk_live_/);
  });

  it.each(["", "{", "[]", '{"sk_live_x": "tier9"}'])(
    "that is broken is told and left as it is: %j",
    (text) => {
      const file = newFile();
      writeFileSync(file, text);
      expect(addKey(file, OWNER)).toEqual({ ok: false, problems: [expect.stringContaining(file)] });
      expect(removeKey(file, "a").ok).toBe(false);
      expect(storedKeys(file).ok).toBe(false);
      expect(readFileSync(file, "utf8")).toBe(text);
    },
  );

  it.each([
    [0o644, "sk_live_x", ["644"]],
    [0o600, "sk_live_x", []],
    [0o644, `sha256:${"0".repeat(64)}`, []],
  ])("with mode %o and the entry %s that others can read is warned of", (mode, key, modes) => {
    const file = newFile();
    writeFileSync(file, JSON.stringify({ [key]: "tier1" }));
    chmodSync(file, mode);
    const lines: { mode?: string; msg: string }[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as { msg: string }) });
    new KeyFileWatcher(new Keyring(new Map()), file, log).close();
    expect(lines.map((line) => line.mode)).toEqual(modes);
    for (const { msg } of lines) expect(msg).toContain(`chmod 600 ${file}`);
  });
});
