import pg from "pg";
import { describe, expect, it } from "vitest";
import { described } from "../../support/described.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { sendRequest, refusal, statusAndBody, tooLarge, type Reply } from "../../support/http-client.js";

const schema = await ownSchema(`
  CREATE VIEW @.dividing AS SELECT 1 / (secret - secret) AS v FROM (SELECT 42 AS secret) s;
  CREATE VIEW @.slow AS SELECT pg_sleep(20)::text AS v;
  CREATE VIEW @.late AS SELECT CASE WHEN i < 1000 THEN 1 ELSE 1 / (i - i) END AS v FROM generate_series(1, 2000) i;
  CREATE TABLE @.locked AS SELECT 1 AS id;`);

const NAMES = ["dividing", "slow", "late", "locked", "missing"];
/** As `locked`, but each value of `id` is a question of its own. */
const HELD = {
  name: "locked",
  schema,
  tags: ["production", "failing", "api:held"],
  columns: { id: "integer" },
  api: { allow_unfiltered: true, parameters: [{ name: "id", column: "id", operator: "=", type: "string" }] },
};
const manifest = manifestOf(
  NAMES.map((name) => ({ name, schema, tags: ["production", "failing", `api:${name}`] })),
);
const key = KEYS.tier3;
const FAILED = refusal(500, "Database query failed.");

describe("a query that fails", async () => {
  const url = await serveManifest(manifest);

  it.each([
    ["because the relation is missing", "missing"],
    ["at run time", "dividing"],
    ["after many rows", "late"],
  ])("%s answers 500 and tells nothing of the cause", async (_, name) => {
    const reply = await sendRequest(url, `/v1/failing/${name}`, { key });
    expect(statusAndBody(reply)).toEqual(FAILED);
    expect(reply.headers["x-request-id"]).toBeTruthy();
    expect(reply.headers["x-ratelimit-limit"]).toBe("10000");
    expect(JSON.stringify(reply.headers)).not.toMatch(new RegExp(`division|exist|${schema}`));
  });

  it("because it takes too long is cancelled and answers 400", async () => {
    const limited = await serveManifest(manifest, { STATEMENT_TIMEOUT_MS: "2000" });
    expect(statusAndBody(await sendRequest(limited, "/v1/failing/slow", { key }))).toEqual(tooLarge("time"));
    const running = (): Promise<unknown> =>
      query(
        "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%' || $1 || '%slow%' AND pid <> pg_backend_pid()",
        [schema],
      );
    // The response does not wait for the cancellation.
    await expect.poll(running).toEqual([]);
  });

  it("leaves the connection fit for the next one", async () => {
    for (let i = 0; i < 30; i++) await sendRequest(url, "/v1/failing/dividing", { key });
    expect(statusAndBody(await sendRequest(url, "/v1/failing/locked", { key }))).toEqual([200, [{ id: 1 }]]);
  });
});

it("a database that is out of reach makes /health and an endpoint answer 503, and nothing else fails", async () => {
  const url = await serveManifest(manifest, { DATABASE_URL: "postgres://nobody:hush@127.0.0.1:1/none" });
  expect((await sendRequest(url, "/health")).status).toBe(503);
  expect(await described(url, "GET", "/health")).toEqual({
    status: "unavailable",
    database_connected: false,
  });
  const reply = await sendRequest(url, "/v1/failing/locked", { key });
  expect(statusAndBody(reply)).toEqual(
    refusal(503, "The database cannot be reached. Try again in 1 seconds."),
  );
  expect(reply.headers["retry-after"]).toBe("1");
  expect((await sendRequest(url, "/")).status).toBe(200);
  expect((await sendRequest(url, "/openapi.json")).status).toBe(200);
});

/** Runs `during` while the relation `locked` is locked. */
async function whileLocked(during: () => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`BEGIN; LOCK TABLE "${schema}".locked IN ACCESS EXCLUSIVE MODE`);
    await during();
  } finally {
    await client.end();
  }
}

/** Of a service, by default. */
const CONNECTIONS = 10;

it("a service with more queries than it can hold answers 503 with Retry-After, is healthy, and answers those that wait", async () => {
  const url = await serveManifest(manifestOf([HELD]));
  await sendRequest(url, "/v1/failing/held", { key });
  const held = 1020;
  let asked: readonly Promise<Reply>[] = [];
  await whileLocked(async () => {
    asked = Array.from({ length: held }, (_, i) =>
      sendRequest(url, `/v1/failing/held?id=${String(i)}`, { key }),
    );
    // The table is locked: a response can only be a refusal.
    const refused = await Promise.race(asked);
    expect([...statusAndBody(refused), refused.headers["retry-after"]]).toEqual([
      ...refusal(503, "The service is overloaded. Try again in 1 seconds."),
      "1",
    ]);
    expect(statusAndBody(await sendRequest(url, "/health"))).toEqual([
      200,
      { status: "ok", database_connected: true },
    ]);
    expect((await sendRequest(url, "/v1/failing/held?x=1", { key })).status).toBe(400);
  });
  const counted = (await Promise.all(asked)).map(({ status }) => status);
  expect(counted).toHaveLength(held);
  // Those that have a connection wait for the table as long as a query may take, the others for a connection: 5 seconds.
  expect(counted.filter((status) => status === 200).length).toBeGreaterThanOrEqual(CONNECTIONS);
  expect(new Set(counted)).toEqual(new Set([200, 503]));
  expect((await sendRequest(url, "/v1/failing/held", { key })).status).toBe(200);
});
