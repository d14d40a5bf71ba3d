import { byEngine, engine, ownTables } from "../support/engines.js";

const INSERTS = [
  `INSERT INTO @.orders VALUES (1, 'acme', 10, 5, '2026-01-01'), (2, 'acme', 10, 7, '2026-01-15'), (3, 'acme', 20, 11, '2026-02-02'),
    (4, 'acme', 30, 13, '2026-04-01'), (5, 'other', 20, 100, '2026-02-03')`,
  `INSERT INTO @.customers VALUES (10, 'AT'), (20, 'CH'), (30, NULL)`,
  `INSERT INTO @.countries VALUES ('AT', 'acme', 'EU', 'vienna'), ('CH', 'other', 'non-EU', 'bern')`,
  `INSERT INTO @.regions VALUES ('AT', 'acme', 'EU', '2026-01-01'), ('AT', 'acme', 'alps', '2026-01-15'), ('CH', 'other', 'alps', '2026-02-02'),
    ('CH', 'other', 'non-EU', '2026-02-03')`,
  `INSERT INTO @.plans VALUES (10, 'free', '2025-01-01', '2026-01-10'), (10, 'paid', '2026-01-10', NULL), (20, 'paid', '2026-03-01', NULL)`,
  `INSERT INTO @.visits VALUES (1, 'acme', 10, 'web', '2026-01-01'), (2, 'acme', 10, 'app', '2026-01-03'), (3, 'acme', 20, 'web', '2026-01-05'),
    (4, 'other', 10, 'app', '2026-01-04')`,
  `INSERT INTO @.buys VALUES (1, 'acme', 10, 'app', '2026-01-04'), (2, 'acme', 10, 'web', '2026-02-20'), (3, 'acme', 20, 'app', '2026-01-05'),
    (4, 'other', 10, 'app', '2026-01-05')`,
];

const TABLES: Readonly<Record<string, string>> = {
  orders: "order_id I, org_id T, customer_id I, amount I, ordered_at D",
  customers: "customer_id I, country_code T",
  countries: "code T, org_id T, region T, capital T",
  regions: "code T, org_id T, region T, day D",
  plans: "customer_id I, plan T, valid_from D, valid_until D",
  visits: "visit_id I, org_id T, customer_id I, channel T, visited_at D",
  buys: "buy_id I, org_id T, customer_id I, channel T, bought_at D",
};

const typed = (columns: string, types: Readonly<Record<string, string>>): string =>
  columns.replaceAll(/ ([ITD])\b/g, (_, letter: string) => ` ${types[letter] ?? ""}`);

/** The fiscal quarters begin a month late, and are called by texts. */
const DAYS = byEngine({
  postgres: `CREATE TABLE @.days AS SELECT ('2025-12-01'::date + n) AS day, 'Q' || to_char('2025-11-01'::date + n, 'YYYY"-"Q') AS fiscal FROM generate_series(0, 200) AS n`,
  clickhouse: `CREATE TABLE @.days ENGINE = MergeTree ORDER BY tuple() AS SELECT toNullable(toDate32('2025-12-01') + number) AS day,
    concat('Q', toString(toYear(toDate32('2025-11-01') + number)), '-', toString(toQuarter(toDate32('2025-11-01') + number))) AS fiscal FROM numbers(201)`,
});

/** From the first of January to the tenth: fewer than the days. */
const HOURS = byEngine({
  postgres: `CREATE TABLE @.hours AS SELECT '2026-01-01'::timestamp + n * interval '1 hour' AS hour FROM generate_series(0, 239) AS n`,
  clickhouse: `CREATE TABLE @.hours ENGINE = MergeTree ORDER BY tuple() AS SELECT toNullable(toDateTime64('2026-01-01', 6, 'UTC') + toIntervalHour(number)) AS hour FROM numbers(240)`,
});

/** Orders, visits and purchases of customers, whose plans hold for a time, in countries; two organizations. */
export function questionTables(): Promise<string> {
  const create = (types: Readonly<Record<string, string>>, end: string): readonly string[] =>
    Object.entries(TABLES).map(
      ([name, columns]) => `CREATE TABLE @.${name} (${typed(columns, types)})${end}`,
    );
  return ownTables({
    postgres: [...create({ I: "int", T: "text", D: "date" }, ""), ...INSERTS, DAYS, HOURS].join(";\n"),
    clickhouse: [
      ...create(
        { I: "Nullable(Int32)", T: "Nullable(String)", D: "Nullable(Date32)" },
        " ENGINE = MergeTree ORDER BY tuple()",
      ),
      ...INSERTS,
      DAYS,
      HOURS,
    ],
  });
}

