import { ownDatabase, queryAt } from "../support/database.js";

/** Payments of two organizations; the second one is to a customer of the other organization. */
export async function exposureDatabase(): Promise<string> {
  const database = await ownDatabase();
  await queryAt(
    database,
    `CREATE SCHEMA IF NOT EXISTS analytics;
     CREATE TABLE analytics.payments (payment_id int, org_id text, customer_id int, amount int, token text, email text, paid_on date, born_on date);
     INSERT INTO analytics.payments VALUES
       (1, 'acme', 10, 5, 'GNO', 'a@acme', '2026-01-01', '1990-01-01'),
       (2, 'acme', 20, 7, 'XDAI', 'b@acme', '2026-01-02', '1991-01-01'),
       (3, 'other', 20, 100, 'GNO', 'c@other', '2026-01-03', '1992-01-01');
     CREATE TABLE analytics.customers (customer_id int, org_id text, region text, phone text, level int);
     INSERT INTO analytics.customers VALUES (10, 'acme', 'EU', '+1', 1), (20, 'other', 'US', '+2', 2);
     CREATE TABLE analytics.days (day date);
     INSERT INTO analytics.days SELECT '2026-01-01'::date + n FROM generate_series(0, 3) AS n;`,
  );
  return database;
}

type Json = Readonly<Record<string, unknown>>;

const ROWS = { rows: { column: "org_id", equals: "org" } };
const PAYMENTS = {
  payment_id: {},
  org_id: {},
  customer_id: {},
  amount: {},
  token: {},
  email: { pii: true },
  paid_on: {},
  born_on: { sensitive: "yes" },
};
const CUSTOMERS = {
  customer_id: {},
  org_id: {},
  region: {},
  phone: { classification: "restricted" },
  level: {},
};
const TYPES: Readonly<Record<string, string>> = {
  payment_id: "integer",
  customer_id: "integer",
  amount: "integer",
  level: "integer",
  paid_on: "date",
  born_on: "date",
  day: "date",
};

interface Node {
  readonly alias?: string;
  readonly tags?: readonly string[];
  readonly meta?: Json;
  readonly columns?: Readonly<Record<string, Json>>;
  readonly spine?: string;
  readonly parents?: readonly string[];
}

function node(name: string, { alias = name, tags = [], meta = {}, columns = {}, spine, parents = [] }: Node) {
  const id = `model.test.${name}`;
  return {
    [id]: {
      resource_type: "model",
      unique_id: id,
      name,
      alias,
      schema: "analytics",
      tags,
      config: { tags, meta, materialized: "table" },
      columns: Object.fromEntries(
        Object.entries(columns).map(([column, marks]) => [
          column,
          { name: column, data_type: TYPES[column] ?? "text", meta: marks },
        ]),
      ),
      depends_on: { nodes: parents },
      ...(spine !== undefined && { time_spine: { standard_granularity_column: spine } }),
    },
  };
}

/** Everything that payments offer, as the semantic model of one dbt model. */
function payments(name: string, entity: string, time = "paid_on"): Json {
  const measure = (measureName: string, agg: string, expr: string, more: Json = {}) => ({
    name: `${name}_${measureName}`,
    agg,
    expr,
    ...more,
  });
  return {
    [`semantic_model.test.${name}`]: {
      name,
      depends_on: { nodes: [`model.test.${name}`] },
      node_relation: { alias: name, schema_name: "analytics" },
      defaults: { agg_time_dimension: time },
      entities: [
        { name: entity, type: "primary", expr: "payment_id" },
        { name: "customer", type: "foreign", expr: "customer_id" },
        { name: "vip", type: "foreign", expr: "customer_id" },
      ],
      dimensions: [
        { name: "token", type: "categorical" },
        { name: "email", type: "categorical" },
        { name: "mailbox", type: "categorical", expr: "lower(email)" },
        { name: "paid_on", type: "time", type_params: { time_granularity: "day" } },
        { name: "born_on", type: "time", type_params: { time_granularity: "day" } },
      ],
      measures: [
        measure("amount", "sum", "amount"),
        measure("count", "count", "payment_id"),
        measure("max_email", "max", "email"),
        measure("min_email", "min", "lower(email)"),
        measure("median_born", "median", "born_on"),
        measure("percentile_born", "percentile", "born_on", {
          agg_params: { percentile: 0.9, use_discrete_percentile: true },
        }),
        measure("payers", "count_distinct", "email"),
      ],
    },
  };
}

function customers(name: string, entity: string): Json {
  return {
    [`semantic_model.test.${name}`]: {
      name,
      depends_on: { nodes: [`model.test.${name}`] },
      node_relation: { alias: "customers", schema_name: "analytics" },
      entities: [{ name: entity, type: "primary", expr: "customer_id" }],
      dimensions: [
        { name: "region", type: "categorical" },
        { name: "phone", type: "categorical" },
        { name: "level", type: "categorical" },
      ],
      measures: [],
    },
  };
}

function metric(name: string, measure: string, groups: unknown, more: Json = {}, resource = name): Json {
  const meta = groups === undefined ? {} : { routewright: { group_by: groups } };
  return {
    [`metric.test.${name}`]: {
      name,
      type: "simple",
      type_params: { measure: { name: measure } },
      config: { tags: ["production", "pay", `api:${resource}`, "tier0"], meta },
      ...more,
    },
  };
}

const tagged = (name: string, tier = "tier0"): readonly string[] => [
  "production",
  "pay",
  `api:${name}`,
  tier,
];

const PUBLIC = ["metric_time", "payment__token", "payment__paid_on", "customer__region"];

