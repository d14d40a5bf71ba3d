import { byEngine, engine, ownTables } from "../support/engines.js";
import { seeded } from "./random-requests.js";

/** Orders of customers: texts, times and amounts of which some are null, over a year and a half. */
function orders(count: number): string {
  const random = seeded(75);
  const pick = (list: readonly (string | number | null)[]) =>
    list[Math.floor(random() * list.length)] ?? null;
  const written = (value: string | number | null): string =>
    value === null ? "NULL" : typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;
  const timeOf = (): string | null => {
    if (random() < 0.03) return null;
    return new Date(Date.UTC(2025, 10, 20) + Math.floor(random() * 500 * 86_400) * 1000)
      .toISOString()
      .slice(0, 19)
      .replace("T", " ");
  };
  const rows = Array.from({ length: count }, (_, i) => [
    i + 1,
    pick(["acme", "other", null]),
    pick([10, 20, 30, 40, null]),
    pick(["AT", "CH", "Zürich's", "", null]),
    timeOf(),
    random() < 0.1 ? null : Math.floor(random() * 2000) - 300,
    random() < 0.1 ? null : (Math.floor(random() * 100_000) - 20_000) / 100,
    random() < 0.1 ? null : Math.floor(random() * 9),
    pick(["true", "false", null]),
  ]);
  return rows.map((row) => `(${row.map(written).join(", ")})`).join(", ");
}

const STATES = byEngine({
  postgres: "",
  clickhouse: ", uniqExactState(customer_id) AS buyer_states, uniqExactState(country) AS country_states",
});

const TOTALS =
  "sum(amount) AS revenue_sum, sum(fee) AS fee_sum, sum(units) AS unit_sum, count(order_id) AS order_count, count(amount) AS paid_count, min(fee) AS least_fee, max(units) AS most_units, sum(CASE WHEN gift THEN 1 ELSE 0 END) AS gift_count, max(ordered_at) AS last_at";

/** The relation of a roll-up: its groups, and its totals. */
function rollUpTable(name: string, groups: Readonly<Record<string, string>>): string {
  const list = Object.entries(groups).map(([column, sql]) => `${sql} AS ${column}`);
  const by = Object.values(groups).join(", ");
  const make = byEngine({ postgres: "AS", clickhouse: "ENGINE = MergeTree ORDER BY tuple() AS" });
  return `CREATE TABLE @.${name} ${make} SELECT ${list.join(", ")}, ${TOTALS}${STATES} FROM @.orders GROUP BY ${by}`;
}

const day = byEngine({ postgres: "ordered_at::date", clickhouse: "toDate32(ordered_at)" });
const truncated = (unit: string): string =>
  byEngine({
    postgres: `date_trunc('${unit}', ordered_at)::date`,
    clickhouse: `toDate32(toStartOf${unit === "week" ? "Week" : "Month"}(ordered_at${unit === "week" ? ", 1" : ""}))`,
  });

export const ROLL_UPS: readonly string[] = [
  rollUpTable("orders_by_day", {
    org_id: "org_id",
    customer_id: "customer_id",
    country: "country",
    day,
  }),
  rollUpTable("orders_by_month", { org_id: "org_id", country: "country", month: truncated("month") }),
  rollUpTable("orders_by_week", { org_id: "org_id", country: "country", week: truncated("week") }),
];

export function rollUpTables(count = 1500): Promise<string> {
  const types = byEngine({
    postgres: {
      int: "int",
      big: "bigint",
      text: "text",
      time: "timestamp",
      decimal: "numeric(12, 2)",
      flag: "boolean",
    },
    clickhouse: {
      int: "Nullable(Int32)",
      big: "Nullable(Int64)",
      text: "Nullable(String)",
      time: "Nullable(DateTime64(0, 'UTC'))",
      decimal: "Nullable(Decimal(12, 2))",
      flag: "Nullable(Bool)",
    },
  });
  const end = byEngine({ postgres: "", clickhouse: " ENGINE = MergeTree ORDER BY tuple()" });
  const days = byEngine({
    postgres: "AS SELECT '2025-11-01'::date + n AS day FROM generate_series(0, 560) AS n",
    clickhouse:
      "ENGINE = MergeTree ORDER BY tuple() AS SELECT toNullable(toDate32('2025-11-01') + number) AS day FROM numbers(561)",
  });
  const statements = [
    `CREATE TABLE @.orders (order_id ${types.int}, org_id ${types.text}, customer_id ${types.int}, country ${types.text}, ordered_at ${types.time}, amount ${types.big}, fee ${types.decimal}, units ${types.int}, gift ${types.flag})${end}`,
    `INSERT INTO @.orders VALUES ${orders(count)}`,
    `CREATE TABLE @.customers (customer_id ${types.int}, region ${types.text})${end}`,
    `INSERT INTO @.customers VALUES (10, 'EU'), (20, 'US'), (30, NULL)`,
    `CREATE TABLE @.days ${days}`,
    ...ROLL_UPS,
  ];
  return ownTables({ postgres: statements.join(";\n"), clickhouse: statements });
}

