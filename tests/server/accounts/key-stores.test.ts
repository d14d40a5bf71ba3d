import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { describe, expect, it } from "vitest";
import { hashOf, Keyring, parseKeyring } from "../../../runtime/core/request/keyring.js";
import { EnvironmentKeys } from "../../../runtime/server/accounts/key-entries.js";
import { KeyFile } from "../../../runtime/server/accounts/key-file.js";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import type { KeyStore, StoredKey } from "../../../runtime/server/accounts/key-store.js";
import { StoredKeyReader } from "../../../runtime/server/accounts/stored-keys.js";
import type { Outcome } from "../../../runtime/core/model/outcome.js";
import { KeyFileWatcher } from "../../../runtime/server/operations/key-file-watcher.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase } from "../../support/database.js";
import { ownFolder } from "../../support/service.js";

const silent = pino({ level: "silent" });
const OWNER = { tier: "tier2", user: "ann", org: "acme" } as const;

/** A store, and the keyring of a server that follows it. */
interface Followed {
  readonly store: KeyStore;
  /** Looks for changes, where that takes a server's 2 s. */
  readonly keyring: Pick<Keyring, "find">;
}

function inFile(): Followed {
  const file = join(ownFolder(), "keys.json");
  writeFileSync(file, "{}");
  const keyring = new Keyring(new Map());
  const watcher = new KeyFileWatcher(keyring, file, silent);
  atEnd(() => watcher.close());
  const find = (key: string) => {
    watcher.check();
    return keyring.find(key);
  };
  return { store: new KeyFile(file), keyring: { find } };
}

async function inDatabase(): Promise<Followed> {
  const databaseUrl = await ownDatabase();
  const store = await KeyDatabase.open(databaseUrl);
  const reader = await StoredKeyReader.open({ databaseUrl, staleSeconds: 60, plans: {}, log: silent });
  const keyring = new Keyring(new Map());
  keyring.setStored(reader);
  atEnd(async () => {
    await reader.close();
    await store.close();
  });
  return { store, keyring };
}

function made<Value>(outcome: Outcome<Value>): Value {
  if (!outcome.ok) throw new Error(outcome.problems.join(" "));
  return outcome.value;
}

const listed = async ({ store }: Followed): Promise<readonly StoredKey[]> => [
  ...made(await store.keys()).values(),
];

const KNOWN = { timeout: 90_000, interval: 20 };

