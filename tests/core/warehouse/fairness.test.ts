import { setTimeout as pause } from "node:timers/promises";
import { get } from "node:http";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { serve } from "../../support/command.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { OwnServer } from "../../support/own-server.js";
import { KEYS, serveManifest, ownInstallation } from "../../support/service.js";
import { begin, sendRequest } from "../../support/http-client.js";

/** Rows of a long answer: far more than socket buffers hold. */
const LONG = 300_000;

const tables = (rows: number): string => `
  CREATE TABLE @.quick AS SELECT i AS id, 'row ' || i AS label FROM generate_series(1, 5000) i;
  CREATE TABLE @.locked AS SELECT 1 AS id;
  CREATE TABLE @.long AS SELECT i AS id, repeat(md5(i::text), 4) AS label FROM generate_series(1, ${String(rows)}) i;
  CREATE TABLE @.swapped AS TABLE @.long;
  CREATE FUNCTION @.linger() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN 1; END';
  CREATE VIEW @.costly AS SELECT '1'::text AS id, @.linger() AS v`;
const schema = await ownSchema(tables(LONG));

const api = {
  methods: ["GET", "POST"],
  allow_unfiltered: true,
  parameters: [{ name: "id", column: "id", operator: "ILIKE", type: "string" }],
};
const model = (name: string, settings?: unknown) => ({
  name,
  schema,
  columns: { id: "text" },
  ...(settings !== undefined && { api: settings }),
});
const long = (name: string) => ({ ...model(name), columns: { id: "integer", label: "text" } });
const manifest = manifestOf([
  { ...model("quick", api), columns: { id: "integer", label: "text" } },
  { ...model("locked", api), columns: { id: "integer" } },
  long("long"),
  long("swapped"),
  model("costly", api),
]);

async function running(text: string): Promise<number> {
  const [row] = await query(
    `SELECT count(*)::int AS n FROM pg_stat_activity
     WHERE application_name = 'routewright' AND state <> 'idle' AND query LIKE '%' || $1 || '%'`,
    [text],
  );
  return Number(row?.["n"]);
}

async function locker(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  atEnd(() => client.end());
  return client;
}

describe("costly queries", () => {
  it("of one caller leave connections for others", async () => {
    const url = await serveManifest(manifest, { DATABASE_POOL_SIZE: "8" });
    for (let i = 0; i < 22; i++) void begin(`${url}/v1/shop/costly?id=1${"%25".repeat(i)}`).catch(() => null);
    await expect.poll(() => running(`"${schema}"."costly"`), { timeout: 90_000 }).toBeGreaterThan(0);
    // The others arrive. Fewer than its share of four run where they do so after the first ones count as long.
    await pause(1000);
    for (const key of [KEYS.tier1, KEYS.tier3])
      expect(await sendRequest(url, "/v1/shop/locked", { key })).toMatchObject({ status: 200 });
    expect(await running(`"${schema}"."costly"`)).toBeLessThanOrEqual(4);
  });

  it("whose client has left delay no stop of the server", async () => {
    const folder = ownInstallation(manifest);
    const variables = { DATABASE_URL: databaseUrl, STATEMENT_TIMEOUT_MS: "120000", USAGE_ENABLED: "false" };
    const { url, stop } = await serve(folder, ["--only", "data"], variables);
    const request = get(`${url}/v1/shop/costly?id=1`, { agent: false }).on("error", () => undefined);
    const queries = () => running(`"${schema}"."costly"`);
    await expect.poll(queries).toBe(1);
    request.destroy();
    expect((await stop()).code).toBe(0);
    await expect.poll(queries).toBe(0);
  });
});

