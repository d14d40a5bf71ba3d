import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import { ownReceiver, type Receiver } from "../../ramp/support/receiver.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { proxyThatMutes } from "../../support/database-proxy.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { listen } from "../../support/port.js";
import { KEYS, startManifest } from "../../support/service.js";

const SOON = { timeout: 90_000, interval: 20 };
const PATH = "/v1/system/subscriptions";
const names = ["orders", "items", "costs"];
const manifest = manifestOf([
  { name: "orders", columns: { id: "int" } },
  { name: "items", columns: { id: "int" } },
  { name: "costs", columns: { id: "int" }, tags: ["production", "shop", "api:costs", "tier2"] },
]);

const SETTINGS = { WEBHOOK_SECRETS_KEY: "5a".repeat(32), WEBHOOK_ALLOW_PRIVATE: "true" };

async function start(variables: Readonly<Record<string, string>> = SETTINGS) {
  const KEYS_DATABASE_URL = await ownDatabase();
  const store = await KeyDatabase.open(KEYS_DATABASE_URL);
  atEnd(() => store.close());
  const service = await startManifest(manifest, { KEYS_DATABASE_URL, ...variables });
  const build = (at: number, of: readonly string[] = names): void =>
    service.recordBuilds(of.map((name) => ({ node: `model.test.${name}`, completedAt: at })));
  const send = async (method: string, body?: unknown, key: string = KEYS.tier2, query = "") => {
    const reply = await sendRequest(service.url, PATH + query, {
      method,
      key,
      ...(body !== undefined && { body }),
    });
    return {
      status: reply.status,
      body: (reply.text === "" ? {} : JSON.parse(reply.text)) as Record<string, unknown>,
    };
  };
  const subscribe = async (asked: object, key?: string) => {
    const { status, body } = await send("POST", asked, key);
    expect([status, body]).toEqual([201, body]);
    return body as { readonly id: string; readonly secret: string };
  };
  return { url: service.url, service, store, databaseUrl: KEYS_DATABASE_URL, build, send, subscribe };
}

/** Each event once: one whose answer was not recorded in time, on a machine that stood still, comes again as the same one. */
const distinct = <Event>(events: readonly Event[], idOf: (event: Event) => unknown): readonly Event[] => [
  ...new Map(events.map((event) => [idOf(event), event])).values(),
];
const eventsOf = ({ received }: Receiver) => distinct(received, ({ headers }) => headers["webhook-id"]);
const sentTo = (receiver: Receiver, secret: string): readonly string[] =>
  distinct(receiver.verified(secret), ({ id }) => id).map(({ type, data }) =>
    `${type} ${String(data["path"] ?? data["key"])} ${String(data["as_of"] ?? "")}`.trim(),
  );

