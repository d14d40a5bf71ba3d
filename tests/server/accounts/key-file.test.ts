import { chmodSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { describe, expect, it } from "vitest";
import { KeyFile } from "../../../runtime/server/accounts/key-file.js";
import { KeyFileWatcher } from "../../../runtime/server/operations/key-file-watcher.js";
import { hashOf, Keyring, readKeyring } from "../../../runtime/core/request/keyring.js";
import { atEnd } from "../../support/at-end.js";
import { ownFolder } from "../../support/service.js";

const OWNER = { tier: "tier2", user: "ann", org: "acme" } as const;
const CREATED = {
  ...OWNER,
  created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string,
};
let files = 0;
const folder = ownFolder();
const newFile = (): string => join(folder, `keys-${String(++files)}.json`);

async function added(
  file: string,
  owner: Parameters<KeyFile["create"]>[0] = OWNER,
): Promise<{ key: string; id: string }> {
  const result = await new KeyFile(file).create(owner);
  if (!result.ok) throw new Error(result.problems.join(" "));
  return result.value;
}

describe("a key file", () => {
  it("is readable by its owner only, and holds the hash, never the key", async () => {
    const file = newFile();
    const { key, id } = await added(file);
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain(key.slice(11));
    expect(JSON.parse(text)).toEqual({ [Object.keys(JSON.parse(text) as object)[0] ?? ""]: CREATED });
    expect(Object.keys(JSON.parse(text) as object)[0]).toMatch(new RegExp(`^sha256:${id}[0-9a-f]{52}$`));
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("keeps its other entries and its mode when it is changed", async () => {
    const file = newFile();
    writeFileSync(file, '{"sk_live_by_hand": "tier1"}', { mode: 0o600 });
    const { id } = await added(file);
    await new KeyFile(file).rotate(id, 60);
    const keys = await new KeyFile(file).keys();
    expect(keys.ok && [...keys.value.values()]).toMatchObject([{ tier: "tier1", user: "" }, OWNER, OWNER]);
    expect(readFileSync(file, "utf8")).toContain("sk_live_by_hand");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("may hold a key whose entry is the tier alone, which is rotated too", async () => {
    const file = newFile();
    writeFileSync(file, '{"sk_live_by_hand": "tier1"}');
    const rotated = await new KeyFile(file).rotate(hashOf("sk_live_by_hand").slice(0, 12), 60);
    expect(rotated).toMatchObject({ ok: true });
    const reading = readKeyring(JSON.parse(readFileSync(file, "utf8")), file);
    expect(reading.ok && reading.value.find("sk_live_by_hand")).toMatchObject({ tier: "tier1" });
    expect(reading.ok && rotated.ok && reading.value.find(rotated.value.key)).toMatchObject({
      tier: "tier1",
    });
  });

  it.each(["", "{", "[]", '{"sk_live_x": "tier9"}'])(
    "that is broken is told and left as it is: %j",
    async (text) => {
      const file = newFile();
      writeFileSync(file, text);
      const store = new KeyFile(file);
      expect(await store.create(OWNER)).toEqual({ ok: false, problems: [expect.stringContaining(file)] });
      expect((await store.revoke("a")).ok).toBe(false);
      expect((await store.rotate("a", 1)).ok).toBe(false);
      expect((await store.add(new Map())).ok).toBe(false);
      expect((await store.keys()).ok).toBe(false);
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

it("is read again after it could not be used, though nothing else of it changes, and the reason is logged once", () => {
  const file = join(ownFolder(), "api_keys.json");
  const at = new Date();
  const write = (text: string): void => {
    writeFileSync(file, text);
    utimesSync(file, at, at);
  };
  write(JSON.stringify({ sk_live_first: "tier3" }));
  const lines: string[] = [];
  const keys = new Keyring(new Map());
  const watcher = new KeyFileWatcher(
    keys,
    file,
    pino({ level: "error" }, { write: (line) => void lines.push(line) }),
  );
  atEnd(() => watcher.close());
  const next = JSON.stringify({ sk_live_second: "tier3" });
  write("x".repeat(next.length));
  for (let i = 0; i < 3; i++) watcher.check();
  expect([lines.length, keys.find("sk_live_first") !== null]).toEqual([1, true]);
  write(next);
  watcher.check();
  expect([keys.find("sk_live_first"), keys.find("sk_live_second") === null]).toEqual([null, false]);
});
