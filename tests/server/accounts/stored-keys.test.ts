import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import pino from "pino";
import { describe, expect, it } from "vitest";
import { hashOf, Keyring, parseKeyring } from "../../../runtime/core/request/keyring.js";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import { StoredKeyReader } from "../../../runtime/server/accounts/stored-keys.js";
import { atEnd } from "../../support/at-end.js";
import { letPass } from "../../support/clock.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { ownRole } from "../../support/database-roles.js";
import { proxyOf } from "../../support/database-proxy.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";

const OWNER = { tier: "tier1", user: "ann", org: "acme" } as const;
/** A server knows of a change within 2 s; the machine of the tests has other things to do too. */
const SOON = { timeout: 90_000, interval: 20 };

async function create(store: KeyDatabase, owner: Parameters<KeyDatabase["create"]>[0] = OWNER) {
  const made = await store.create(owner);
  if (!made.ok) throw new Error(made.problems.join(" "));
  return made.value;
}

async function openStore(url: string): Promise<KeyDatabase> {
  const store = await KeyDatabase.open(url);
  atEnd(() => store.close());
  return store;
}

async function follow(databaseUrl: string, staleSeconds = 60, owners = new Keyring(new Map())) {
  const reader = await StoredKeyReader.open({
    databaseUrl,
    staleSeconds,
    plans: {},
    log: pino({ level: "silent" }),
  });
  owners.setStored(reader);
  atEnd(() => reader.close());
  return { reader, keyring: owners };
}

/** An address of the database that can be cut off. */
async function severable(url: string) {
  let isCut = false;
  const open = new Set<Socket>();
  const proxy = await proxyOf(url, (client, connect) => {
    if (isCut) return void client.destroy();
    const database = connect();
    for (const socket of [client, database]) open.add(socket);
    client.pipe(database).pipe(client);
    client.on("close", () => database.destroy());
    database.on("close", () => client.destroy());
  });
  const cut = (): void => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return { url: proxy.url, cut, heal: () => void (isCut = false) };
}

describe("keys of a database, in a running server,", () => {
  it("are known soon where no notification comes", async () => {
    const url = await ownDatabase();
    const store = await openStore(url);
    await queryAt(
      url,
      `CREATE OR REPLACE FUNCTION routewright_keys.begin_change() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN UPDATE routewright_keys.state SET revision = revision + 1; RETURN NULL; END'`,
    );
    const { keyring } = await follow(url);
    const { key, id } = await create(store);
    await expect.poll(() => keyring.find(key)?.id, SOON).toBe(id);
  });

  it("follow what is changed by hand, and a database that is restored from a backup", async () => {
    const url = await ownDatabase();
    const store = await openStore(url);
    const [one, two, three] = [await create(store), await create(store), await create(store)];
    const { keyring } = await follow(url);
    expect(keyring.find(one.key)).toMatchObject({ org: "acme" });
    await queryAt(url, `UPDATE routewright_keys.organizations SET id = 'other' WHERE id = 'acme'`);
    await expect.poll(() => keyring.find(one.key)?.org, SOON).toBe("other");
    await queryAt(url, `DELETE FROM routewright_keys.keys WHERE id = '${one.id}'`);
    await expect.poll(() => keyring.find(one.key), SOON).toBeNull();
    expect(keyring.find(two.key)).not.toBeNull();
    await queryAt(
      url,
      `SET session_replication_role = replica; DELETE FROM routewright_keys.keys WHERE id = '${two.id}';
        UPDATE routewright_keys.state SET revision = 1, removals = 0`,
    );
    await expect.poll(() => keyring.find(two.key), SOON).toBeNull();
    expect(keyring.find(three.key)).not.toBeNull();
    await queryAt(url, "TRUNCATE routewright_keys.keys");
    await expect.poll(() => keyring.find(three.key), SOON).toBeNull();
  });

  it("win over the same ones of the environment, also once they are revoked", async () => {
    const url = await ownDatabase();
    const store = await openStore(url);
    const owners = parseKeyring('{"sk_live_a": "tier3", "sk_live_b": "tier2"}', "API_KEYS");
    if (!owners.ok) throw new Error(owners.problems.join(" "));
    const { keyring } = await follow(url, 60, owners.value);
    expect(keyring.find("sk_live_a")?.tier).toBe("tier3");
    const id = hashOf("sk_live_a").slice(0, 12);
    await store.add(new Map([[hashOf("sk_live_a"), { id, ...OWNER }]]));
    await expect.poll(() => keyring.find("sk_live_a")?.tier, SOON).toBe("tier1");
    expect(await store.revoke(id)).toEqual({ ok: true, value: id });
    await expect.poll(() => keyring.find("sk_live_a"), SOON).toBeNull();
    expect(keyring.find("sk_live_b")?.tier).toBe("tier2");
  });

  it("stay valid for a time while the database is away, and are read anew when it is back", async () => {
    const direct = await ownDatabase();
    const store = await openStore(direct);
    const before = await create(store);
    const { url, cut, heal } = await severable(direct);
    const { reader, keyring } = await follow(url, 600);
    expect(reader.state).toBe("current");
    cut();
    await expect.poll(() => reader.state, SOON).toBe("away");
    expect(keyring.find(before.key)).not.toBeNull();
    const created = await create(store);
    expect(keyring.find(created.key)).toBeNull();
    expect(keyring.mayBeStored(created.key)).toBe(true);
    expect(keyring.mayBeStored(created.key.replace(/.$/, (last) => (last === "0" ? "1" : "0")))).toBe(false);
    letPass(601_000);
    expect(reader.state).toBe("stale");
    expect(keyring.find(before.key)).toBeNull();
    heal();
    await expect.poll(() => keyring.find(created.key)?.id, SOON).toBe(created.id);
    expect(keyring.find(before.key)?.id).toBe(before.id);
    expect(reader.degraded).toBeNull();
  });

  it("say on which day they were last used", async () => {
    const url = await ownDatabase();
    const store = await openStore(url);
    const [used, unused] = [await create(store), await create(store)];
    const { reader, keyring } = await follow(url);
    for (let i = 0; i < 3; i++) keyring.find(used.key);
    await reader.close();
    const keys = await store.keys();
    const today = new Date().toISOString().slice(0, 10);
    expect(keys.ok && [...keys.value.values()].map(({ id, lastUsed }) => [id, lastUsed]).sort()).toEqual(
      [
        [used.id, today],
        [unused.id, undefined],
      ].sort(),
    );
  });

  it("are migrated by one of several processes that start together", async () => {
    const url = await ownDatabase();
    const stores = await Promise.all([1, 2, 3, 4].map(() => openStore(url)));
    await create(stores[0] as KeyDatabase);
    const files = readdirSync("runtime/server/accounts/migrations").sort();
    const names = files.map((file) => ({ name: file.replace(".sql", "") }));
    expect(await queryAt(url, "SELECT name FROM routewright_keys.migrations ORDER BY name")).toEqual(names);
  });

  it("are read by a role with the rights of the page, whatever its path is", async () => {
    const url = await ownDatabase();
    const store = await openStore(url);
    const { key } = await create(store);
    const role = await ownRole("routewright_keys", { search_path: "hostile" }, url);
    await queryAt(
      url,
      `CREATE SCHEMA hostile; GRANT USAGE ON SCHEMA hostile TO ${role.name};
        CREATE FUNCTION hostile.now() RETURNS timestamptz LANGUAGE sql RETURN timestamptz '2000-01-01';
        GRANT INSERT, UPDATE ON routewright_keys.last_uses TO ${role.name}`,
    );
    const { reader, keyring } = await follow(role.url);
    expect(keyring.find(key)).toMatchObject({ org: "acme" });
    const late = await create(store);
    await expect.poll(() => keyring.find(late.key)?.id, SOON).toBe(late.id);
    await reader.close();
    const days = await queryAt(
      url,
      "SELECT day = (now() AT TIME ZONE 'UTC')::date AS today FROM routewright_keys.last_uses",
    );
    expect(days).toEqual([{ today: true }, { today: true }]);
  });

  it("stand nowhere in the database, only their hashes", async () => {
    const url = await ownDatabase();
    const store = await openStore(url);
    const { key } = await create(store);
    const rows = await queryAt(
      url,
      `SELECT keys::text FROM routewright_keys.keys UNION ALL SELECT audit::text FROM routewright_keys.audit`,
    );
    expect(JSON.stringify(rows)).not.toContain(key.slice(11));
    expect(JSON.stringify(rows)).toContain(hashOf(key));
  });
});