describe.each([
  ["a key file", inFile],
  ["a database", inDatabase],
])("keys in %s", (_, open) => {
  it("are known to a running server until they are revoked", async () => {
    const followed = await open();
    const { store, keyring } = followed;
    const { key, id } = made(await store.create(OWNER));
    expect(key).toMatch(/^sk_live_rw_[\w-]{43}[0-9A-Za-z]{6}$/);
    await expect
      .poll(() => keyring.find(key), KNOWN)
      .toEqual({ id, ...OWNER, expiresAt: null, allowed: null });
    expect(await listed(followed)).toEqual([
      { id, ...OWNER, created: expect.stringMatching(/^\d{4}-.+Z$/) as string },
    ]);
    expect(made(await store.revoke(id.slice(0, 6)))).toBe(id);
    await expect.poll(() => keyring.find(key), KNOWN).toBeNull();
    expect(await listed(followed)).toEqual([]);
  });

  it("keep when they expire and what they are limited to", async () => {
    const { store, keyring } = await open();
    const limits = { expires: "2099-12-31", allowed: ["shop", "/v1/bank/accounts"] };
    const { key } = made(await store.create({ ...OWNER, ...limits }));
    const end = Date.parse("2100-01-01");
    await expect.poll(() => keyring.find(key)?.expiresAt, KNOWN).toBe(end);
    expect(keyring.find(key)).toMatchObject({ allowed: limits.allowed });
  });

  it.each([
    ["of all organizations", { tier: "tier3", user: "ops", org: "*" }],
    ["of none", { tier: "tier0", user: "'\";\\", org: "" }],
  ] as const)("may be %s", async (__, owner) => {
    const { store, keyring } = await open();
    const { key } = made(await store.create(owner));
    await expect.poll(() => keyring.find(key), KNOWN).toMatchObject(owner);
  });

  it("are replaced by new ones with the same rights, and stay valid for a time", async () => {
    const followed = await open();
    const { store, keyring } = followed;
    const owner = { ...OWNER, expires: "2099-12-31", allowed: ["shop"] };
    const before = made(await store.create(owner));
    const { key, id, replaced, until } = made(await store.rotate(before.id, 3600));
    expect(replaced).toBe(before.id);
    expect(Math.abs(Date.parse(until) - Date.now() - 3_600_000)).toBeLessThan(60_000);
    await expect.poll(() => keyring.find(key)?.allowed, KNOWN).toEqual(["shop"]);
    expect(keyring.find(key)).toMatchObject({ id, ...OWNER, expiresAt: Date.parse("2100-01-01") });
    expect(Math.floor((keyring.find(before.key)?.expiresAt ?? 0) / 1000)).toBe(Date.parse(until) / 1000);
    expect((await listed(followed)).map((each) => each.id).sort()).toEqual([before.id, id].sort());
  });

  it("are not replaced once they have expired, nor for longer than they would have lived", async () => {
    const { store } = await open();
    const past = made(await store.create({ ...OWNER, expires: "2020-01-01" }));
    expect(await store.rotate(past.id, 60)).toEqual({
      ok: false,
      problems: [`The key ${past.id} has expired: make a new one with \`routewright keys create\`.`],
    });
    const soon = new Date(Date.now() + 600_000).toISOString().replace(/\.\d+/, "");
    const ending = made(await store.create({ ...OWNER, expires: soon }));
    expect(made(await store.rotate(ending.id, 86_400)).until).toBe(soon);
  });

  it("are changed by an id that one key has, and none else", async () => {
    const { store } = await open();
    const ids = [made(await store.create(OWNER)).id, made(await store.create(OWNER)).id];
    const unknown = `No key in ${store.name} has the id zzz. \`routewright keys list\` shows the ids.`;
    const many = "The id  matches 2 keys: give more characters.";
    for (const change of [(id: string) => store.revoke(id), (id: string) => store.rotate(id, 1)]) {
      expect(await change("zzz")).toEqual({ ok: false, problems: [unknown] });
      expect(await change("")).toEqual({ ok: false, problems: [many] });
    }
    expect([...made(await store.keys()).values()].map(({ id }) => id).sort()).toEqual([...ids].sort());
  });

  it.each([
    [{ ...OWNER, org: "*" }, '--org may be "*" (all organizations) only with tier3.'],
    [{ ...OWNER, org: "a\0" }, "--org must be a string without U+0000 and lone surrogates."],
    [
      { ...OWNER, expires: "tomorrow" },
      "--expires must be a date such as 2027-01-31, or an RFC 3339 date-time.",
    ],
  ])("are not made for %j", async (owner, problem) => {
    const { store } = await open();
    expect(await store.create(owner)).toEqual({ ok: false, problems: [problem] });
  });

  it("are taken over from another store, whatever form they have there", async () => {
    const { store, keyring } = await open();
    const own = made(await store.create(OWNER));
    const others = new EnvironmentKeys(
      JSON.stringify({
        sk_live_by_hand: "tier1",
        sk_live_rw_short: { tier: "tier2", user: "bo\u0000b", expires: "2099-01-01", created: "2020-02-03" },
        [`sha256:${hashOf(own.key)}`]: { tier: "tier3", user: "other" },
      }),
    );
    expect(made(await store.add(made(await others.keys())))).toBe(2);
    expect(made(await store.add(made(await others.keys())))).toBe(0);
    await expect.poll(() => keyring.find("sk_live_by_hand")?.tier, KNOWN).toBe("tier1");
    expect(keyring.find("sk_live_rw_short")).toMatchObject({
      tier: "tier2",
      expiresAt: Date.parse("2099-01-02"),
    });
    expect(keyring.find(own.key)).toMatchObject(OWNER);
  });
});

describe("keys in API_KEYS", () => {
  const text = JSON.stringify({ sk_live_a: { tier: "tier1", user: "ann", org: "acme" } });

  it("are listed and read, and no command changes them", async () => {
    const store = new EnvironmentKeys(text);
    const keyring = made(parseKeyring(text, store.name));
    const [[digest, key] = ["", null]] = made(await store.keys());
    expect(digest).toBe(hashOf("sk_live_a"));
    expect(key).toEqual({ id: keyring.find("sk_live_a")?.id, tier: "tier1", user: "ann", org: "acme" });
    const refused = { ok: false, problems: [expect.stringContaining("which commands cannot change")] };
    expect(await store.create(OWNER)).toEqual(refused);
    expect(await store.revoke("a")).toEqual(refused);
    expect(await store.rotate("a", 1)).toEqual(refused);
    expect(await store.add(new Map())).toEqual(refused);
  });
});
