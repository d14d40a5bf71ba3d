import { describe, expect, it } from "vitest";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import type { RunningService } from "../../../runtime/server/server.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { proxyOf, proxyThatMutes } from "../../support/database-proxy.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";
import { type EventClient, listenTo } from "./event-client.js";

const SOON = { timeout: 90_000, interval: 20 };
const manifest = manifestOf([
  { name: "orders", columns: { id: "int" } },
  { name: "costs", columns: { id: "int" }, tags: ["production", "shop", "api:costs", "tier2"] },
  {
    name: "own",
    columns: { id: "int", org: "text" },
    tags: ["production", "shop", "api:own", "tier1"],
    routewright: { rows: { column: "org", equals: "org" } },
  },
  { name: "late", columns: { id: "int" }, routewright: { fresh_within: "1h" } },
]);

const start = (variables: Readonly<Record<string, string>> = {}): Promise<RunningService> =>
  startManifest(manifest, variables);

const node = (name: string): string => `model.test.${name}`;
const build = (service: RunningService, name: string, at: number, rows: number | null = null): void =>
  service.recordBuilds([{ node: node(name), completedAt: at, rows }]);

const typesOf = ({ events }: EventClient): readonly string[] =>
  events.map(({ type, data }) => `${type} ${String(data.data["path"])}`);