/** Models with rules of rows, of tiers and of private columns, and metrics over them. */
export const EXPOSURE: unknown = {
  metadata: {
    dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
    adapter_type: "postgres",
    project_name: "test",
  },
  nodes: {
    ...node("payments", { meta: { routewright: ROWS }, columns: PAYMENTS }),
    ...node("transfers", { alias: "payments", columns: PAYMENTS }),
    ...node("births", { alias: "payments", columns: PAYMENTS }),
    ...node("guarded", { alias: "payments", columns: PAYMENTS, tags: tagged("guarded", "tier2") }),
    ...node("hidden", { alias: "payments", meta: { pii: true } }),
    ...node("broken", { alias: "payments", meta: { routewright: { rows: true } } }),
    ...node("copied", {
      alias: "payments",
      columns: { payment_id: {}, email: {}, token: {}, amount: {} },
      parents: ["model.test.payments"],
    }),
    ...node("customers", { meta: { routewright: ROWS }, columns: CUSTOMERS }),
    ...node("vips", { alias: "customers", columns: CUSTOMERS, tags: tagged("vips", "tier2") }),
    ...node("days", { columns: { day: {} }, spine: "day" }),
    ...node("own_payments", {
      alias: "payments",
      tags: tagged("own_payments"),
      columns: PAYMENTS,
      meta: {
        routewright: {
          ...ROWS,
          filters: ["token"],
          aggregate: {
            group_by: ["token", { column: "paid_on", grains: ["day", "month"] }],
            measures: {
              volume: { agg: "sum", column: "amount" },
              payments: { agg: "count" },
              gno: { agg: "count", filter: { column: "token", operator: "eq", value: "GNO" } },
            },
            rows: false,
          },
        },
      },
    }),
    ...["min", "max"].reduce(
      (all, agg) => ({
        ...all,
        ...node(`${agg}_of_private`, {
          alias: "payments",
          tags: tagged(`${agg}_of_private`),
          columns: PAYMENTS,
          meta: { routewright: { aggregate: { measures: { shown: { agg, column: "email" } } } } },
        }),
        ...node(`${agg}_of_inherited`, {
          alias: "payments_copy",
          tags: tagged(`${agg}_of_inherited`),
          columns: { email: {}, token: {} },
          parents: ["model.test.payments"],
          meta: { routewright: { aggregate: { measures: { shown: { agg, column: "email" } } } } },
        }),
        ...node(`${agg}_of_hidden`, {
          alias: "payments_other",
          tags: tagged(`${agg}_of_hidden`),
          columns: { email: {}, token: {} },
          meta: {
            contains_pii: true,
            routewright: { aggregate: { measures: { shown: { agg, column: "token" } } } },
          },
        }),
      }),
      {},
    ),
  },
  semantic_models: {
    ...payments("payments", "payment"),
    ...payments("transfers", "transfer"),
    ...payments("births", "birth", "born_on"),
    ...payments("guarded", "guard"),
    ...payments("hidden", "hidden"),
    ...payments("broken", "broken"),
    ...payments("copied", "copy"),
    ...payments("missing", "missing"),
    ...customers("customers", "customer"),
    ...customers("vips", "vip"),
  },
  metrics: {
    ...metric("revenue", "payments_amount", PUBLIC),
    ...metric("payment_count", "payments_count", PUBLIC, {}, "revenue"),
    ...metric("payers", "payments_payers", undefined),
    ...metric("running", "payments_amount", undefined, {
      type: "cumulative",
      type_params: { measure: { name: "payments_amount" }, cumulative_type_params: {} },
    }),
    ...metric("share", "", undefined, {
      type: "derived",
      type_params: {
        expr: "now - before",
        metrics: [
          { name: "revenue", alias: "now" },
          { name: "revenue", alias: "before", offset_window: { count: 1, granularity: "day" } },
        ],
      },
    }),
    ...metric("sent", "transfers_amount", ["customer__region", "transfer__token"]),
    ...metric("sent_by_all", "transfers_amount", "all"),
    ...metric("listed", "transfers_amount", ["transfer__email", "vip__phone"]),
    ...metric("guarded_sum", "guarded_amount", undefined),
    ...metric("to_vips", "transfers_amount", ["vip__level"]),
    ...metric("births", "births_count", ["birth__token"]),
    ...metric("births_listed", "births_count", ["metric_time", "birth__token"]),
    ...metric("from_hidden", "hidden_max_email", undefined),
    ...metric("hidden_count", "hidden_count", "all"),
    ...metric("from_broken", "broken_amount", undefined),
    ...metric("from_missing", "missing_amount", undefined),
    ...metric("copied_count", "copied_count", "all"),
    ...metric("max_copied", "copied_max_email", undefined),
    ...metric("max_email", "payments_max_email", undefined),
    ...metric("min_email", "payments_min_email", undefined),
    ...metric("median_born", "payments_median_born", undefined),
    ...metric("percentile_born", "payments_percentile_born", undefined),
  },
  saved_queries: {
    "saved_query.test.by_region": {
      name: "by_region",
      query_params: {
        metrics: ["revenue", "payment_count"],
        group_by: ["Dimension('customer__region')"],
        order_by: ["-revenue"],
      },
      config: { tags: ["production", "pay", "api:by_region", "tier0"] },
    },
    "saved_query.test.vips": {
      name: "saved_vips",
      query_params: { metrics: ["sent"], group_by: ["Dimension('vip__level')"] },
      config: { tags: ["production", "pay", "api:saved_vips", "tier0"] },
    },
  },
};
