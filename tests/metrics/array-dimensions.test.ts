import { describe, expect, it } from "vitest";
import { byEngine, engine, ownTables } from "../support/engines.js";
import { serveManifest } from "../support/service.js";
import { questionMetric } from "./question-tables.js";

const schema = await ownTables({
  postgres: `CREATE TABLE @.orders (order_id int, customer_id int, amount int, labels text[], ordered_at date);
    INSERT INTO @.orders VALUES (1, 10, 5, '{a,b}', '2026-01-01'), (2, 10, 7, '{}', '2026-01-02'), (3, 20, 11, '{a,b}', '2026-01-02'), (4, 30, 13, '{}', '2026-01-04');
    CREATE TABLE @.customers (customer_id int, tags text[]); INSERT INTO @.customers VALUES (10, '{x}'), (20, '{}');
    CREATE TABLE @.days AS SELECT '2026-01-01'::date + n AS day FROM generate_series(0, 3) AS n`,
  clickhouse: [
    "CREATE TABLE @.orders (order_id Int32, customer_id Int32, amount Int32, labels Array(String), ordered_at Date32) ENGINE = MergeTree ORDER BY order_id",
    "INSERT INTO @.orders VALUES (1, 10, 5, ['a', 'b'], '2026-01-01'), (2, 10, 7, [], '2026-01-02'), (3, 20, 11, ['a', 'b'], '2026-01-02'), (4, 30, 13, [], '2026-01-04')",
    "CREATE TABLE @.customers (customer_id Int32, tags Array(String)) ENGINE = MergeTree ORDER BY customer_id",
    "INSERT INTO @.customers VALUES (10, ['x']), (20, [])",
    "CREATE TABLE @.days ENGINE = MergeTree ORDER BY day AS SELECT toDate32('2026-01-01') + number AS day FROM numbers(4)",
  ],
});

const LIST = byEngine({ postgres: "text[]", clickhouse: "Array(String)" });

const HAS_TAGS = byEngine({
  postgres: "'x' = ANY ({{ Dimension('customer__tags') }})",
  clickhouse: "has({{ Dimension('customer__tags') }}, 'x')",
});

const node = (name: string, columns: Readonly<Record<string, string>>, more: object = {}): object => ({
  [`model.test.${name}`]: {
    resource_type: "model",
    unique_id: `model.test.${name}`,
    name,
    alias: name,
    schema,
    tags: [],
    config: { materialized: "table", meta: {} },
    columns: Object.fromEntries(
      Object.entries(columns).map(([column, type]) => [column, { name: column, data_type: type }]),
    ),
    depends_on: { nodes: [] },
    ...more,
  },
});

const semantic = (name: string, more: object): object => ({
  [`semantic_model.test.${name}`]: {
    name,
    depends_on: { nodes: [`model.test.${name}`] },
    node_relation: { alias: name, schema_name: schema },
    measures: [],
    dimensions: [],
    ...more,
  },
});

const amount = { name: "amount" };
const manifest = (isDeclared: boolean): object => ({
  metadata: {
    dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
    adapter_type: engine,
    project_name: "test",
  },
  nodes: {
    ...node("orders", isDeclared ? { order_id: "int", labels: LIST, amount: "int" } : {}),
    ...node("customers", isDeclared ? { customer_id: "int", tags: LIST } : {}),
    ...node("days", { day: "date" }, { time_spine: { standard_granularity_column: "day" } }),
  },
  semantic_models: {
    ...semantic("orders", {
      defaults: { agg_time_dimension: "ordered_at" },
      entities: [
        { name: "order", type: "primary", expr: "order_id" },
        { name: "customer", type: "foreign", expr: "customer_id" },
      ],
      dimensions: [
        { name: "ordered_at", type: "time", type_params: { time_granularity: "day" } },
        { name: "labels", type: "categorical" },
      ],
      measures: [{ name: "amount", agg: "sum" }],
    }),
    ...semantic("customers", {
      entities: [{ name: "customer", type: "primary", expr: "customer_id" }],
      dimensions: [{ name: "tags", type: "categorical" }],
    }),
  },
  metrics: {
    ...questionMetric("amount", "simple", { measure: amount }),
    ...questionMetric("on_spine", "simple", { measure: { ...amount, join_to_timespine: true } }),
    ...questionMetric("running", "cumulative", { measure: amount }),
    ...questionMetric("of_tags", "simple", { measure: amount }, HAS_TAGS),
  },
  saved_queries: {},
});
const [undeclared, declared] = await Promise.all([false, true].map((each) => serveManifest(manifest(each))));

