import { join } from "node:path";
import pg from "pg";
import { columnsOf, generateApi, openDatabase, SCHEMA, serveApi } from "../api.js";
import { compareFigure, type Figures, type Findings, interleave, medians, type Setting } from "../figures.js";
import { ask, timed } from "../timed-queries.js";

/** Each group has a row on every day. */
const GROUPS = 1000;
const DAYS = 1000;
const FIRST = "2021-01-01";

/** A cumulative metric, and its values by month and region in SQL. */
interface Question {
  readonly kind: object;
  readonly sql: string;
}

const SALES = `${SCHEMA}.sales`;
const MONTH = "date_trunc('month', day)::date";

/** Sales with what is computed once for each day: for each row it takes a third longer. */
const withDays = (columns: string): string =>
  `${SALES} JOIN (SELECT day, ${columns} FROM ${SCHEMA}.days OFFSET 0) AS d USING (day)`;

/** Totals by month, that of its first day apart; and the first days that have rows. `span`: the longer period of a month. */
const firstOfMonth = (span: (month: string) => string): string => `
  WITH totals AS (SELECT region, month, min(day) AS first, sum(amount) AS total, sum(amount) FILTER (WHERE day = month) AS at_start
      FROM ${withDays(`${MONTH} AS month`)} GROUP BY 1, 2),
    months AS (SELECT DISTINCT ${MONTH} AS month FROM ${SCHEMA}.days),
    starts AS (SELECT region, ${span("month")} AS span, min(first) AS first FROM totals GROUP BY 1, 2),
    edges AS (SELECT s.region, s.day, sum(s.amount) AS total FROM starts JOIN ${SALES} AS s
      ON s.region = starts.region AND s.day = starts.first WHERE extract(day FROM first) > 1 GROUP BY 1, 2)
  SELECT m.month, s.region, CASE WHEN s.first > m.month THEN e.total
    ELSE coalesce(t.at_start, 0) + coalesce(sum(t.total) OVER earlier, 0) END::bigint AS v
  FROM starts AS s JOIN months AS m ON m.month >= date_trunc('month', s.first) AND ${span("m.month")} = s.span
    LEFT JOIN totals AS t ON t.region = s.region AND t.month = m.month
    LEFT JOIN edges AS e ON e.region = s.region AND e.day = s.first
  WINDOW earlier AS (PARTITION BY s.region, s.span ORDER BY m.month ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`;

/** Totals by the months at whose first days rows enter and have left the window, and the first days that have rows after a gap. */
const windowAtFirstOfMonth = (left: string): string => `
  WITH parts AS (SELECT region, entered, "left", sum(amount) AS total, min(day) AS first
      FROM ${withDays(`(date_trunc('month', day - 1) + interval '1 month')::date AS entered, (${left})::date AS left`)} GROUP BY 1, 2, 3),
    changes AS (SELECT region, entered AS month, total, 1 AS n FROM parts
      UNION ALL SELECT region, "left", -total, -1 FROM parts),
    steps AS (SELECT region, month, sum(total) AS total, sum(n) AS n FROM changes GROUP BY 1, 2),
    running AS (SELECT region, month, lead(month) OVER w AS until, sum(total) OVER w AS total, sum(n) OVER w AS n
      FROM steps WINDOW w AS (PARTITION BY region ORDER BY month)),
    spans AS (SELECT *, lag("left") OVER (PARTITION BY region ORDER BY entered, "left") AS before FROM parts),
    edges AS (SELECT s.region, s.day, sum(s.amount) AS total FROM spans JOIN ${SALES} AS s
      ON s.region = spans.region AND s.day = spans.first
      WHERE extract(day FROM first) > 1 AND (before IS NULL OR before < entered) GROUP BY 1, 2)
  SELECT m::date AS month, region, total::bigint AS v FROM running, (SELECT max(day) AS last FROM ${SCHEMA}.days) AS d,
    generate_series(month, least(until - interval '1 month', last), '1 month') AS m WHERE n > 0
  UNION ALL SELECT ${MONTH}, region, total FROM edges`;

const QUESTIONS: Readonly<Record<string, Question>> = {
  all_time: { kind: {}, sql: firstOfMonth(() => "1") },
  year_to_date: {
    kind: { grain_to_date: "year" },
    sql: firstOfMonth((month) => `date_trunc('year', ${month})`),
  },
  days_365: {
    kind: { window: { count: 365, granularity: "day" } },
    sql: windowAtFirstOfMonth("date_trunc('month', day + 364) + interval '1 month'"),
  },
  months_12: {
    kind: { window: { count: 12, granularity: "month" } },
    sql: windowAtFirstOfMonth("date_trunc('month', day - 1) + interval '13 months'"),
  },
};

