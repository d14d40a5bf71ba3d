import { engine } from "../../support/engines.js";
import { columnsOf } from "./tenant-tables.js";

type Json = Readonly<Record<string, unknown>>;

const OWN = { rows: { column: "org_id", equals: "org" } };
const PRIVATE = ["email", "capital"];

interface Model {
  readonly table?: string;
  readonly tags?: readonly string[];
  readonly api?: Json;
  readonly routewright?: Json;
  readonly more?: Json;
}

const tagged = (name: string, tier: string): readonly string[] => ["production", "shop", `api:${name}`, tier];

function model(
  schema: string,
  name: string,
  { table = name, tags = [], api, routewright, more }: Model,
): Json {
  const columns = Object.entries(columnsOf(table)).map(([column, data_type]) => [
    column,
    { name: column, data_type, meta: PRIVATE.includes(column) ? { pii: true } : {} },
  ]);
  return {
    [`model.test.${name}`]: {
      ...{ resource_type: "model", unique_id: `model.test.${name}`, name, alias: table, schema, tags },
      config: {
        tags,
        materialized: "table",
        meta: { ...(api && { api }), ...(routewright && { routewright }) },
      },
      columns: Object.fromEntries(columns) as Json,
      depends_on: { nodes: [] },
      ...more,
    },
    ...(table === "orders" || table === "rates" ? keyTests(name, table === "orders" ? "order_id" : "n") : {}),
  };
}

const keyTests = (name: string, key: string): Json =>
  Object.fromEntries(
    ["unique", "not_null"].map((test) => [
      `test.test.${test}_${name}_${key}`,
      {
        resource_type: "test",
        test_metadata: {
          name: test,
          kwargs: { column_name: key, model: `{{ get_where_subquery(ref('${name}')) }}` },
        },
        ...{ column_name: key, attached_node: `model.test.${name}`, config: { severity: "ERROR" } },
        depends_on: { nodes: [`model.test.${name}`] },
      },
    ]),
  );

const parameter = (name: string, column: string, operator: string, type: string, more: Json = {}): Json => ({
  ...{ name, column, operator, type },
  ...more,
});
const paged = (response: string): Json => ({
  pagination: { enabled: true, default_limit: 7, max_limit: 60, response },
});
/** Two endpoints over the same relation differ in what a parameter of one name means. */
const ordersApi = (country: Json, response: string): Json => ({
  allow_unfiltered: true,
  methods: ["GET", "POST"],
  sort: [{ column: "order_id", direction: "ASC" }],
  parameters: [
    parameter("country_is", "country", "=", "string", country),
    parameter("since", "ordered_at", ">=", "date"),
    parameter("until", "ordered_at", "<=", "date"),
    parameter("search", "note", "ILIKE", "string"),
    parameter("notes", "note", "IN", "string_list"),
  ],
  ...paged(response),
});
const SORTABLE = { sortable_fields: ["amount", "ordered_at", "country"] };
const FILTERS = ["order_id", "org_id", "customer_id", "country", "note", "ordered_at", "amount", "fee"];
const MEASURES = {
  total: { agg: "sum", column: "amount" },
  n: { agg: "count" },
  swiss: { agg: "count", filter: { column: "country", operator: "eq", value: "CH" } },
  buyers: { agg: "count_distinct", column: "customer_id" },
};
const AGGREGATE = {
  group_by: ["country", "note", "org_id", { column: "ordered_at", grains: ["day", "month"] }],
  measures: MEASURES,
};