async function ask(url: string | undefined, request: string): Promise<readonly [number, unknown]> {
  const response = await fetch(`${url ?? ""}/v1/shop/${request}`);
  return [response.status, await response.json()];
}

const noNull = (names: string): unknown =>
  byEngine({
    postgres: null,
    clickhouse: [400, { detail: `'group_by' has no value for ${names}, whose type has no null.` }],
  });

const ROWS: readonly (readonly [request: string, rows: unknown, refused: unknown])[] = [
  [
    "amount?group_by=order__labels",
    [
      { order__labels: [], amount: 20 },
      { order__labels: ["a", "b"], amount: 16 },
    ],
    null,
  ],
  [
    "amount?group_by=customer__tags",
    [
      { customer__tags: [], amount: 11 },
      { customer__tags: ["x"], amount: 12 },
      { customer__tags: null, amount: 13 },
    ],
    noNull("customer__tags"),
  ],
  [
    "running?group_by=customer__tags",
    [
      { customer__tags: [], running: 11 },
      { customer__tags: ["x"], running: 12 },
      { customer__tags: null, running: 13 },
    ],
    noNull("customer__tags"),
  ],
  ["of_tags", [{ of_tags: 12 }], noNull("customer__tags")],
  [
    "on_spine?group_by=metric_time__day,order__labels",
    [
      { metric_time__day: "2026-01-01", order__labels: ["a", "b"], on_spine: 5 },
      { metric_time__day: "2026-01-02", order__labels: [], on_spine: 7 },
      { metric_time__day: "2026-01-02", order__labels: ["a", "b"], on_spine: 11 },
      { metric_time__day: "2026-01-03", order__labels: null, on_spine: null },
      { metric_time__day: "2026-01-04", order__labels: [], on_spine: 13 },
    ],
    noNull("order__labels"),
  ],
  [
    "amount?group_by=order__labels&compare=previous_period&start_date=2026-01-03&end_date=2026-01-04",
    [{ order__labels: [], amount: 13, amount__previous: 7, amount__change: 6 }],
    null,
  ],
  [
    "amount?group_by=customer__tags&compare=previous_period&start_date=2026-01-03&end_date=2026-01-04",
    [{ customer__tags: null, amount: 13, amount__previous: null, amount__change: null }],
    noNull("customer__tags"),
  ],
  [
    "amount?group_by=customer__tags&top=1&sort_by=amount&sort_direction=DESC&other=true",
    [
      { customer__tags: null, amount: 13, other: false },
      { customer__tags: null, amount: 23, other: true },
    ],
    noNull("customer__tags"),
  ],
];

describe("lists", () => {
  it.each(ROWS)("%s", async (request, rows, refused) => {
    expect(await ask(undeclared, request)).toEqual(refused ?? [200, rows]);
  });

  it("of ClickHouse are no groups where their models are joined and their types are declared", async () => {
    const [status, body] = await ask(declared, "amount?group_by=customer__tags");
    const detail: unknown = expect.stringMatching("'group_by' must be among: ");
    expect([status, body]).toEqual(
      byEngine<unknown>({ postgres: [200, ROWS[1]?.[1]], clickhouse: [400, { detail }] }),
    );
    expect((await ask(declared, "amount?group_by=order__labels"))[0]).toBe(200);
  });
});
