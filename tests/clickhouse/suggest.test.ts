import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { routewright } from "../commands/run.js";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

const ROWS =
  "SELECT toUInt32(number) AS id, toDate('2026-01-01') + number % 90 AS day, toLowCardinality(concat('c', toString(number % 500))) AS customer FROM numbers(300000)";
const database = await ownDatabase([
  `CREATE TABLE @.orders ORDER BY id AS ${ROWS}`,
  `CREATE TABLE @.loose ORDER BY tuple() AS ${ROWS}`,
  `CREATE TABLE @.sparse ORDER BY tuple() AS SELECT toNullable(day) AS day, customer FROM @.loose`,
]);

function project(): string {
  const folder = ownFolder();
  for (const name of ["models", "target"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "dbt_project.yml"), "name: test\n");
  writeFileSync(
    join(folder, "models/shop.yml"),
    "models:\n  - name: orders\n  - name: loose\n  - name: sparse\n",
  );
  const columns = { id: "UInt32", day: "Date", customer: "LowCardinality(String)" };
  const model = (name: string) => ({ name, schema: database, columns, materialized: "table" });
  const sparse = { day: "Nullable(Date)", customer: columns.customer };
  const manifest = manifestOf([model("orders"), model("loose"), { ...model("sparse"), columns: sparse }], {
    adapter_type: "clickhouse",
    dbt_version: "1.11.16",
  }) as { nodes: Record<string, object> };
  for (const node of Object.values(manifest.nodes))
    Object.assign(node, { original_file_path: "models/x.sql", patch_path: "test://models/shop.yml" });
  writeFileSync(join(folder, "target/manifest.json"), JSON.stringify(manifest));
  return folder;
}

describe.runIf(hasClickhouse)("routewright suggest on ClickHouse", () => {
  const run = (folder: string, ...flags: readonly string[]) =>
    routewright(folder, ["suggest", "--manifest", "target/manifest.json", ...flags], {
      DATABASE_URL: clickhouseUrl(),
    });

  it("suggests sort keys and projections by rows, granules and plans", async () => {
    const folder = project();
    const { exit, out, err } = await run(folder, "--format", "json");
    expect(exit, err).toBe(0);
    const { suggestions } = JSON.parse(out) as {
      suggestions: { kind: string; path: string; subject: string; figures: string[] }[];
    };
    const ofDatabase = suggestions.filter(({ kind }) => kind === "projection" || kind === "sort-key");
    expect(ofDatabase.map(({ kind, path, subject }) => `${path} ${kind} ${subject}`)).toEqual([
      "/v1/shop/loose sort-key day",
      "/v1/shop/orders projection day",
      "/v1/shop/orders projection customer",
      // A sorting key holds no null.
      "/v1/shop/sparse sort-key customer",
    ]);
    expect(ofDatabase[1]?.figures).toEqual(["about 300,000 rows in about 37 granules are read"]);
    expect((await run(folder, "--apply")).exit).toBe(0);
    const text = readFileSync(join(folder, "models/shop.yml"), "utf8");
    expect(text).toContain('query: SELECT * ORDER BY "day"');
    expect(JSON.parse((await run(folder, "--format", "json")).out)).toMatchObject({ suggestions: [] });
  });

  it("measures a projection in a copy of the table, which is gone afterwards", async () => {
    const { clickhouseTrial } = await import("../../generator/suggest/trial.js");
    const { clickhouseAddress } = await import("../../runtime/core/model/clickhouse-address.js");
    const address = clickhouseAddress(process.env["TEST_CLICKHOUSE_URL"] ?? "");
    if (address === null) throw new Error("no address");
    const trial = await clickhouseTrial(address);
    const statement = `ALTER TABLE "${database}"."orders" ADD PROJECTION "by_customer" (SELECT * ORDER BY "customer")`;
    const measured = await trial.measure({ relation: [database, "orders"], column: "customer" }, statement);
    expect(measured?.[0].rows).toBe(300_000);
    expect(measured?.[1].rows).toBeLessThan(30_000);
    expect(await clickhouse(`SELECT count() FROM system.tables WHERE database = '${database}'`)).toBe("3\n");
  });
});