const MODELS: Readonly<Record<string, Model>> = {
  orders: {
    tags: tagged("orders", "tier0"),
    api: { ...ordersApi({ case: "lower" }, "list"), ...SORTABLE },
    routewright: { ...OWN, filters: FILTERS, filter: true, fields: true, cursor: true, changes: "on_build" },
  },
  orders_any: {
    table: "orders",
    tags: tagged("orders_any", "tier1"),
    api: { ...ordersApi({}, "envelope"), ...SORTABLE },
    routewright: { ...OWN, filters: FILTERS, filter: true, fields: true, timezone: "Europe/Vienna" },
  },
  orders_whole: { table: "orders", tags: tagged("orders_whole", "tier0"), routewright: { ...OWN } },
  sums: {
    table: "orders",
    tags: tagged("sums", "tier0"),
    api: ordersApi({ case: "lower" }, "list"),
    routewright: { ...OWN, filters: FILTERS, filter: true, cursor: true, aggregate: AGGREGATE },
  },
  grouped: {
    table: "orders",
    tags: tagged("grouped", "tier0"),
    api: { allow_unfiltered: true },
    routewright: {
      ...OWN,
      filters: FILTERS,
      filter: true,
      changes: "on_build",
      aggregate: { ...AGGREGATE, rows: false },
    },
  },
  rates: {
    tags: tagged("rates", "tier0"),
    api: {
      allow_unfiltered: true,
      sort: [{ column: "n", direction: "ASC" }],
      parameters: [parameter("label", "label", "=", "string")],
      ...paged("list"),
    },
    routewright: {
      filters: ["n", "label", "value"],
      filter: true,
      fields: true,
      changes: "on_build",
      max_age: 60,
    },
  },
  premium: {
    table: "rates",
    tags: tagged("premium", "tier2"),
    api: { allow_unfiltered: true, sort: [{ column: "n", direction: "ASC" }], ...paged("list") },
    routewright: { filters: ["n", "label"], cursor: true, changes: "on_build", numbers: "string" },
  },
  visits: { routewright: { ...OWN } },
  countries: { routewright: { ...OWN } },
  customers: {},
};

const simple = (measure: string, more: Json = {}): Json => ({ measure: { name: measure, ...more } });

function metric(name: string, type: string, parameters: Json, filter?: string, isServed = true): Json {
  return {
    [`metric.test.${name}`]: {
      ...{ name, type, type_params: parameters },
      filter: filter === undefined ? null : { where_filters: [{ where_sql_template: filter }] },
      config: {
        tags: isServed ? tagged(name, "tier0") : [],
        meta: { routewright: { group_by: "all", filter: true } },
      },
    },
  };
}

const METRICS: Json = {
  ...metric("revenue", "simple", simple("revenue")),
  ...metric("fees", "simple", simple("fees")),
  ...metric("order_count", "simple", simple("orders")),
  ...metric("buyers", "simple", simple("buyers")),
  ...metric("visits", "simple", simple("visits")),
  ...metric("unseen", "simple", simple("visits"), "{{ Dimension('visit__channel') }} = 'web'", false),
  ...metric(
    "of_visitors",
    "simple",
    simple("revenue"),
    "{{ Metric('visits', group_by=['customer']) }} >= 20",
  ),
  ...metric("of_unseen", "simple", simple("revenue"), "{{ Metric('unseen', group_by=['customer']) }} >= 7"),
  ...metric("of_many", "simple", simple("orders"), "{{ Metric('order_count', ['customer']) }} > 20"),
  ...metric(
    "late",
    "simple",
    simple("orders"),
    "{{ TimeDimension('order__ordered_at', 'month') }} >= '2026-03-01'",
  ),
  ...metric(
    "in_alps",
    "simple",
    simple("revenue"),
    "{{ Dimension('country__region', entity_path=['customer']) }} = 'alps'",
  ),
  ...metric("daily", "simple", simple("orders", { join_to_timespine: true, fill_nulls_with: 0 })),
  ...metric("of_week", "cumulative", {
    ...simple("revenue"),
    cumulative_type_params: { window: { count: 7, granularity: "day" } },
  }),
  ...metric("fee_share", "ratio", { numerator: { name: "fees" }, denominator: { name: "revenue" } }),
  ...metric("growth", "derived", {
    expr: "revenue - before",
    metrics: [
      { name: "revenue" },
      { name: "revenue", alias: "before", offset_window: { count: 1, granularity: "month" } },
    ],
  }),
  ...metric("quarter_ago", "derived", {
    expr: "before",
    metrics: [
      { name: "revenue", alias: "before", offset_window: { count: 1, granularity: "fiscal_quarter" } },
    ],
  }),
};

