import { describe, expect, it } from "vitest";
import { readEnvironment } from "../../runtime/operations/environment.js";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { refusal, sendRequest, statusAndBody } from "../support/http-client.js";

const database = await ownDatabase([
  "CREATE TABLE @.facts (day Date, shop String, n UInt64) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (day, shop)",
  "INSERT INTO @.facts SELECT toDate('2026-01-01') + number % 300, toString(number % 7), number FROM numbers(300000)",
  "CREATE VIEW @.scalar AS SELECT day, shop, n, (SELECT max(n) FROM @.facts WHERE shop LIKE '%1') AS top FROM @.facts WHERE day < '2026-01-05'",
  "CREATE VIEW @.above AS SELECT day AS day, shop, n FROM @.facts WHERE n < 250000",
]);

const parameter = (name: string, column: string, operator: string, type: string) => ({
  name,
  column,
  operator,
  type,
});
const PARAMETERS = [
  parameter("n", "n", "=", "string"),
  parameter("from", "day", ">=", "date"),
  parameter("to", "day", "<=", "date"),
];
const endpoint = (name: string, resource: string, parameters: readonly object[]) => ({
  name,
  schema: database,
  tags: ["production", "cost", `api:${resource}`],
  columns: { day: "Date", shop: "String", n: "UInt64" },
  api: { allow_unfiltered: true, parameters },
});

describe.skipIf(!hasClickhouse)("a query that would read more rows than MAX_ROWS_READ", async () => {
  if (!hasClickhouse) return;
  const models = ["facts", "above", "scalar"].map((name) => endpoint(name, name, PARAMETERS));
  const manifest = manifestOf(models, { adapter_type: "clickhouse" });
  const url = await serveManifest(manifest, {
    DATABASE_URL: clickhouseUrl(),
    MAX_ROWS_READ: "tier0=50000,tier1=100000000",
  });
  const ask = (path: string, key?: string) =>
    sendRequest(url, `/v1/cost/${path}`, key === undefined ? {} : { key });
  const TOO_MANY = refusal(
    400,
    "This request would read more than 50000 rows of the database, the limit of tier0. Narrow its filters.",
  );

  it.each(["facts", "above", "scalar"])("is refused, also through a view: %s", async (name) => {
    for (const query of ["", "?n=5"]) expect(statusAndBody(await ask(name + query))).toEqual(TOO_MANY);
  });

  it("is refused without having read a row", async () => {
    await clickhouse("SYSTEM FLUSH LOGS");
    const read = await clickhouse(
      `SELECT count() FROM system.query_log WHERE type = 'QueryFinish' AND read_rows >= 250000 AND user = 'api' AND has(databases, '${database}')`,
    );
    expect(read.trim()).toBe("0");
  });

  it("is run with a filter of the primary key, and for a tier with a higher limit or none", async () => {
    expect((await ask("above?from=2026-02-01&to=2026-02-03")).status).toBe(200);
    for (const key of [KEYS.tier1, KEYS.tier2]) expect((await ask("facts", key)).status).toBe(200);
  });
});

it("MAX_ROWS_READ is an error where PostgreSQL is served, and where it is no number", () => {
  const problems = (variables: Record<string, string>) => {
    const reading = readEnvironment({ API_KEYS: "{}", ...variables });
    return reading.ok ? [] : reading.problems;
  };
  expect(problems({ MAX_ROWS_READ: "5" })).toEqual([
    expect.stringContaining("needs a clickhouse:// address"),
  ]);
  expect(problems({ MAX_ROWS_READ: "many", DATABASE_URL: "clickhouse://a" })).toEqual([
    expect.stringContaining("MAX_ROWS_READ"),
  ]);
  expect(problems({ MAX_ROWS_READ: "tier0=5", CLICKHOUSE_URL: "clickhouse://a" })).toEqual([]);
});
