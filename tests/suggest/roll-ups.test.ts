import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { verifyRollUps } from "../../generator/verify/roll-ups.js";
import { openWarehouse } from "../../runtime/server/server.js";
import { routewright } from "../commands/run.js";
import { recordedIn } from "../diff/recorded-usage.js";
import { rollUpManifest, rollUpTables } from "../metrics/roll-up-tables.js";
import { ownDatabase, queryAt } from "../support/database.js";
import { byEngine, engine, engineUrl, ownerQuery } from "../support/engines.js";
import { ownFolder } from "../support/service.js";

type Json = Readonly<Record<string, unknown>>;

const ROWS = 120_000;
/** Of customers, countries and ten weeks: few groups. `order_id` has as many as there are rows. */
const insertInto = (schema: string): string =>
  byEngine({
    postgres: `INSERT INTO ${schema}.orders SELECT n, (ARRAY['acme', 'other'])[n % 2 + 1], 10 * (1 + n % 4), (ARRAY['AT', 'CH', 'DE'])[n % 3 + 1],
      timestamp '2026-01-01' + n % 10000 * interval '10 minutes', n % 1000, n % 500 / 100.0, n % 9, n % 2 = 0 FROM generate_series(1, ${String(ROWS)}) AS n`,
    clickhouse: `INSERT INTO ${schema}.orders SELECT number, ['acme', 'other'][number % 2 + 1], 10 * (1 + number % 4), ['AT', 'CH', 'DE'][number % 3 + 1],
      toDateTime64('2026-01-01 00:00:00', 0, 'UTC') + number % 10000 * 600, number % 1000, number % 500 / 100, number % 9, number % 2 = 0 FROM numbers(${String(ROWS)})`,
  });

const schema = await rollUpTables(1);
await ownerQuery(insertInto(schema));
if (engine === "postgres") await ownerQuery(`ANALYZE ${schema}.orders`);

interface Nodes {
  readonly nodes: Record<string, Record<string, unknown>>;
}

/** A dbt project over the orders. `declared`: `rollup_of` of models that it has already. */
function project(
  declared: Readonly<Record<string, Json>> = {},
  change: (manifest: Nodes & Json) => unknown = () => null,
): string {
  const folder = ownFolder();
  mkdirSync(join(folder, "models/shop"), { recursive: true });
  mkdirSync(join(folder, "target"));
  writeFileSync(join(folder, "dbt_project.yml"), "name: test\n");
  const manifest = rollUpManifest(schema, declared) as Nodes & Json;
  Object.assign(manifest.nodes["model.test.orders"] ?? {}, { original_file_path: "models/shop/orders.sql" });
  change(manifest);
  writeFileSync(join(folder, "target/manifest.json"), JSON.stringify(manifest));
  return folder;
}

interface Found {
  readonly kind: string;
  readonly subject: string;
  readonly model: string;
  readonly reason: string;
  readonly figures: readonly string[];
}

async function rollUpsIn(
  folder: string,
  variables: Json = {},
  ...flags: readonly string[]
): Promise<readonly Found[]> {
  const { exit, out, err } = await routewright(
    folder,
    ["suggest", "--manifest", "target/manifest.json", "--format", "json", ...flags],
    {
      ...byEngine({ postgres: { DATABASE_URL: engineUrl() }, clickhouse: { CLICKHOUSE_URL: engineUrl() } }),
      ...variables,
    },
  );
  expect([exit, err.includes("error:")], err).toEqual([0, false]);
  const { suggestions } = JSON.parse(out) as { readonly suggestions: readonly Found[] };
  return suggestions.filter(({ kind }) => kind === "roll-up");
}

const read = (folder: string, file: string): string =>
  readFileSync(join(folder, "models/shop", file), "utf8");

