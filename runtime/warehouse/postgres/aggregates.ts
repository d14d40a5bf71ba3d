import { type Grain, isDayGrain, type Leaf, type Period } from "../../model/aggregate.js";
import type { Selection } from "../../model/query.js";
import type { AggregateDialect, GroupedSource, Part } from "../aggregate-dialect.js";
import { constant, EMPTY, identifier, join, literal, projectParts, sql, type Sql } from "../sql.js";
import type { ResultColumn } from "../warehouse.js";
import { where } from "./filters.js";

/** How PostgreSQL writes the parts of a statement of groups. */
export const POSTGRES_AGGREGATES: AggregateDialect = {
  identifier,
  where,
  joined: (column) => column,
  joinedValue: (value) => value,
  truncated,
  periodColumn: (grain) => ({ name: "period", type: isDayGrain(grain) ? "date" : "timestamp" }),
  comparedTime: (value, grain) => (isDayGrain(grain) ? sql`(${value})::timestamp` : value),
  asTimeOf,
  earlier,
  aggregate,
  ofTotals,
  asCount: (value) => sql`(${value})::bigint`,
  windowFrame,
  eachNumber: (table, from, below) =>
    sql`${table} CROSS JOIN LATERAL generate_series(${from}, ${below} - 1) AS n`,
  atEnd: (end, value, order) =>
    end === "first"
      ? sql`(array_agg(${value} ORDER BY ${order}))[1]`
      : sql`(array_agg(${value} ORDER BY ${order} DESC))[1]`,
  operand: (value) => value,
  quotient: (numerator, denominator) =>
    sql`((${numerator})::double precision / nullif((${denominator})::double precision, 0))`,
  combined,
};

/** In UTC, whatever the zone of the session: `date_trunc` of a date or a `timestamptz` depends on it. */
function truncated(value: Part, grain: Grain, { type, timezone }: ResultColumn): Part {
  if (type === "date" && grain === "day") return value;
  const time = sql`date_trunc(${literal(grain)}, ${inUtc(value, type, timezone)})`;
  return isDayGrain(grain) ? sql`(${time})::date` : time;
}

function inUtc(value: Part, type: string, timezone: string | undefined): Part {
  if (type === "timestamptz") return sql`(${value} AT TIME ZONE 'UTC')`;
  if (type !== "timestamp") return sql`(${value})::timestamp`;
  return timezone === undefined
    ? value
    : sql`(${value} AT TIME ZONE ${literal(timezone)} AT TIME ZONE 'UTC')`;
}

function asTimeOf(value: Part, { type, timezone = "UTC" }: ResultColumn): Part {
  if (type === "date") return sql`(${value})::date`;
  const time = sql`(${value})::timestamp AT TIME ZONE 'UTC'`;
  return type === "timestamptz" ? sql`(${time})` : sql`(${time} AT TIME ZONE ${literal(timezone)})`;
}

/** Units of PostgreSQL's intervals, and how many of them a grain is. */
const UNITS: Readonly<Record<Grain, readonly [unit: Sql, number: number]>> = {
  microsecond: [sql`secs`, 1e-6],
  millisecond: [sql`secs`, 1e-3],
  second: [sql`secs`, 1],
  minute: [sql`mins`, 1],
  hour: [sql`hours`, 1],
  day: [sql`days`, 1],
  week: [sql`days`, 7],
  month: [sql`months`, 1],
  quarter: [sql`months`, 3],
  year: [sql`years`, 1],
};

function earlier(value: Part, { count, grain: unit }: Period, grain: Grain): Part {
  const [name, number] = UNITS[unit];
  const size = Number.isInteger(number) ? constant(count * number) : projectParts([String(count * number)]);
  const time = sql`(${value} - make_interval(${name} => ${size}))`;
  return isDayGrain(grain) && isDayGrain(unit) ? sql`${time}::date` : time;
}