/** Cumulative metrics by month and group over rows on every day, beside statements by hand. */
export async function cumulative(setting: Setting): Promise<Findings> {
  const { folder, keep, progress } = setting;
  progress("cumulative: filling PostgreSQL");
  const database = keep(await openDatabase(folder));
  await database.query(`CREATE TABLE ${SALES} AS SELECT date '${FIRST}' + i % ${String(DAYS)} AS day,
    'region-' || i / ${String(DAYS)} AS region, (i::bigint * 7919 % 10007)::int AS amount
    FROM generate_series(0, ${String(GROUPS * DAYS - 1)}) AS i;
    CREATE TABLE ${SCHEMA}.days AS SELECT DISTINCT day FROM ${SALES}; ANALYZE`);
  const api = await generateApi(join(folder, "cumulative-api"), MODELS, "postgres", SEMANTICS);
  const environment = { STATEMENT_TIMEOUT_MS: "0", CACHE_MAX_BYTES: "0" };
  const server = keep(await serveApi(api, database.url, environment));
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  keep({ stop: () => pool.end() });
  const measured = [];
  for (const [name, { sql }] of Object.entries(QUESTIONS)) {
    progress(`cumulative: ${name}`);
    const path = `${name}?group_by=metric_time__month,sale__region`;
    const { rows } = await pool.query<Row>(`SELECT month::text, region, v FROM (${sql}) AS t ORDER BY 1, 2`);
    checkSame(name, rows, JSON.parse(await ask(server, path)) as Answer);
    const samples = await interleave({
      bare: () => timed(database.pid, () => pool.query(sql)),
      routewright: () => timed(database.pid, () => ask(server, path)),
    });
    measured.push({ name, samples });
  }
  const data = `${String(GROUPS)} groups by month of ${String(GROUPS * DAYS)} rows on ${String(DAYS)} days`;
  const title = `cumulative: ${data}; by hand sends all rows unsorted, Routewright one sorted page; processor time and memory are PostgreSQL's alone`;
  const figures = measured.flatMap(({ name, samples }): [string, Figures][] => [
    [`${name}, by hand`, medians(samples.bare)],
    [`${name}, routewright`, medians(samples.routewright)],
  ]);
  return {
    tables: [{ title, rows: Object.fromEntries(figures) }],
    bars: measured.map(({ name, samples }) =>
      compareFigure(`cumulative, ${name}, processor time of PostgreSQL`, samples, "processor s", {
        atMost: 2,
      }),
    ),
  };
}

interface Row {
  readonly month: string;
  readonly region: string;
  readonly v: string;
}

type Answer = readonly Readonly<Record<string, unknown>>[];

/** A page has the first rows. */
function checkSame(name: string, byHand: readonly Row[], answer: Answer): void {
  const wanted = byHand.slice(0, answer.length).map(({ month, region, v }) => [month, region, Number(v)]);
  const found = answer.map((row) => [row["metric_time__month"], row["sale__region"], Number(row[name])]);
  if (answer.length === 0 || JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(
      `${name}: ${JSON.stringify(found.slice(0, 3))}, by hand ${JSON.stringify(wanted.slice(0, 3))}`,
    );
}

const MODELS = [
  {
    name: "sales",
    columns: columnsOf({ day: "date", region: "text", amount: "integer" }),
    config: { materialized: "table" },
  },
  {
    name: "days",
    columns: columnsOf({ day: "date" }),
    config: { materialized: "table" },
    time_spine: { standard_granularity_column: "day" },
  },
];

const metrics = Object.entries(QUESTIONS).map(([name, { kind }]) => [
  `metric.bench.${name}`,
  {
    name,
    type: "cumulative",
    type_params: { measure: { name: "volume" }, cumulative_type_params: { period_agg: "first", ...kind } },
    config: {
      tags: ["production", "shop", `api:${name}`],
      meta: { routewright: { group_by: ["metric_time", "sale__region"] } },
    },
  },
]);

const SEMANTICS = {
  semantic_models: {
    "semantic_model.bench.sales": {
      name: "sales",
      depends_on: { nodes: ["model.bench.sales"] },
      node_relation: { alias: "sales", schema_name: SCHEMA },
      defaults: { agg_time_dimension: "day" },
      entities: [{ name: "sale", type: "primary", expr: "region" }],
      dimensions: [
        { name: "day", type: "time", type_params: { time_granularity: "day" } },
        { name: "region", type: "categorical" },
      ],
      measures: [{ name: "volume", agg: "sum", expr: "amount" }],
    },
  },
  metrics: Object.fromEntries(metrics) as object,
  saved_queries: {},
};