describe("suggest", () => {
  it("proposes a roll-up as a model of dbt, whose totals are those of the rows; a second run proposes nothing", async () => {
    const folder = project();
    const [found, ...others] = await rollUpsIn(folder, {}, "--apply");
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      subject: "orders_by_day_country_customer_org_id",
      model: "model.test.orders",
      reason: expect.stringContaining("group the rows of orders each time") as string,
    });
    expect(found?.figures.join()).toMatch(
      /^about 120,001 rows are read, of the roll-up about [\d,]+ \(estimate\)/,
    );
    const name = found?.subject ?? "";
    const sql = read(folder, `${name}.sql`);
    const built = sql
      .replace(/\{\{ config.*\}\}/, "")
      .replace(/\{\{ ref\('orders'\) \}\}/, `${schema}.orders`);
    await ownerQuery(
      `CREATE TABLE ${schema}.${name} ${byEngine({ postgres: "", clickhouse: "ENGINE = MergeTree ORDER BY tuple()" })} AS ${built}`,
    );
    const { models } = parse(read(folder, `${name}.yml`)) as {
      readonly models: readonly [
        {
          readonly name: string;
          readonly config: { readonly meta: { readonly routewright: { readonly rollup_of: Json } } };
        },
      ];
    };
    const declared = { [models[0].name]: models[0].config.meta.routewright.rollup_of };
    const reading = parseManifest(JSON.stringify(rollUpManifest(schema, declared)), "manifest.json");
    if (!reading.ok) throw new Error(reading.problems.join(" "));
    const catalogue = catalogueOf(reading.value);
    expect(catalogue.warnings).toEqual([]);
    const warehouse = await openWarehouse(engineUrl(), { rollUpVersion: () => "now" });
    try {
      expect(await verifyRollUps(catalogue, warehouse, () => true)).toEqual([]);
    } finally {
      await warehouse.close();
    }
    expect(await rollUpsIn(folder)).toEqual([]);
    expect(await rollUpsIn(project(declared))).toEqual([]);
  });

  it("has nothing private, and the column of own rows", async () => {
    const folder = project({}, (manifest) => {
      const { dimensions, entities, measures } = (
        manifest["semantic_models"] as Record<string, Record<string, Record<string, unknown>[]>>
      )["semantic_model.test.orders"] as Record<string, Record<string, unknown>[]>;
      const hide = (list: Record<string, unknown>[] = [], name: string) =>
        Object.assign(list.find((each) => each["name"] === name) ?? {}, { config: { meta: { pii: true } } });
      hide(dimensions, "country");
      hide(entities, "customer");
      hide(measures, "fees");
    });
    const [found] = await rollUpsIn(folder, {}, "--apply");
    const texts = readdirSync(join(folder, "models/shop"))
      .map((file) => read(folder, file))
      .join("\n");
    expect(found?.subject).toBe("orders_by_day_org_id");
    expect(texts).toContain("org_id");
    expect(texts).not.toMatch(/country|customer|fee_sum|sum\(fee\)/);
  });

  it("writes nothing out of the project", async () => {
    const folder = project({}, ({ nodes }) => {
      Object.assign(nodes["model.test.orders"] ?? {}, { original_file_path: "../outside/orders.sql" });
    });
    expect(await rollUpsIn(folder, {}, "--apply")).toEqual([]);
    expect(existsSync(join(folder, "../outside"))).toBe(false);
  });

  it.runIf(engine === "postgres")(
    "goes by the shapes of requests, where usage keeps them, and measures in another database",
    async () => {
      const usage = await recordedIn([
        {
          route: "/v1/shop/revenue",
          requests: 40,
          shapes: new Map([
            ["GET json tier0 group_by=order__country,metric_time__month&start_date", 30],
            ["GET json tier0 group_by=customer&order__country[in]", 6],
            ["GET json tier0 group_by=gone", 4],
          ]),
        },
      ]);
      await queryAt(usage, `CREATE SCHEMA ${schema}`);
      await copyTo(usage);
      const other = await ownDatabase();
      await queryAt(other, `CREATE SCHEMA ${schema}`);
      await copyTo(other);
      const [found, ...others] = await rollUpsIn(project(), { DATABASE_URL: usage }, "--try", other);
      expect(others).toEqual([]);
      expect(found?.subject).toBe("orders_by_day_country_customer_org_id");
      expect(found?.figures.join()).toMatch(
        /it answers 36 of 36 requests whose shapes were kept,measured, median of 5: 120,000 rows in [\d.]+ ms before, \d{3,4} rows in/,
      );
      const left = await queryAt(
        other,
        `SELECT count(*)::int AS n FROM pg_tables WHERE schemaname = '${schema}'`,
      );
      expect(left).toEqual([{ n: 3 }]);
    },
  );
});

/** The tables in another database of PostgreSQL. */
async function copyTo(address: string): Promise<void> {
  const types =
    "order_id int, org_id text, customer_id int, country text, ordered_at timestamp, amount bigint, fee numeric(12, 2), units int, gift boolean";
  await queryAt(address, `CREATE TABLE ${schema}.orders (${types})`);
  await queryAt(address, insertInto(schema));
  await queryAt(
    address,
    `CREATE TABLE ${schema}.customers (customer_id int, region text); CREATE TABLE ${schema}.days (day date); ANALYZE`,
  );
}