describe("a subscription", () => {
  it("is taken once a database that answered nothing at the start does", async () => {
    const databaseUrl = await ownDatabase();
    const store = await KeyDatabase.open(databaseUrl);
    atEnd(() => store.close());
    const receiver = await ownReceiver();
    const proxy = await proxyThatMutes(databaseUrl);
    const service = await startManifest(manifest, { KEYS_DATABASE_URL: proxy.url, ...SETTINGS });
    proxy.isMute = true;
    const subscribed = async (): Promise<number> => {
      const body = { url: receiver.url };
      return (await sendRequest(service.url, PATH, { method: "POST", key: KEYS.tier2, body })).status;
    };
    // The first look at the tables, after a second, is given up after three.
    await sleep(5000);
    proxy.isMute = false;
    await expect.poll(subscribed, SOON).toBe(201);
  });

  it("gets each event of what its key may call, signed and in order, and what it was made for", async () => {
    const { build, subscribe, send, databaseUrl } = await start();
    const [all, one, partner] = [await ownReceiver(), await ownReceiver(), await ownReceiver()];
    const secrets = [
      await subscribe({ url: all.url }),
      await subscribe({ url: one.url, paths: ["/v1/shop/items"], types: ["data.rebuilt"] }),
      await subscribe({ url: partner.url }, KEYS.tier1),
    ].map(({ secret }) => secret);
    const times = Array.from({ length: 5 }, (_, i) => Date.now() - 60_000 + i);
    for (const [i, at] of times.entries()) {
      build(at);
      await expect.poll(() => eventsOf(all).length, SOON).toBe((i + 1) * 3);
    }
    const asOf = times.map((at) => new Date(at).toISOString());
    const byPath = (receiver: Receiver, secret: string, path: string) =>
      sentTo(receiver, secret).filter((text) => text.includes(path));
    for (const name of names)
      expect(byPath(all, secrets[0] ?? "", `/v1/shop/${name} `)).toEqual(
        asOf.map((at) => `data.rebuilt /v1/shop/${name} ${at}`),
      );
    await expect.poll(() => eventsOf(one).length, SOON).toBe(5);
    await expect.poll(() => eventsOf(partner).length, SOON).toBe(10);
    expect(sentTo(one, secrets[1] ?? "")).toEqual(asOf.map((at) => `data.rebuilt /v1/shop/items ${at}`));
    expect(byPath(partner, secrets[2] ?? "", "costs")).toEqual([]);
    const { body } = await send("GET");
    expect(body["subscriptions"]).toMatchObject([
      { url: all.url, paths: null, types: null, last_result: "204" },
      { url: one.url, paths: ["/v1/shop/items"], types: ["data.rebuilt"] },
    ]);
    expect(JSON.stringify(body)).not.toMatch(/secret|whsec/);
    // One that was served is behind others that are due.
    const isBehind =
      'SELECT bool_and(attempt_at > created_at) AS "isBehind" FROM routewright_events.subscriptions';
    await expect.poll(() => queryAt(databaseUrl, isBehind), SOON).toEqual([{ isBehind: true }]);
  });

  it("is refused to whom and where nothing can be sent", async () => {
    const { send, url } = await start({ WEBHOOK_SECRETS_KEY: SETTINGS.WEBHOOK_SECRETS_KEY });
    const good = { url: "https://93.184.216.34/hook" };
    const refused = async (body: unknown, key?: string) => {
      const reply = await send("POST", body, key);
      return `${String(reply.status)} ${String(reply.body["detail"])}`;
    };
    for (const bad of [
      "http://93.184.216.34/",
      "https://user:pw@example.com/",
      "ftp://a/",
      "no",
      `https://a.example/${"a".repeat(2000)}`,
      "https://93.184.216.34/\u0000",
      "https://93.184.216.34/a\nb",
      " https://93.184.216.34/",
      "https://93.184.216.34/\ud800",
    ])
      expect(await refused({ url: bad })).toMatch(/^400 'url' must be an https/);
    for (const secret of [
      "https://127.0.0.1/",
      "https://[::1]/",
      "https://10.0.0.8/",
      "https://localhost/",
      "https://169.254.169.254/",
      "https://[::127.0.0.1]/",
      "https://[100::1]/",
    ])
      expect(await refused({ url: secret })).toBe("400 'url' leads to a private address.");
    expect(await refused({ url: `https://${"a".repeat(60)}.${"a.".repeat(100)}example/` })).toMatch(
      /^400 The host of 'url' must have at most 253 characters/,
    );
    expect(await refused({ ...good, paths: ["/v1/shop/costs"] }, KEYS.tier1)).toMatch(/^403 /);
    expect(await refused({ ...good, paths: ["/v1/shop/none"] })).toMatch(/^404 /);
    expect(await refused({ ...good, paths: [] })).toMatch(/^400 'paths' must be a list/);
    expect(await refused({ ...good, types: ["key.created"] })).toMatch(
      /^400 'types' must be among: data.rebuilt/,
    );
    expect(await refused({ ...good, path: "/v1/shop/items" })).toMatch(/^400 Unsupported body fields: path/);
    expect(await refused([])).toMatch(/^400 /);
    expect((await sendRequest(url, PATH, { method: "POST", body: good })).status).toBe(403);
    for (let i = 0; i < 20; i++) expect((await send("POST", good)).status).toBe(201);
    expect(await refused(good)).toBe("400 A key has at most 20 subscriptions. Delete one first.");
    const { body } = await send("GET");
    const [first] = body["subscriptions"] as readonly { readonly id: string }[];
    const query = `?id=${first?.id ?? ""}`;
    for (const id of ["%00", `${first?.id ?? ""}%00`, "'"])
      expect((await send("DELETE", undefined, KEYS.tier2, `?id=${id}`)).status).toBe(404);
    expect((await send("DELETE", undefined, KEYS.tier1, query)).status).toBe(404);
    expect((await send("DELETE", undefined, KEYS.tier2, query)).status).toBe(204);
    expect((await send("DELETE", undefined, KEYS.tier2, query)).status).toBe(404);
    expect((await send("POST", good)).status).toBe(201);
  });

  it("is told to an operator of keys and quotas, where it names them, and to nobody else", async () => {
    const { databaseUrl, subscribe, build } = await start();
    const [operator, other] = [await ownReceiver(), await ownReceiver()];
    const types = ["key.created"];
    const { secret } = await subscribe({ url: operator.url, types }, KEYS.tier3);
    await subscribe({ url: other.url }, KEYS.tier3);
    await queryAt(
      databaseUrl,
      "SELECT routewright_events.record('key.created 1', 'key.created', 'acme', '{\"key\": \"0123456789ab\"}')",
    );
    build(Date.now() - 1000, ["orders"]);
    await expect.poll(() => sentTo(operator, secret), SOON).toEqual(["key.created 0123456789ab"]);
    await expect
      .poll(() => eventsOf(other).map(({ body }) => (JSON.parse(body) as { type: string }).type), SOON)
      .toEqual(["data.rebuilt"]);
  });

  it("ends with the rights of its key", async () => {
    const { store, databaseUrl, build, subscribe, url } = await start();
    const make = async () => {
      const made = await store.create({ tier: "tier2", user: "ann", org: "acme" });
      if (!made.ok) throw new Error(made.problems.join(" "));
      await expect
        .poll(async () => (await sendRequest(url, "/v1/system/usage", { key: made.value.key })).status, SOON)
        .toBe(200);
      return made.value;
    };
    const [revoked, lowered] = [await make(), await make()];
    const [first, second] = [await ownReceiver(), await ownReceiver()];
    await subscribe({ url: first.url }, revoked.key);
    await subscribe({ url: second.url, paths: ["/v1/shop/costs", "/v1/shop/items"] }, lowered.key);
    build(Date.now() - 5000, ["costs"]);
    await expect.poll(() => [eventsOf(first).length, eventsOf(second).length], SOON).toEqual([1, 1]);
    await store.revoke(revoked.id);
    await queryAt(databaseUrl, "UPDATE routewright_keys.keys SET tier = 'tier0' WHERE id = $1", [lowered.id]);
    await expect
      .poll(async () => (await sendRequest(url, "/v1/system/usage", { key: revoked.key })).status, SOON)
      .toBe(403);
    await expect
      .poll(async () => (await sendRequest(url, "/v1/shop/costs", { key: lowered.key })).status, SOON)
      .toBe(403);
    build(Date.now() - 4000, ["costs", "items"]);
    await expect.poll(() => eventsOf(second).length, SOON).toBe(2);
    const unknown =
      "SELECT unknown_since IS NOT NULL AS unknown FROM routewright_events.subscriptions ORDER BY created_at LIMIT 1";
    await expect.poll(() => queryAt(databaseUrl, unknown), SOON).toEqual([{ unknown: true }]);
    await sleep(1500);
    expect([eventsOf(first).length, eventsOf(second).length]).toEqual([1, 2]);
    expect(eventsOf(second)[1]?.body).toContain("/v1/shop/items");
  });

  it("is served although others never answer, redirect, or answer without an end, and each of those is tried again later", async () => {
    const { build, subscribe, databaseUrl } = await start();
    const mute = createServer(() => undefined);
    const endless = createServer((_, response) => {
      response.writeHead(200, { "content-length": String(1024 ** 3) });
      const chunk = Buffer.alloc(64 * 1024);
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
        response.once("drain", more);
      };
      more();
    });
    const [target, good] = [await ownReceiver(), await ownReceiver()];
    const redirecting = createServer(
      (_, response) => void response.writeHead(307, { location: target.url }).end(),
    );
    for (const server of [mute, endless, redirecting]) {
      const address = await listen(server);
      await subscribe({ url: `http://${address}/hook` });
    }
    await subscribe({ url: good.url });
    const memory = process.memoryUsage().rss;
    build(Date.now() - 2000, ["orders"]);
    await expect.poll(() => eventsOf(good).length, SOON).toBe(1);
    build(Date.now() - 1000, ["orders"]);
    await expect.poll(() => eventsOf(good).length, SOON).toBe(2);
    // One that has failed is tried again after a minute: on a slow machine while another one fails for the first time.
    const results = () =>
      queryAt(
        databaseUrl,
        `SELECT last_result, attempts > 0 AS failed, attempt_at > last_result_at + interval '50 s' AS later
         FROM routewright_events.subscriptions ORDER BY created_at`,
      );
    await expect.poll(results).toEqual([
      { last_result: "timeout", failed: true, later: true },
      // Its head says that it has the event.
      { last_result: "200", failed: false, later: false },
      { last_result: "307", failed: true, later: true },
      { last_result: "204", failed: false, later: false },
    ]);
    expect(target.received).toEqual([]);
    // Of an answer of 1 GiB.
    expect(process.memoryUsage().rss - memory).toBeLessThan(500 * 1024 * 1024);
  });
});

it("a server without the key of secrets says so", async () => {
  const { send } = await start({});
  expect(await send("GET")).toMatchObject({
    status: 503,
    body: { detail: expect.stringContaining("no subscriptions") as unknown },
  });
});
