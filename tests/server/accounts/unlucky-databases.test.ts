import type { Socket } from "node:net";
import pino from "pino";
import { describe, expect, it } from "vitest";
import type { Plans } from "../../../runtime/core/model/organization-plan.js";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import { StoredKeyReader } from "../../../runtime/server/accounts/stored-keys.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { proxyOf } from "../../support/database-proxy.js";
import { ownRole } from "../../support/database-roles.js";
import { hashOf } from "../../../runtime/core/request/keyring.js";

const SOON = { timeout: 90_000, interval: 20 };
const OWNER = { tier: "tier1", user: "ann", org: "acme" } as const;

async function withKey() {
  const url = await ownDatabase();
  const store = await KeyDatabase.open(url);
  atEnd(() => store.close());
  const made = await store.create(OWNER);
  if (!made.ok) throw new Error(made.problems.join(" "));
  return { url, store, digest: hashOf(made.value.key) };
}

async function follow(databaseUrl: string, plans: Plans = {}) {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const reader = await StoredKeyReader.open({ databaseUrl, staleSeconds: 60, plans, log });
  atEnd(() => reader.close());
  return { reader, lines };
}

describe("a server that reads keys", () => {
  it("leaves no connections behind where LISTEN is not answered", async () => {
    const { url } = await withKey();
    let isDeaf = false;
    let tries = 0;
    const open = new Set<Socket>();
    const proxy = await proxyOf(url, (client, connect) => {
      const database = connect();
      open.add(client);
      database.pipe(client);
      client.on("data", (bytes: Buffer) => {
        if (!isDeaf || !bytes.includes("LISTEN")) return void database.write(bytes);
        tries++;
      });
      client.on("close", () => void (open.delete(client), database.destroy()));
      database.on("close", () => client.destroy());
    });
    const { reader } = await follow(proxy.url);
    isDeaf = true;
    for (const socket of open) socket.destroy();
    await expect.poll(() => tries, SOON).toBeGreaterThanOrEqual(4);
    expect(reader.state).toBe("away");
    expect(open.size).toBeLessThanOrEqual(2);
    isDeaf = false;
    await expect.poll(() => reader.state, SOON).toBe("current");
  });

  it("goes on, and says so once, where its role may not write last uses", async () => {
    const { url, digest } = await withKey();
    const role = await ownRole("routewright_keys", {}, url);
    const { reader, lines } = await follow(role.url);
    expect(reader.get(digest)).toMatchObject({ org: "acme" });
    for (let i = 0; i < 130; i++) {
      await reader.check();
      expect(reader.state).toBe("current");
    }
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("give the role INSERT and UPDATE on routewright_keys.last_uses");
  });

  it.each(["ARRAY['bank', NULL]", "ARRAY[ARRAY['bank'], ARRAY[NULL]]"])(
    "reads a list that was written by hand, %s, and the keys beside it",
    async (list) => {
      const { url, store, digest } = await withKey();
      await store.organizations.setPlan("acme", "shop");
      const { reader } = await follow(url, { shop: { tier: "tier1", allowed: ["shop"] } });
      await queryAt(url, `UPDATE routewright_keys.keys SET allowed = ${list}`);
      await expect.poll(() => reader.get(digest)?.allowed, SOON).toEqual([]);
      expect(reader.state).toBe("current");
    },
  );
});

/** Stores of several servers. */
async function storesOf(url: string, count: number): Promise<readonly KeyDatabase[]> {
  const stores = await Promise.all(Array.from({ length: count }, () => KeyDatabase.open(url)));
  atEnd(async () => {
    for (const store of stores) await store.close();
  });
  return stores;
}

it.each(["", "acme"])("a key of organization %j that four replace at once is replaced once", async (org) => {
  const { url, store } = await withKey();
  const stores = await storesOf(url, 4);
  for (let round = 0; round < 5; round++) {
    const made = await store.create({ ...OWNER, org });
    if (!made.ok) throw new Error(made.problems.join(" "));
    const rotated = await Promise.all(stores.map((each) => each.rotate(made.value.id, 60)));
    expect(rotated.filter(({ ok }) => ok)).toHaveLength(1);
  }
});

it("keys of an organization are imported while others of it are replaced", async () => {
  const { url, store } = await withKey();
  const stores = await storesOf(url, 4);
  for (let round = 0; round < 5; round++) {
    const many = Array.from({ length: 500 }, (_, i) => hashOf(`key ${String(round)} ${String(i)}`));
    const keys = new Map(many.map((digest) => [digest, { id: digest.slice(0, 12), ...OWNER }]));
    const made = await Promise.all(stores.map((each) => each.create(OWNER)));
    const ids = made.map((each) => (each.ok ? each.value.id : ""));
    const changes = stores.map((each, i) => each.rotate(ids[i] ?? "", 60));
    expect((await Promise.all([store.add(keys), ...changes])).every(({ ok }) => ok)).toBe(true);
  }
});

it.each(["9999-12-31", "9999-12-31T23:59:59-01:00", "0000-01-01"])(
  "a key of a database may expire on %s",
  async (expires) => {
    const { url, store } = await withKey();
    const made = await store.create({ ...OWNER, expires });
    if (!made.ok) throw new Error(made.problems.join(" "));
    const { reader } = await follow(url);
    const end = reader.get(hashOf(made.value.key))?.expiresAt ?? null;
    expect(end).toBe(expires.startsWith("9") ? Date.parse("9999-12-31T23:59:59Z") : 0);
  },
);

it("a key whose end SQL has set may end later than any date of JavaScript", async () => {
  const { url, digest } = await withKey();
  await queryAt(url, "UPDATE routewright_keys.keys SET expires_at = '290000-01-01'");
  const { reader } = await follow(url);
  expect(reader.get(digest)?.expiresAt).toBe(Date.parse("9999-12-31T23:59:59Z"));
});

it.each(["shop\0", "/v1/shop/a\0", "\ud800"])("a key may not be limited to %j", async (name) => {
  const { store } = await withKey();
  expect(await store.create({ ...OWNER, allowed: [name] })).toEqual({
    ok: false,
    problems: ["--allowed must be a list of categories and paths, such as shop or /v1/shop/orders."],
  });
});
