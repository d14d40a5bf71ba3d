/** Events where their database is away or takes none, and what a stop leaves in it. */
import { expect, it } from "vitest";
import { serve } from "../../support/command.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { proxyThatFails } from "../../support/database-proxy.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { ownInstallation, startManifest } from "../../support/service.js";
import { listenTo } from "./event-client.js";

const SOON = { timeout: 90_000, interval: 50 };
const FEED = "/v1/system/events.atom";
const manifest = manifestOf([{ name: "orders", columns: { id: "int" } }]);

it("clients that ask for old events while the database is away get them once it is back, not at their next beat", async () => {
  const database = await ownDatabase();
  const proxy = await proxyThatFails(database);
  const { url } = await startManifest(manifest, {
    KEYS_DATABASE_URL: proxy.url,
    EVENT_STREAMS_PER_CALLER: "100",
  });
  expect((await sendRequest(url, FEED)).status).toBe(200);
  await queryAt(
    database,
    `INSERT INTO routewright_events.events (id, type, path, data)
     SELECT 'e' || n, 'data.rebuilt', '/v1/shop/orders', '{"path": "/v1/shop/orders"}' FROM generate_series(1, 2500) n`,
  );
  // Kept by the server are the last 2,000.
  const numbered = "SELECT count(*)::int AS n FROM routewright_events.events WHERE sequence IS NOT NULL";
  await expect.poll(() => queryAt(database, numbered), SOON).toEqual([{ n: 2500 }]);
  const all = await listenTo(url, { lastId: "0" });
  await expect.poll(() => all.events.length, SOON).toBe(2500);
  proxy.fail();
  const clients = await Promise.all(Array.from({ length: 15 }, () => listenTo(url, { lastId: "1" })));
  expect(new Set(clients.map(({ status }) => status))).toEqual(new Set([200]));
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(new Set(clients.map(({ events }) => events.length))).toEqual(new Set([0]));
  proxy.isDown = false;
  // A beat comes each 15 s.
  await expect.poll(() => clients.filter(({ events }) => events.length === 0).length, SOON).toBe(0);
});

it("a server that stops while clients wait for events ends them, itself and its sessions", async () => {
  const database = await ownDatabase();
  const folder = ownInstallation(manifest);
  const served = await serve(folder, ["--only", "data"], {
    DATABASE_URL: database,
    KEYS_DATABASE_URL: database,
    WEBHOOK_SECRETS_KEY: "5a".repeat(32),
  });
  const clients = await Promise.all(Array.from({ length: 5 }, () => listenTo(served.url)));
  expect(new Set(clients.map(({ status }) => status))).toEqual(new Set([200]));
  const { code, stderr } = await served.stop();
  expect([code, stderr]).toEqual([0, ""]);
  await expect.poll(() => clients.every(({ response }) => response.complete)).toBe(true);
  const others =
    "SELECT application_name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
  await expect.poll(() => queryAt(database, others), SOON).toEqual([]);
});

it("a database that is read-only is named as the reason why events reach back to the start only", async () => {
  const database = await ownDatabase();
  const { pathname } = new URL(database);
  await queryAt(database, `ALTER DATABASE ${pathname.slice(1)} SET default_transaction_read_only = on`);
  const served = await serve(ownInstallation(manifest), ["--only", "data"], { DATABASE_URL: database });
  expect((await sendRequest(served.url, FEED)).status).toBe(200);
  const [line] = await served.until(/^\{.*events reach back to the start of this server.*\}$/m);
  expect(JSON.parse(line)).toMatchObject({ level: 40, detail: expect.stringContaining("read-only") });
  expect((await served.stop()).code).toBe(0);
});