function aggregate(
  { aggregation, percentile = 0.5, isDiscrete }: Leaf,
  value: Part | null,
  _column: ResultColumn | null,
  condition: Part | null,
): Part {
  const filter = condition === null ? EMPTY : sql` FILTER (WHERE ${condition})`;
  const of = value ?? sql`*`;
  switch (aggregation) {
    case "sum":
      return sql`sum(${of})${filter}`;
    case "count":
      return sql`count(${of})${filter}`;
    case "count_distinct":
      return sql`count(DISTINCT ${of})${filter}`;
    case "average":
      return sql`avg(${of})${filter}`;
    case "min":
      return sql`min(${of})${filter}`;
    case "max":
      return sql`max(${of})${filter}`;
    case "sum_boolean":
      return sql`sum(CASE WHEN ${of} THEN 1 ELSE 0 END)${filter}`;
    case "percentile": {
      const name = isDiscrete === true ? sql`percentile_disc` : sql`percentile_cont`;
      return sql`${name}(${projectParts([String(percentile)])}) WITHIN GROUP (ORDER BY ${of})${filter}`;
    }
  }
}

function ofTotals({ aggregation }: Leaf, total: Part, column: ResultColumn | null, over: Part): Part | null {
  switch (aggregation) {
    case "sum":
      return /^int[24]$/.test(column?.type ?? "")
        ? sql`(sum(${total})${over})::bigint`
        : sql`sum(${total})${over}`;
    case "count":
    case "sum_boolean":
      return sql`(sum(${total})${over})::bigint`;
    case "min":
      return sql`min(${total})${over}`;
    case "max":
      return sql`max(${total})${over}`;
    default:
      return null;
  }
}

/** No time lies between the bound, which is outside, and a microsecond after it. */
function windowFrame(time: Part, { count, grain: unit }: Period): Part {
  const [name, number] = UNITS[unit];
  const size = projectParts<Selection>([String(count * number)]);
  const preceding = sql`make_interval(${name} => ${size}) - interval '1 microsecond'`;
  return sql`ORDER BY ${time} RANGE BETWEEN ${preceding} PRECEDING AND CURRENT ROW`;
}

/** Full joins on equal groups; groups with a null meet when all are grouped once more. */
function combined(sources: readonly GroupedSource[], groups: number): Part {
  const [first, ...others] = sources.map(({ select }, i) => sql<Selection>`(${select}) AS ${table(i)}`);
  if (first === undefined) return sql`(SELECT) AS c`;
  if (others.length === 0) return sql`(${sources[0]?.select ?? EMPTY}) AS c`;
  const columns = sources.flatMap(({ columns: names }, i) => names.map((name) => ({ i, name })));
  if (groups === 0) {
    const list = columns.map(({ i, name }) => sql`${table(i)}.${identifier(name)}`);
    return sql`(SELECT ${join(list, ", ")} FROM ${join([first, ...others.map((other) => sql<Selection>`CROSS JOIN ${other}`)], " ")}) AS c`;
  }
  const joined = others.map((other, i) => {
    const on = Array.from({ length: groups }, (_, k) => sql`${key(i + 1, k)} = ${table(i + 1)}.${group(k)}`);
    return sql<Selection>`FULL JOIN ${other} ON ${join(on, " AND ")}`;
  });
  const keys = Array.from({ length: groups }, (_, k) => key(sources.length, k));
  const list = [
    ...keys.map((value, k) => sql`${value} AS ${group(k)}`),
    ...columns.map(({ i, name }) => sql`max(${table(i)}.${identifier(name)}) AS ${identifier(name)}`),
  ];
  return sql`(SELECT ${join(list, ", ")} FROM ${join([first, ...joined], " ")} GROUP BY ${join(keys, ", ")}) AS c`;
}

const table = (i: number): Sql => identifier(`u${String(i)}`);
const group = (k: number): Sql => identifier(`g${String(k)}`);

/** A group of the first tables. */
function key(tables: number, k: number): Sql {
  const columns = Array.from({ length: tables }, (_, i) => sql`${table(i)}.${group(k)}`);
  return tables === 1 ? join(columns, ", ") : sql`coalesce(${join(columns, ", ")})`;
}