type Json = Readonly<Record<string, unknown>>;

const ROWS = { rows: { column: "org_id", equals: "org" } };

function node(schema: string, name: string, more: Json = {}): Json {
  const hasOwner = (TABLES[name] ?? "").includes("org_id");
  const columns = Object.fromEntries(
    (TABLES[name] ?? "day D, fiscal T").split(", ").map((each) => {
      const [column = "", type] = each.split(" ");
      return [
        column,
        {
          name: column,
          data_type: typed(` ${type ?? ""}`, COLUMN_TYPES).trim(),
          meta: column === "capital" ? { pii: true } : {},
        },
      ];
    }),
  );
  return {
    [`model.test.${name}`]: {
      resource_type: "model",
      unique_id: `model.test.${name}`,
      name,
      alias: name,
      schema,
      tags: [],
      config: { materialized: "table", meta: hasOwner ? { routewright: ROWS } : {} },
      columns,
      depends_on: { nodes: [] },
      ...more,
    },
  };
}

const COLUMN_TYPES = byEngine({
  postgres: { I: "integer", T: "text", D: "date" },
  clickhouse: { I: "Nullable(Int32)", T: "Nullable(String)", D: "Nullable(Date32)" },
});

function semantic(schema: string, name: string, more: Json): Json {
  return {
    [`semantic_model.test.${name}`]: {
      name,
      depends_on: { nodes: [`model.test.${name}`] },
      node_relation: { alias: name, schema_name: schema },
      measures: [],
      dimensions: [],
      ...more,
    },
  };
}

const time = (name: string, more: Json = {}): Json => ({
  name,
  type: "time",
  type_params: { time_granularity: "day", ...more },
});
const text = (name: string): Json => ({ name, type: "categorical" });
const entity = (name: string, type: string, expr: string): Json => ({ name, type, expr });

/** A metric that is grouped by everything, at the path of its name. */
export const questionMetric = (name: string, type: string, parameters: Json, filter?: string): Json => ({
  [`metric.test.${name}`]: {
    name,
    type,
    type_params: parameters,
    filter: filter === undefined ? null : { where_filters: [{ where_sql_template: filter }] },
    config: {
      tags: ["production", "shop", `api:${name}`, "tier0"],
      meta: { routewright: { group_by: "all" } },
    },
  },
});

export function questionManifest(schema: string, metrics: Json): Json {
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: engine,
      project_name: "test",
    },
    nodes: {
      ...Object.keys(TABLES).reduce((nodes, name) => ({ ...nodes, ...node(schema, name) }), {}),
      ...node(schema, "days", {
        time_spine: {
          standard_granularity_column: "day",
          custom_granularities: [{ name: "fiscal_quarter", column_name: "fiscal" }],
        },
      }),
    },
    semantic_models: {
      ...semantic(schema, "orders", {
        defaults: { agg_time_dimension: "ordered_at" },
        entities: [entity("order", "primary", "order_id"), entity("customer", "foreign", "customer_id")],
        dimensions: [time("ordered_at")],
        measures: [{ name: "amount", agg: "sum" }],
      }),
      ...semantic(schema, "customers", {
        entities: [
          entity("customer", "primary", "customer_id"),
          entity("country", "foreign", "country_code"),
        ],
      }),
      ...semantic(schema, "countries", {
        entities: [entity("country", "primary", "code")],
        dimensions: [text("region"), text("capital")],
      }),
      ...semantic(schema, "plans", {
        entities: [entity("customer", "natural", "customer_id")],
        dimensions: [
          text("plan"),
          time("valid_from", { validity_params: { is_start: true, is_end: false } }),
          time("valid_until", { validity_params: { is_start: false, is_end: true } }),
        ],
      }),
      ...semantic(schema, "visits", {
        defaults: { agg_time_dimension: "visited_at" },
        entities: [entity("visit", "primary", "visit_id"), entity("customer", "foreign", "customer_id")],
        dimensions: [time("visited_at"), text("channel")],
        measures: [{ name: "visits", agg: "count", expr: "visit_id" }],
      }),
      ...semantic(schema, "buys", {
        defaults: { agg_time_dimension: "bought_at" },
        entities: [entity("buy", "primary", "buy_id"), entity("customer", "foreign", "customer_id")],
        dimensions: [time("bought_at"), text("channel")],
        measures: [{ name: "buys", agg: "count", expr: "buy_id" }],
      }),
    },
    metrics,
    saved_queries: {},
  };
}