type Json = Readonly<Record<string, unknown>>;

const MEASURES = {
  revenue: { agg: "sum", expr: "amount" },
  fees: { agg: "sum", expr: "fee" },
  units: { agg: "sum", expr: "units" },
  orders: { agg: "count", expr: "order_id" },
  paid: { agg: "count", expr: "amount" },
  least_fee: { agg: "min", expr: "fee" },
  most_units: { agg: "max", expr: "units" },
  gifts: { agg: "sum_boolean", expr: "gift" },
  last_order: { agg: "max", expr: "ordered_at" },
  buyers: { agg: "count_distinct", expr: "customer_id" },
  countries: { agg: "count_distinct", expr: "country" },
  mean_fee: { agg: "average", expr: "fee" },
} as const;

const COLUMNS = {
  revenue: "revenue_sum",
  fees: "fee_sum",
  units: "unit_sum",
  orders: "order_count",
  paid: "paid_count",
  least_fee: "least_fee",
  most_units: "most_units",
  gifts: "gift_count",
  last_order: "last_at",
  ...byEngine({ postgres: {}, clickhouse: { buyers: "buyer_states", countries: "country_states" } }),
} as const;

/** `meta.routewright.rollup_of` of each roll-up. */
export const DECLARED: Readonly<Record<string, Json>> = {
  orders_by_day: {
    semantic_model: "orders",
    group_by: {
      org_id: "org_id",
      customer: "customer_id",
      country: "country",
      ordered_at: { column: "day", grain: "day" },
    },
    measures: COLUMNS,
  },
  orders_by_month: {
    semantic_model: "orders",
    group_by: { org_id: "org_id", country: "country", ordered_at: { column: "month", grain: "month" } },
    measures: COLUMNS,
  },
  orders_by_week: {
    semantic_model: "orders",
    group_by: { org_id: "org_id", country: "country", ordered_at: { column: "week", grain: "week" } },
    measures: COLUMNS,
  },
};

function node(schema: string, name: string, parents: readonly string[], more: Json = {}): Json {
  return {
    [`model.test.${name}`]: {
      resource_type: "model",
      unique_id: `model.test.${name}`,
      name,
      alias: name,
      schema,
      tags: [],
      config: { materialized: "table" },
      columns: {},
      depends_on: { nodes: parents.map((each) => `model.test.${each}`) },
      ...more,
    },
  };
}

const settings = (routewright: Json): Json => ({ config: { materialized: "table", meta: { routewright } } });

function metric(name: string, type: string, parameters: Json, filter?: string): Json {
  return {
    [`metric.test.${name}`]: {
      name,
      type,
      type_params: parameters,
      filter: filter === undefined ? null : { where_filters: [{ where_sql_template: filter }] },
      config: {
        tags: ["production", "shop", `api:${name}`, "tier0"],
        meta: { routewright: { group_by: "all", filter: true } },
      },
    },
  };
}

const input = (name: string, more: Json = {}): Json => ({ name, ...more });

/** Metrics over orders. Those of several inputs too, and some that no roll-up can answer. */
export const METRICS: Json = {
  ...Object.keys(MEASURES).reduce(
    (all, name) => ({ ...all, ...metric(name, "simple", { measure: { name } }) }),
    {},
  ),
  ...metric("fee_share", "ratio", { numerator: input("fees"), denominator: input("revenue") }),
  ...metric("net", "derived", { expr: "revenue - fees", metrics: [input("revenue"), input("fees")] }),
  ...metric("growth", "derived", {
    expr: "revenue - before",
    metrics: [
      input("revenue"),
      input("revenue", { alias: "before", offset_window: { count: 1, granularity: "month" } }),
    ],
  }),
  ...metric("swiss", "simple", { measure: { name: "revenue" } }, "{{ Dimension('order__country') }} = 'CH'"),
  ...metric(
    "late",
    "simple",
    { measure: { name: "orders" } },
    "{{ TimeDimension('order__ordered_at', 'month') }} >= '2026-03-01'",
  ),
  ...metric(
    "of_many",
    "simple",
    { measure: { name: "revenue" } },
    "{{ Metric('orders', ['customer']) }} > 250",
  ),
  ...metric("daily", "simple", { measure: { name: "orders", join_to_timespine: true, fill_nulls_with: 0 } }),
  ...metric("all_time", "cumulative", { measure: { name: "revenue" }, cumulative_type_params: {} }),
  ...metric("all_buyers", "cumulative", { measure: { name: "buyers" }, cumulative_type_params: {} }),
  ...metric("buyers_30", "cumulative", {
    measure: { name: "buyers" },
    cumulative_type_params: { window: { count: 30, granularity: "day" } },
  }),
  ...metric("daily_buyers", "simple", {
    measure: { name: "buyers", join_to_timespine: true, fill_nulls_with: 0 },
  }),
  ...metric("each_buyer", "derived", {
    expr: "revenue / buyers",
    metrics: [input("revenue"), input("buyers")],
  }),
  ...metric("last_30", "cumulative", {
    measure: { name: "units" },
    cumulative_type_params: { window: { count: 30, granularity: "day" } },
  }),
  ...metric("to_date", "cumulative", {
    measure: { name: "orders" },
    cumulative_type_params: { grain_to_date: "month" },
  }),
};