describe("a client that waits for events", () => {
  it("gets those of the endpoints that its key may call, with what is known of the build", async () => {
    const service = await start();
    const stranger = await listenTo(service.url);
    const partner = await listenTo(service.url, {
      key: KEYS.tier2,
      query: "?path=/v1/shop/costs,/v1/shop/own",
    });
    const at = Date.now() - 5000;
    for (const name of ["orders", "costs", "own", "late"]) build(service, name, at, 7);
    await expect.poll(() => stranger.events.length, SOON).toBe(2);
    await expect.poll(() => partner.events.length, SOON).toBe(2);
    expect(typesOf(stranger)).toEqual(["data.rebuilt /v1/shop/late", "data.rebuilt /v1/shop/orders"]);
    expect(typesOf(partner)).toEqual(["data.rebuilt /v1/shop/costs", "data.rebuilt /v1/shop/own"]);
    const [late, orders] = stranger.events.map(({ data }) => data.data);
    const asOf = new Date(at).toISOString();
    const { build: id } = orders ?? {};
    expect(orders).toEqual({
      path: "/v1/shop/orders",
      build: id,
      as_of: asOf,
      freshness: null,
      tests: null,
      rows: 7,
    });
    expect(late).toMatchObject({ freshness: { state: "ok", due: new Date(at + 3_600_000).toISOString() } });
    // Nothing that is counted over the rows of others.
    expect(partner.events[1]?.data.data).not.toHaveProperty("rows");
  });

  it("is told of rows that become late", async () => {
    const service = await start();
    const client = await listenTo(service.url, { query: "?path=/v1/shop/late" });
    const at = Date.now() - 3_600_000 + 1500;
    build(service, "late", at);
    await expect
      .poll(() => typesOf(client), SOON)
      .toEqual(["data.rebuilt /v1/shop/late", "data.late /v1/shop/late"]);
    expect(client.events[1]?.data.data).toEqual({
      path: "/v1/shop/late",
      as_of: new Date(at).toISOString(),
      due: new Date(at + 3_600_000).toISOString(),
    });
  });

  it("goes on behind the last event that it has", async () => {
    const service = await start();
    const first = await listenTo(service.url);
    build(service, "orders", Date.now() - 5000);
    await expect.poll(() => first.events.length, SOON).toBe(1);
    first.close();
    for (const ago of [4000, 3000]) {
      build(service, "orders", Date.now() - ago);
      await expect
        .poll(
          async () =>
            (await sendRequest(service.url, "/v1/system/events.atom")).text.split("<entry>").length - 1,
          SOON,
        )
        .toBe(ago === 4000 ? 2 : 3);
    }
    const lastId = first.events[0]?.id ?? "";
    const second = await listenTo(service.url, { lastId });
    const unknown = await listenTo(service.url, { lastId: "77" });
    await expect.poll(() => second.events.length, SOON).toBe(2);
    await expect.poll(() => unknown.events.length, SOON).toBe(3);
  });

  it("misses nothing where it is cut off before its first event", async () => {
    const service = await start();
    build(service, "orders", Date.now() - 5000);
    const earlier = await listenTo(service.url, { lastId: "0" });
    await expect.poll(() => earlier.events.length, SOON).toBe(1);
    const first = await listenTo(service.url, { query: "?path=/v1/shop/late" });
    await expect.poll(() => first.lastId(), SOON).not.toBe("");
    first.close();
    build(service, "late", Date.now() - 1000);
    await expect.poll(() => earlier.events.length, SOON).toBe(2);
    const second = await listenTo(service.url, { query: "?path=/v1/shop/late", lastId: first.lastId() });
    await expect.poll(() => typesOf(second), SOON).toEqual(["data.rebuilt /v1/shop/late"]);
  });

  it("is refused an endpoint that it may not call, one that there is not, and what is no parameter", async () => {
    const { url } = await start();
    const statusOf = async (query: string, key?: string) =>
      (await listenTo(url, { query, ...(key && { key }) })).status;
    expect(await statusOf("?path=/v1/shop/costs")).toBe(403);
    expect(await statusOf("?path=/v1/shop/costs", KEYS.tier1)).toBe(403);
    expect(await statusOf("?path=/v1/shop/own", KEYS.tier1)).toBe(200);
    expect(await statusOf("?path=/v1/shop/none", KEYS.tier3)).toBe(404);
    expect(await statusOf("?paths=/v1/shop/orders")).toBe(400);
    expect(await statusOf(`?path=${"/v1/shop/orders,".repeat(101)}`)).toBe(400);
    const head = await sendRequest(url, "/v1/system/events", { method: "HEAD" });
    expect([head.status, head.headers["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
  });

  it("is refused beyond the limits of its caller and of the server, until another leaves", async () => {
    const { url } = await start({ EVENT_STREAMS: "3", EVENT_STREAMS_PER_CALLER: "2" });
    const [first, second] = [await listenTo(url), await listenTo(url)];
    const third = await listenTo(url);
    expect([first.status, second.status, third.status]).toEqual([200, 200, 503]);
    expect(third.response.headers["retry-after"]).toBe("5");
    expect((await listenTo(url, { key: KEYS.tier1 })).status).toBe(200);
    expect((await listenTo(url, { key: KEYS.tier2 })).status).toBe(503);
    first.close();
    await expect.poll(async () => (await listenTo(url, { key: KEYS.tier2 })).status, SOON).toBe(200);
  });

  it("is refused with all others that ask at once as soon as the database does not answer", async () => {
    const proxy = await proxyThatMutes(await ownDatabase());
    const { url } = await start({ KEYS_DATABASE_URL: proxy.url });
    proxy.isMute = true;
    const begun = performance.now();
    const asked = await Promise.all(Array.from({ length: 40 }, () => listenTo(url)));
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([503]));
    // An attempt to connect takes 3 s; another may be under way. One after the other they would wait for 120 s.
    expect(performance.now() - begun).toBeLessThan(90_000);
  });

  it("has everybody who asks for events refused together where a database that answered does not any more", async () => {
    const open: (() => void)[] = [];
    let isMute = false;
    const { url: KEYS_DATABASE_URL } = await proxyOf(await ownDatabase(), (client, connect) => {
      if (isMute) return;
      const database = connect();
      client.pipe(database).pipe(client);
      client.on("close", () => database.destroy());
      open.push(() => (client.unpipe(database), database.unpipe(client)));
    });
    const { url } = await start({ KEYS_DATABASE_URL, WEBHOOK_SECRETS_KEY: "5a".repeat(32) });
    const feed = (): Promise<number> =>
      sendRequest(url, "/v1/system/events.atom", { key: KEYS.tier1 }).then(({ status }) => status);
    const subscriptions = (): Promise<number> =>
      sendRequest(url, "/v1/system/subscriptions", { key: KEYS.tier1 }).then(({ status }) => status);
    expect([await feed(), await subscriptions()]).toEqual([200, 200]);
    isMute = true;
    for (const mute of open) mute();
    const begun = performance.now();
    // One after the other they would wait for 120 s.
    const asked = await Promise.all([feed, subscriptions].flatMap((ask) => Array.from({ length: 20 }, ask)));
    expect([new Set(asked), performance.now() - begun < 90_000]).toEqual([new Set([503]), true]);
  });

  it("gets a comment within 16 s, and the end when the server stops", async () => {
    const service = await start();
    const client = await listenTo(service.url);
    await expect.poll(() => client.beats()).toBe(1);
    await service.stop();
    // What does not end by itself is cut off: it is not complete.
    await expect.poll(() => [client.isEnded(), client.response.complete], SOON).toEqual([true, true]);
  });

  it("is cut off when its key is revoked, and gets no more of an endpoint that its plan does not open any longer", async () => {
    const KEYS_DATABASE_URL = await ownDatabase();
    const store = await KeyDatabase.open(KEYS_DATABASE_URL);
    atEnd(() => store.close());
    const make = async () => {
      const made = await store.create({ tier: "tier2", user: "ann", org: "acme" });
      if (!made.ok) throw new Error(made.problems.join(" "));
      return made.value;
    };
    const service = await start({ KEYS_DATABASE_URL });
    const [revoked, lowered] = [await make(), await make()];
    const connect = async (key: string, query: string) => {
      let client: EventClient | null = null;
      await expect
        .poll(async () => (client = await listenTo(service.url, { key, query })).status, SOON)
        .toBe(200);
      return client as unknown as EventClient;
    };
    const both = "?path=/v1/shop/costs,/v1/shop/orders";
    const [first, second] = [await connect(revoked.key, both), await connect(lowered.key, both)];
    build(service, "costs", Date.now() - 9000);
    await expect.poll(() => [first.events.length, second.events.length], SOON).toEqual([1, 1]);
    await store.revoke(revoked.id);
    await queryAt(KEYS_DATABASE_URL, "UPDATE routewright_keys.keys SET tier = 'tier0' WHERE id = $1", [
      lowered.id,
    ]);
    await expect
      .poll(async () => (await sendRequest(service.url, "/v1/shop/costs", { key: lowered.key })).status, SOON)
      .toBe(403);
    build(service, "costs", Date.now() - 8000);
    build(service, "orders", Date.now() - 8000);
    await expect
      .poll(() => typesOf(second), SOON)
      .toEqual(["data.rebuilt /v1/shop/costs", "data.rebuilt /v1/shop/orders"]);
    await expect.poll(() => first.isEnded(), SOON).toBe(true);
    expect(first.events).toHaveLength(1);
  });
});
