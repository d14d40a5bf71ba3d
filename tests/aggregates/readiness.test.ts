import { describe, expect, it } from "vitest";
import { byEngine, engine, engineUrl, ownerQuery, ownTables } from "../support/engines.js";
import { sendRequest } from "../support/http-client.js";
import { KEYS, serveManifest } from "../support/service.js";

const TABLES = {
  payments: byEngine({
    postgres: "(payment_id int, customer_id int, amount int, paid_on date)",
    clickhouse:
      "(payment_id Int32, customer_id Int32, amount Int32, paid_on Date) ENGINE = MergeTree ORDER BY payment_id",
  }),
  customers: byEngine({
    postgres: "(customer_id int, region text)",
    clickhouse: "(customer_id Int32, region String) ENGINE = MergeTree ORDER BY customer_id",
  }),
  days: byEngine({ postgres: "(day date)", clickhouse: "(day Date) ENGINE = MergeTree ORDER BY day" }),
};
type Table = keyof typeof TABLES;
const NAMES = Object.keys(TABLES) as Table[];

const create = (schema: string, table: Table): Promise<unknown> =>
  ownerQuery(`CREATE TABLE "${schema}".${table} ${TABLES[table]}`);
const drop = (schema: string, table: Table): Promise<unknown> =>
  ownerQuery(`DROP TABLE "${schema}".${table}`);

/** Payments of customers, by day; running sums read the days of a time spine. */
function manifest(schema: string): unknown {
  const types = byEngine({ postgres: ["integer", "date"], clickhouse: ["Int32", "Date"] });
  const node = (name: Table, columns: readonly string[], more: object = {}) => ({
    [`model.test.${name}`]: {
      resource_type: "model",
      name,
      alias: name,
      schema,
      tags: [],
      config: { materialized: "table" },
      columns: Object.fromEntries(
        columns.map((column) => [column, { name: column, data_type: types[column.endsWith("day") ? 1 : 0] }]),
      ),
      ...more,
    },
  });
  const semantic = (name: Table, more: object) => ({
    [`semantic_model.test.${name}`]: {
      name,
      depends_on: { nodes: [`model.test.${name}`] },
      node_relation: { alias: name, schema_name: schema },
      ...more,
    },
  });
  const metric = (name: string, type: string, parameters: object) => ({
    [`metric.test.${name}`]: {
      name,
      type,
      type_params: parameters,
      config: {
        tags: ["production", "pay", `api:${name}`, "tier0"],
        meta: { routewright: { group_by: ["metric_time", "customer__region"] } },
      },
    },
  });
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: engine,
      project_name: "test",
    },
    nodes: {
      ...node("payments", []),
      ...node("customers", []),
      ...node("days", ["day"], { time_spine: { standard_granularity_column: "day" } }),
    },
    semantic_models: {
      ...semantic("payments", {
        defaults: { agg_time_dimension: "paid_on" },
        entities: [
          { name: "payment", type: "primary", expr: "payment_id" },
          { name: "customer", type: "foreign", expr: "customer_id" },
        ],
        dimensions: [{ name: "paid_on", type: "time", type_params: { time_granularity: "day" } }],
        measures: [{ name: "amount", agg: "sum" }],
      }),
      ...semantic("customers", {
        entities: [{ name: "customer", type: "primary", expr: "customer_id" }],
        dimensions: [{ name: "region", type: "categorical" }],
        measures: [],
      }),
    },
    metrics: {
      ...metric("sent", "simple", { measure: { name: "amount" } }),
      ...metric("running", "cumulative", { measure: { name: "amount" }, cumulative_type_params: {} }),
    },
  };
}

const SENT = "/v1/pay/sent?group_by=customer__region";
const RUNNING = "/v1/pay/running?group_by=metric_time__day";

async function serve(missing: readonly Table[]) {
  const schema = await ownTables({ postgres: "SELECT 1", clickhouse: [] });
  for (const table of NAMES) if (!missing.includes(table)) await create(schema, table);
  const url = await serveManifest(manifest(schema), { DATABASE_URL: engineUrl() });
  const health = async (): Promise<unknown> => JSON.parse((await sendRequest(url, "/health")).text);
  const ask = async (path: string) => (await sendRequest(url, path, { key: KEYS.tier3 })).status;
  const lacks = (...tables: readonly Table[]) => ({
    ...{ status: "degraded", database_connected: true },
    missing_relations: tables.map((table) => `${schema}.${table}`),
  });
  return { schema, health, ask, lacks };
}

const WELL = { status: "ok", database_connected: true };

describe("/health names a relation that metrics read", () => {
  it.each(NAMES)("%s, which the database lacks from the start", async (table) => {
    const { schema, health, ask, lacks } = await serve([table]);
    await expect.poll(health).toEqual(lacks(table));
    await create(schema, table);
    for (const path of [SENT, RUNNING]) expect(await ask(path)).toBe(200);
    expect(await health()).toEqual(WELL);
  });

  it.each([
    ["payments", SENT],
    ["customers", SENT],
    ["days", RUNNING],
  ] as const)("%s, which goes while it serves", async (table, path) => {
    const { schema, health, ask, lacks } = await serve([]);
    expect(await ask(path)).toBe(200);
    await drop(schema, table);
    expect(await ask(path)).toBe(500);
    expect(await health()).toEqual(lacks(table));
    await create(schema, table);
    expect(await ask(path)).toBe(200);
    expect(await health()).toEqual(WELL);
  });

  it("and a column of a joined one", async () => {
    const { schema, health, ask } = await serve(["customers"]);
    await ownerQuery(`CREATE TABLE "${schema}".customers ${TABLES.customers.replace(/region/, "area")}`);
    await ask(SENT);
    await expect.poll(health).toEqual({
      ...WELL,
      status: "degraded",
      missing_columns: ["/v1/pay/running: region", "/v1/pay/sent: region"],
    });
  });
});