/** `declared`: the roll-ups. `rows`: callers read the orders of their organization. */
export function rollUpManifest(schema: string, declared: typeof DECLARED = DECLARED, rows = true): Json {
  const owner = rows ? settings({ rows: { column: "org_id", equals: "org" } }) : {};
  const semantic = (name: string, more: Json): Json => ({
    [`semantic_model.test.${name}`]: {
      name,
      depends_on: { nodes: [`model.test.${name}`] },
      node_relation: { alias: name, schema_name: schema },
      measures: [],
      dimensions: [],
      ...more,
    },
  });
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: engine,
      project_name: "test",
    },
    nodes: {
      ...node(schema, "orders", [], owner),
      ...node(schema, "customers", []),
      ...node(schema, "days", [], { time_spine: { standard_granularity_column: "day" } }),
      ...Object.entries(declared).reduce(
        (all, [name, of]) => ({ ...all, ...node(schema, name, ["orders"], settings({ rollup_of: of })) }),
        {},
      ),
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
          { name: "country", type: "categorical" },
        ],
        measures: Object.entries(MEASURES).map(([name, more]) => ({ name, ...more })),
      }),
      ...semantic("customers", {
        entities: [{ name: "customer", type: "primary", expr: "customer_id" }],
        dimensions: [{ name: "region", type: "categorical" }],
      }),
    },
    metrics: METRICS,
    saved_queries: {},
  };
}

const GRAINS = ["day", "week", "month", "quarter", "year"];
const GROUPS = [
  ...GRAINS.map((grain) => `metric_time__${grain}`),
  "metric_time__extract_month",
  "metric_time__extract_dow",
  "order__ordered_at__month",
  "order__country",
  "customer",
  "customer__region",
];
const FILTERS = [
  "order__country=CH",
  "order__country[null]=true",
  "order__country[in]=AT,CH",
  "customer=10",
  "customer__region=EU",
  "customer__region[null]=true",
  "metric_time[gte]=2026-02-10",
  "metric_time[lt]=2026-06-01",
  "start_date=2026-01-10",
  "end_date=2026-04-15",
  "start_date=2026-02-01&end_date=2026-02-28",
  "filter=order__country eq 'CH' or customer__region eq 'US'",
];

/** Random requests to all metrics, with a caller of each organization. */
export function rollUpRequests(
  count: number,
  seed: number,
): readonly { readonly request: string; readonly key: string }[] {
  const random = seeded(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const some = (list: readonly string[], most: number): readonly string[] => [
    ...new Set(Array.from({ length: Math.floor(random() * (most + 1)) }, () => pick(list))),
  ];
  const names = Object.keys(METRICS).map((id) => id.slice("metric.test.".length));
  return Array.from({ length: count }, () => {
    const name = pick(names);
    const groups = some(GROUPS, 3);
    const options = [
      ...(random() < 0.15 ? [`${name}[gt]=${String(Math.floor(random() * 500))}`] : []),
      ...(groups.length > 0 && random() < 0.15 ? ["totals=true"] : []),
      ...(groups.length > 0 && random() < 0.15 ? [`top=3&sort_by=${name}&other=true`] : []),
      ...(random() < 0.1 ? ["compare=previous_period&start_date=2026-02-01&end_date=2026-02-28"] : []),
    ];
    const parts = [
      ...(groups.length > 0 ? [`group_by=${groups.join(",")}`] : []),
      ...(options.some((option) => option.startsWith("compare")) ? [] : some(FILTERS, 2)),
      ...options,
    ];
    return { request: `/v1/shop/${name}?${encodeURI(parts.join("&"))}`, key: pick(["acme", "other", "all"]) };
  });
}
