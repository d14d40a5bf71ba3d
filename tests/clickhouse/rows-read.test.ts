import { describe, expect, it } from "vitest";
import { readEnvironment } from "../../runtime/server/operations/environment.js";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { refusal, sendRequest, statusAndBody } from "../support/http-client.js";

const database = await ownDatabase([
  "CREATE TABLE @.facts (day Date, shop String, n UInt64) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (day, shop)",
  "INSERT INTO @.facts SELECT toDate('2026-01-01') + number % 300, toString(number % 7), number FROM numbers(300000)",
  ...["Memory", "Log", "TinyLog", "Merge('@', '^in_Log$')"].flatMap((engine) => {
    const name = `@.in_${engine.replace(/\(.*/, "")}`;
    const fill = `INSERT INTO ${name} SELECT * FROM @.facts`;
    return [
      `CREATE TABLE ${name} AS @.facts ENGINE = ${engine}`,
      ...(engine.startsWith("Merge") ? [] : [fill]),
    ];
  }),
  "CREATE TABLE @.on_this_server AS @.in_Memory ENGINE = Distributed(shards, '@', in_Memory)",
  "CREATE VIEW @.scalar AS SELECT day, shop, n, (SELECT max(n) FROM @.facts WHERE shop LIKE '%1') AS top FROM @.facts WHERE day < '2026-01-05'",
  "CREATE VIEW @.joined AS SELECT f.day AS day, f.shop AS shop, f.n AS n FROM @.facts AS f JOIN @.in_Memory AS m ON m.n = f.n WHERE f.day < '2026-01-05'",
  "CREATE VIEW @.listed AS SELECT * FROM @.facts WHERE day < '2026-01-05' AND n IN (SELECT n FROM @.in_Log)",
  "CREATE VIEW @.merged AS SELECT * FROM merge('@', '^in_Log$') WHERE day < '2026-01-05'",
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

/** Relations of which `EXPLAIN ESTIMATE` does not report the rows read: each read 300,000 rows at a limit of 50,000. */
const UNESTIMATED = [
  "in_Memory",
  "in_Log",
  "in_TinyLog",
  "in_Merge",
  "scalar",
  "joined",
  "listed",
  "merged",
  "on_this_server",
];

describe.skipIf(!hasClickhouse)("a query that would read more rows than MAX_ROWS_READ", async () => {
  if (!hasClickhouse) return;
  const models = ["facts", "above", ...UNESTIMATED].map((name) => endpoint(name, name, PARAMETERS));
  const manifest = manifestOf(models, { adapter_type: "clickhouse" });
  const url = await serveManifest(manifest, {
    DATABASE_URL: clickhouseUrl(),
    MAX_ROWS_READ: "tier0=50000,tier1=100000000",
    STATEMENT_TIMEOUT_MS: "30000",
    RATE_LIMITS: "10000",
  });
  const ask = (path: string, key?: string) =>
    sendRequest(url, `/v1/cost/${path}`, key === undefined ? {} : { key });
  const TOO_MANY = refusal(
    400,
    "This request would read more than 50000 rows of the database, the limit of tier0. Narrow its filters.",
  );

  it.each(["facts", "above"])("is refused, also through a view: %s", async (name) => {
    for (const query of ["", "?n=5"]) expect(statusAndBody(await ask(name + query))).toEqual(TOO_MANY);
  });

  it("is refused without having read a row", async () => {
    await clickhouse("SYSTEM FLUSH LOGS");
    const read = await clickhouse(
      `SELECT count() FROM system.query_log WHERE type = 'QueryFinish' AND read_rows >= 250000 AND user = 'api' AND has(databases, '${database}')`,
    );
    expect(read.trim()).toBe("0");
  });

  it.each(UNESTIMATED)("is refused where the rows cannot be estimated: %s", async (name) => {
    for (const query of ["", "?n=5", "?to=2026-01-02"]) {
      const { status, text } = await ask(name + query);
      expect([query, status, text]).toEqual([query, 400, expect.stringContaining("more than 50000 rows")]);
    }
    expect((await ask(name, KEYS.tier2)).status).toBe(200);
  });

  it.each(["facts", "in_Memory"])("is refused for the values of a column too: %s", async (name) => {
    const values = (key?: string, more = "") =>
      sendRequest(
        url,
        `/v1/system/values?path=/v1/cost/${name}&column=shop${more}`,
        key === undefined ? {} : { key },
      );
    for (const more of ["", "&prefix=1", "&limit=1", "&n=5"])
      expect([more, statusAndBody(await values(undefined, more))]).toEqual([more, TOO_MANY]);
    const { status, text } = await values(KEYS.tier1);
    expect([status, (JSON.parse(text) as { values: object[] }).values.length]).toEqual([200, 7]);
  });

  it.each([
    "/v1/cost/facts?n=%d",
    "/v1/cost/in_Log?n=%d",
    "/v1/system/values?path=/v1/cost/facts&column=shop&n=%d",
  ])("is refused for those whose limit it is alone, when others ask the same at once: %s", async (path) => {
    for (let n = 0; n < 5; n++) {
      const keys = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? KEYS.tier0 : KEYS.tier1));
      const replies = keys.map((key) => sendRequest(url, path.replace("%d", String(n)), { key }));
      const statuses = (await Promise.all(replies)).map(({ status }) => status);
      expect(statuses).toEqual(keys.map((key) => (key === KEYS.tier0 ? 400 : 200)));
    }
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
