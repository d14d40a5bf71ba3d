/** The queries of the how-to, run as they are written. */
import { describe, expect, it } from "vitest";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../../support/clickhouse.js";
import { blocksOf, textOf } from "../../support/commands.js";
import { queryAt } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { hasOlderPostgres, startOlderPostgres } from "../../support/older-postgres.js";
import { plan, routeComment, sql } from "../../../runtime/core/warehouse/sql.js";
import { KEYS, serveManifest } from "../../support/service.js";

const [ofPostgres = "", ofClickhouse = ""] = blocksOf(textOf("runtime/docs/how-to/who-costs-what.md"), "sql");

const model = (name: string, schema: string, alias: string, resource = name) => ({
  name,
  schema,
  alias,
  tags: ["production", "cost", `api:${resource}`],
  columns: { n: "int" },
  api: {
    methods: ["GET"],
    allow_unfiltered: true,
    parameters: [{ name: "n", type: "string", column: "n", operator: "=" }],
  },
});

it.each([
  "/v1/a*/; DROP TABLE t; --",
  "/v1/'||pg_sleep(9)||'",
  "/v1/\\'/*",
  "/v1/$1?%27\n",
  "/v1/ÿ€",
  "/v1/*/*/**/",
  "/v1/%2a%2f",
  "/v1/\u0000\r\n--",
  "/v1/${x}`$$",
  "/v1/\u2019\uff07",
  "/v1/!~()*'",
])("a route ends no comment: %j", (route) => {
  const { text } = plan(sql`SELECT 1${routeComment(route)}`, () => "$1");
  const [, value = ""] = /^SELECT 1 \/\*route='([\w.~%-]*)'\*\/$/.exec(text) ?? [];
  expect(decodeURIComponent(value)).toBe(route);
});

describe.skipIf(!hasOlderPostgres)("the statements of PostgreSQL", async () => {
  const url = hasOlderPostgres
    ? await startOlderPostgres(["shared_preload_libraries=pg_stat_statements"])
    : "";
  if (hasOlderPostgres)
    await queryAt(
      url,
      `CREATE EXTENSION pg_stat_statements;
       CREATE SCHEMA s;
       CREATE TABLE s.one AS SELECT generate_series(1, 3) AS n;
       CREATE TABLE s.two AS SELECT generate_series(1, 5) AS n, 1 AS m`,
    );
  const manifest = manifestOf([model("one", "s", "one"), model("two", "s", "two")]);

  it("name their endpoint, prepared or not, with their calls and rows", async () => {
    const served = await serveManifest(manifest, { DATABASE_URL: url });
    for (let i = 0; i < 4; i++) expect((await sendRequest(served, "/v1/cost/one")).status).toBe(200);
    await sendRequest(served, "/v1/cost/one?n=2");
    await sendRequest(served, "/v1/cost/two", { headers: { prefer: "count=exact" } });
    const rows = await queryAt(url, ofPostgres);
    expect(
      rows.map(({ route, calls, rows: n }) => [decodeURIComponent(String(route)), Number(calls), Number(n)]),
    ).toEqual(
      expect.arrayContaining([
        ["/v1/cost/one", 5, 13],
        ["/v1/cost/two", expect.any(Number), expect.any(Number)],
      ]),
    );
    expect(rows).toHaveLength(2);
  });
});

describe.skipIf(!hasClickhouse)("the statements of ClickHouse", async () => {
  const database = await ownDatabase([
    "CREATE TABLE @.one ORDER BY n AS SELECT toInt32(number) AS n FROM numbers(3)",
  ]);
  const manifest = manifestOf([model("one", database, "one", `only_${database}`)], {
    adapter_type: "clickhouse",
  });
  const path = `/v1/cost/only_${database}`;

  /** Its rows of this file's endpoint. */
  async function costs(): Promise<readonly (readonly string[])[]> {
    await clickhouse("SYSTEM FLUSH LOGS");
    const text = await clickhouse(ofClickhouse.replace(/;\s*$/, ""));
    return text
      .split("\n")
      .map((line) => line.split("\t"))
      .filter(([route]) => route === path);
  }

  it("name endpoint, key and request", async () => {
    const url = await serveManifest(manifest, { DATABASE_URL: clickhouseUrl() });
    await sendRequest(url, path, { headers: { "x-request-id": `id-${database}` } });
    await sendRequest(url, `${path}?n=1`, { key: KEYS.tier1 });
    await sendRequest(url, `${path}?n=2`, { key: KEYS.tier1 });
    const found = await costs();
    expect(found.map(([, key = "", queries]) => [/^[0-9a-f]{12}$/.test(key), queries]).sort()).toEqual([
      [false, "1"],
      [true, "2"],
    ]);
    const request = await clickhouse(
      `SELECT count() FROM system.query_log WHERE type = 'QueryFinish' AND JSONExtractString(log_comment, 'request') = 'id-${database}'`,
    );
    expect(request.trim()).toBe("1");
  });

  it("keep the comment that the role's profile fixes", async () => {
    const url = await serveManifest(manifest, { DATABASE_URL: clickhouseUrl("own_comment") });
    const { status } = await sendRequest(url, `${path}?n=2`);
    expect(status).toBe(200);
    await clickhouse("SYSTEM FLUSH LOGS");
    const own = await clickhouse(
      `SELECT DISTINCT log_comment FROM system.query_log WHERE query LIKE '%${database}.one%' AND user = 'own_comment'`,
    );
    expect(own).toBe("ours\n");
  });
});