const METRIC = "metric.test.";
export const METRIC_NAMES: readonly string[] = Object.keys(METRICS)
  .map((id) => id.slice(METRIC.length))
  .filter((name) => name !== "unseen");

const entity = (name: string, type: string, expr: string): Json => ({ name, type, expr });
const text = (name: string): Json => ({ name, type: "categorical" });
const time = (name: string): Json => ({ name, type: "time", type_params: { time_granularity: "day" } });

function semantic(schema: string, name: string, more: Json): Json {
  return {
    [`semantic_model.test.${name}`]: {
      name,
      depends_on: { nodes: [`model.test.${name}`] },
      node_relation: { alias: name, schema_name: schema },
      ...{ measures: [], dimensions: [] },
      ...more,
    },
  };
}

const semantics = (schema: string): Json => ({
  ...semantic(schema, "orders", {
    defaults: { agg_time_dimension: "ordered_at" },
    entities: [
      entity("order", "primary", "order_id"),
      entity("customer", "foreign", "customer_id"),
      // An entity with the name of the column of own rows.
      entity("org_id", "foreign", "org_id"),
    ],
    dimensions: [time("ordered_at"), text("country"), text("note"), text("email")],
    measures: [
      { name: "revenue", agg: "sum", expr: "amount" },
      { name: "fees", agg: "sum", expr: "fee" },
      { name: "orders", agg: "count", expr: "order_id" },
      { name: "buyers", agg: "count_distinct", expr: "customer_id" },
    ],
  }),
  ...semantic(schema, "visits", {
    defaults: { agg_time_dimension: "visited_at" },
    entities: [
      entity("visit", "primary", "visit_id"),
      entity("customer", "foreign", "customer_id"),
      entity("org_id", "foreign", "org_id"),
    ],
    dimensions: [time("visited_at"), text("channel")],
    measures: [{ name: "visits", agg: "count", expr: "visit_id" }],
  }),
  ...semantic(schema, "customers", {
    entities: [entity("customer", "primary", "customer_id"), entity("country", "foreign", "country_code")],
  }),
  ...semantic(schema, "countries", {
    entities: [entity("country", "primary", "code")],
    dimensions: [text("region"), text("capital")],
  }),
});

/** `meta.routewright.rollup_of` of orders by day. */
const BY_DAY = {
  semantic_model: "orders",
  group_by: {
    ...{ org_id: "org_id", country: "country", customer: "customer_id" },
    ordered_at: { column: "day", grain: "day" },
  },
  measures: { revenue: "revenue_sum", fees: "fee_sum", orders: "order_count" },
};

/** Names of the models that have builds. */
export const BUILT: readonly string[] = [...Object.keys(MODELS), "days"];

/** Endpoints of rows with rules of own rows, of tiers and of private columns, metrics over them, and a saved query. */
export function tenantManifest(schema: string): Json {
  const models = Object.entries(MODELS).map(([name, each]) => model(schema, name, each));
  const days = {
    time_spine: {
      standard_granularity_column: "day",
      custom_granularities: [{ name: "fiscal_quarter", column_name: "fiscal" }],
    },
    columns: { day: { name: "day", data_type: "date" }, fiscal: { name: "fiscal", data_type: "text" } },
  };
  const rollUp = { columns: {}, depends_on: { nodes: ["model.test.orders"] } };
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      ...{ adapter_type: engine, project_name: "test" },
    },
    nodes: Object.assign(
      {},
      ...models,
      model(schema, "days", { more: days }),
      model(schema, "orders_by_day", { routewright: { rollup_of: BY_DAY }, more: rollUp }),
    ) as Json,
    semantic_models: semantics(schema),
    metrics: METRICS,
    saved_queries: {
      "saved_query.test.by_country": {
        name: "by_country",
        query_params: {
          metrics: ["revenue", "order_count"],
          group_by: ["Dimension('order__country')"],
          where: { where_filters: [{ where_sql_template: "{{ Metric('visits', ['customer']) }} > 5" }] },
        },
        config: { tags: tagged("by_country", "tier0") },
      },
    },
  };
}