it("a database that is frozen delays no stop of the server", async () => {
  const folder = ownInstallation(manifest);
  // A frozen session would keep every CREATE and DROP DATABASE of its server waiting, also those of other files.
  const database = await OwnServer.create();
  const sql = `CREATE SCHEMA @; ${tables(1000)}; DROP TABLE @.swapped`;
  await database.query(sql.replaceAll("@", `"${schema}"`));
  const { url, stop, until } = await serve(folder, ["--only", "data"], { DATABASE_URL: database.url });
  // The first comparison with the database has its own time limits.
  await until(/"msg":"verify"/);
  const paths = ["/v1/shop/quick?id=7", "/v1/shop/long", "/health"];
  for (const { status } of await Promise.all(paths.map((path) => sendRequest(url, path))))
    expect(status).toBe(200);
  await database.freeze();
  const started = performance.now();
  expect((await stop()).code).toBe(0);
  expect(performance.now() - started).toBeLessThan(30_000);
});

it("callers whose queries wait for a lock get their other tables meanwhile", async () => {
  const keys = Array.from({ length: 12 }, (_, i) => `sk_live_locked_${String(i)}`);
  const API_KEYS = JSON.stringify(Object.fromEntries(keys.map((key) => [key, "tier3"])));
  const url = await serveManifest(manifest, {
    DATABASE_POOL_SIZE: "8",
    API_KEYS,
    // Those that wait for the lock do so until the others are answered.
    STATEMENT_TIMEOUT_MS: "600000",
  });
  await sendRequest(url, "/v1/shop/locked");
  const client = await locker();
  await client.query(`BEGIN; LOCK TABLE "${schema}".locked IN ACCESS EXCLUSIVE MODE`);
  // Each differs, or they would share one execution.
  const waiting = keys.map((key, i) => sendRequest(url, `/v1/shop/locked?id=1${"%25".repeat(i)}`, { key }));
  // A query that runs for longer than 250 ms counts as long.
  await pause(500);
  const others = keys.map((key, i) => sendRequest(url, `/v1/shop/quick?id=1${"%25".repeat(i)}`, { key }));
  for (const { status } of await Promise.all(others)) expect(status).toBe(200);
  await client.query("COMMIT");
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
});

describe("slow readers", () => {
  it("of one caller block neither its small results nor another caller's stream", async () => {
    const url = await serveManifest(manifest, {
      DATABASE_STREAM_POOL_SIZE: "2",
      STREAM_SPOOL_MEGABYTES: "0",
    });
    for (let i = 0; i < 10; i++) void begin(`${url}/v1/shop/long`).catch(() => null);
    await expect.poll(() => running(`"${schema}"."long"`)).toBeGreaterThan(0);
    expect((await sendRequest(url, "/v1/shop/locked")).status).toBe(200);
    const { status, text } = await sendRequest(url, "/v1/shop/quick", { key: KEYS.tier3 });
    expect([status, (JSON.parse(text) as unknown[]).length]).toEqual([200, 5000]);
  });

  it("hold no transaction once the database has returned all rows", async () => {
    const url = await serveManifest(manifest);
    const response = await begin(`${url}/v1/shop/swapped`);
    await expect.poll(() => running(`"${schema}"."swapped"`), { timeout: 90_000 }).toBe(0);
    const client = await locker();
    await client.query(`BEGIN; ALTER TABLE "${schema}".swapped RENAME TO swapped_old;
      ALTER TABLE "${schema}".swapped_old RENAME TO swapped; COMMIT`);
    let text = "";
    response.setEncoding("utf8");
    for await (const chunk of response) text += String(chunk);
    expect((JSON.parse(text) as { id: number }[]).length).toBe(LONG);
  });

  it("are reset when a table swap waits for them, so that it can proceed", async () => {
    const url = await serveManifest(manifest, { STREAM_SPOOL_MEGABYTES: "0" });
    const response = await begin(`${url}/v1/shop/swapped`);
    await expect.poll(() => running(`"${schema}"."swapped"`)).toBe(1);
    const client = await locker();
    // It would wait until the reader continues, which it never does.
    await client.query(`ALTER TABLE "${schema}".swapped RENAME COLUMN label TO label_new;
      ALTER TABLE "${schema}".swapped RENAME COLUMN label_new TO label`);
    const ended = new Promise((resolve) => response.once("close", () => resolve(response.complete)));
    response.resume();
    expect(await ended).toBe(false);
  });
});