describe("a server with keys in a database", () => {
  const MANIFEST = manifestOf([
    { name: "a", tags: ["production", "s", "api:a", "tier1"], columns: { id: "int" } },
  ]);

  it("answers 503 where the key may be one that it cannot read, and says so in /health", async () => {
    const direct = await ownDatabase();
    const store = await openStore(direct);
    const { url: keysUrl, cut } = await severable(direct);
    const { key } = await create(store);
    const { url } = await startManifest(MANIFEST, { KEYS_DATABASE_URL: keysUrl });
    const statusOf = async (sent: string) =>
      (await sendRequest(url, "/v1/system/catalogue", { key: sent })).status;
    expect(await statusOf(key)).toBe(200);
    expect(await statusOf("sk_live_unknown")).toBe(403);
    cut();
    const late = await create(store);
    await expect.poll(() => statusOf(late.key), SOON).toBe(503);
    const refused = await sendRequest(url, "/v1/system/catalogue", { key: late.key });
    expect(JSON.parse(refused.text)).toEqual({ detail: "The keys cannot be read. Try again in 5 seconds." });
    expect(refused.headers["retry-after"]).toBe("5");
    expect(await statusOf(key)).toBe(200);
    expect(await statusOf(KEYS.tier1)).toBe(200);
    const health = await sendRequest(url, "/health");
    expect(health.text).toContain("The database of the keys is unreachable: new keys are refused.");
    const metrics = await sendRequest(url, "/metrics");
    expect(metrics.text).toContain('routewright_degraded{part="keys"} 1');
  });

  it("starts while that database is away", async () => {
    const direct = await ownDatabase();
    const store = await openStore(direct);
    const { key } = await create(store);
    const { url: keysUrl, cut, heal } = await severable(direct);
    cut();
    const { url } = await startManifest(MANIFEST, { KEYS_DATABASE_URL: keysUrl });
    const statusOf = async (sent: string) =>
      (await sendRequest(url, "/v1/system/catalogue", { key: sent })).status;
    expect([await statusOf(key), await statusOf(KEYS.tier1)]).toEqual([503, 200]);
    heal();
    await expect.poll(() => statusOf(key), SOON).toBe(200);
  });

  it("does not start where that database refuses it", async () => {
    const address = new URL(await ownDatabase());
    address.pathname = "/not_there";
    await expect(startManifest(MANIFEST, { KEYS_DATABASE_URL: address.href })).rejects.toThrow(
      /^KEYS_DATABASE_URL: database "not_there" does not exist/,
    );
  });
});
