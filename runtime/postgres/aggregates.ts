import { type Grain, isDayGrain, type Period } from "../core/model/aggregate/grains.js";
import type { Leaf } from "../core/model/aggregate/metric.js";
import type { Selection } from "../core/model/query.js";
import type {
  AggregateDialect,
  AggregatedRows,
  GroupedSource,
  Part,
} from "../core/warehouse/aggregate-dialect.js";
import {
  constant,
  EMPTY,
  identifier,
  join,
  literal,
  projectParts,
  sql,
  type Sql,
} from "../core/warehouse/sql.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { where } from "./filters.js";
import { inUtc } from "./texts.js";
import { aggregateName, compared, infix } from "./qualified-names.js";

/** How PostgreSQL writes the parts of a statement of groups. */
export const POSTGRES_AGGREGATES: AggregateDialect = {
  identifier,
  where,
  joined: (column) => column,
  joinedValue: (value) => value,
  canBeNull: () => true,
  truncated,
  datePart: (value, part, column) =>
    sql`(pg_catalog.date_part(${literal(part === "dow" ? "isodow" : part)}, ${truncated(value, "day", column)}))::pg_catalog.int4`,
  datePartColumn: { name: "part", type: "int4" },
  periodColumn: (grain) => ({ name: "period", type: isDayGrain(grain) ? "date" : "timestamp" }),
  comparedTime: (value, grain) => (isDayGrain(grain) ? sql`(${value})::pg_catalog.timestamp` : value),
  asTimeOf,
  earlier,
  aggregate,
  ofTotals,
  asCount: (value) => sql`(${value})::pg_catalog.int8`,
  infix,
  equals: (left, right, columns) => compared(left, "=", right, sharedType(columns)),
  // Arrays have null equal to null, and are joined by their hash: `IS NOT DISTINCT FROM` compares each pair of rows.
  // An array that is null is the same as an empty one within another.
  isSame: (left, right) =>
    sql`(${infix(sql`ARRAY[${left}]`, "=", sql`ARRAY[${right}]`)} AND ${infix(sql`(${left} IS NULL)`, "=", sql`(${right} IS NULL)`)})`,
  difference: (left, right, leaf, column) =>
    isNumber(leaf, column) ? infix(sql`(${left})`, "-", sql`(${right})`) : null,
  functionName: (name) => identifier("pg_catalog", name),
  windowFrame,
  eachNumber: (table, from, below, number) =>
    sql`(SELECT s.*, pg_catalog.generate_series(${from}, ${infix(below, "-", sql`1`)}) AS ${number} FROM ${table}) AS s`,
  atEnd: (end, value, order) =>
    end === "first"
      ? sql`(pg_catalog.array_agg(${value} ORDER BY ${order}))[1]`
      : sql`(pg_catalog.array_agg(${value} ORDER BY ${order} DESC))[1]`,
  operand: (value) => value,
  quotient,
  combined,
};

/** A type of two columns that has its own operators; of two types PostgreSQL finds one of its own operators. */
function sharedType([left, right]: readonly [ResultColumn, ResultColumn]): Partial<ResultColumn> {
  return left.type === right.type && left.typeSchema === right.typeSchema ? left : {};
}

/** Whether a result is one: the least and the greatest of texts or times are not. */
function isNumber(leaf: Leaf | null, column: ResultColumn | null): boolean {
  const { aggregation } = leaf ?? {};
  if (aggregation !== "min" && aggregation !== "max") return true;
  return /^(?:int[248]|numeric|float[48]|money)$/.test(column?.type ?? "");
}

function quotient(numerator: Part, denominator: Part): Part {
  const divisor = sql`(${denominator})::pg_catalog.float8`;
  const value = infix(sql`(${numerator})::pg_catalog.float8`, "/", divisor);
  return sql`(CASE WHEN ${infix(divisor, "<>", sql`0`)} THEN ${value} END)`;
}

/** In UTC, whatever the zone of the session: `date_trunc` of a date or a `timestamptz` depends on it. */
function truncated(value: Part, grain: Grain, column: ResultColumn): Part {
  if (column.type === "date" && grain === "day") return value;
  const time = sql`pg_catalog.date_trunc(${literal(grain)}, ${inUtc(value, column)})`;
  return isDayGrain(grain) ? sql`(${time})::pg_catalog.date` : time;
}

function asTimeOf(value: Part, { type, timezone = "UTC" }: ResultColumn): Part {
  if (type === "date") return sql`(${value})::pg_catalog.date`;
  const time = sql`(${value})::pg_catalog.timestamp AT TIME ZONE 'UTC'`;
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
  const time = infix(value, "-", sql`pg_catalog.make_interval(${name} => ${size})`);
  return isDayGrain(grain) && isDayGrain(unit) ? sql`${time}::pg_catalog.date` : time;
}

function aggregate(
  leaf: Leaf,
  value: Part | null,
  column: ResultColumn | null,
  { condition }: AggregatedRows,
): Part {
  const { aggregation, percentile = 0.5, isDiscrete } = leaf;
  const filter = condition === null ? EMPTY : sql` FILTER (WHERE ${condition})`;
  const of = value ?? sql`*`;
  const total = leaf.totalsOf === undefined ? null : ofTotals(leaf, of, column, filter);
  // Of no rows the count is 0.
  if (total !== null) return aggregation === "count" ? sql`coalesce(${total}, 0)` : total;
  switch (aggregation) {
    case "sum":
    case "min":
    case "max":
      return sql`${aggregateName(aggregation, column)}(${of})${filter}`;
    case "average":
      return sql`${aggregateName("avg", column)}(${of})${filter}`;
    case "count":
      return sql`pg_catalog.count(${of})${filter}`;
    case "count_distinct":
      return sql`pg_catalog.count(DISTINCT ${of})${filter}`;
    case "sum_boolean":
      return sql`pg_catalog.sum(CASE WHEN ${of} THEN 1 ELSE 0 END)${filter}`;
    case "percentile": {
      const name = isDiscrete === true ? sql`pg_catalog.percentile_disc` : sql`pg_catalog.percentile_cont`;
      return sql`${name}(${projectParts([String(percentile)])}) WITHIN GROUP (ORDER BY ${of})${filter}`;
    }
  }
}

function ofTotals(
  { aggregation, totalsOf }: Leaf,
  total: Part,
  column: ResultColumn | null,
  over: Part,
): Part | null {
  switch (aggregation) {
    case "sum":
      return /^int[24]$/.test(totalsOf ?? column?.type ?? "")
        ? sql`(pg_catalog.sum(${total})${over})::pg_catalog.int8`
        : sql`${aggregateName("sum", column)}(${total})${over}`;
    case "count":
    case "sum_boolean":
      return sql`(pg_catalog.sum(${total})${over})::pg_catalog.int8`;
    case "min":
    case "max":
      return sql`${aggregateName(aggregation, column)}(${total})${over}`;
    default:
      return null;
  }
}

/** No time lies between the bound, which is outside, and a microsecond after it. */
function windowFrame(time: Part, { count, grain: unit }: Period): Part {
  const [name, number] = UNITS[unit];
  const size = projectParts<Selection>([String(count * number)]);
  const microsecond = sql`'00:00:00.000001'::pg_catalog.interval`;
  const preceding = infix(sql`pg_catalog.make_interval(${name} => ${size})`, "-", microsecond);
  return sql`ORDER BY ${time} RANGE BETWEEN ${preceding} PRECEDING AND CURRENT ROW`;
}

/** Full joins on equal groups; groups with a null meet when all are grouped once more. */
function combined(sources: readonly GroupedSource[], groups: ResultColumns): Part {
  const [first, ...others] = sources.map(({ select }, i) => sql<Selection>`(${select}) AS ${table(i)}`);
  if (first === undefined) return sql`(SELECT)`;
  const columns = sources.flatMap(({ columns: names }, i) => names.map((name) => ({ i, name })));
  if (groups.length === 0) {
    const list = columns.map(({ i, name }) => sql`${table(i)}.${identifier(name)}`);
    return sql`(SELECT ${join(list, ", ")} FROM ${join([first, ...others.map((other) => sql<Selection>`CROSS JOIN ${other}`)], " ")})`;
  }
  const joined = others.map((other, i) => {
    const on = groups.map((column) =>
      compared<Selection>(key(i + 1, column), "=", sql`${table(i + 1)}.${identifier(column.name)}`, column),
    );
    return sql<Selection>`FULL JOIN ${other} ON ${join(on, " AND ")}`;
  });
  const keys = groups.map((column) => key(sources.length, column));
  const list = [
    ...keys.map((value, k) => sql`${value} AS ${identifier(groups[k]?.name ?? "")}`),
    ...columns.map(
      ({ i, name }) => sql`pg_catalog.max(${table(i)}.${identifier(name)}) AS ${identifier(name)}`,
    ),
  ];
  return sql`(SELECT ${join(list, ", ")} FROM ${join([first, ...joined], " ")} GROUP BY ${join(keys, ", ")})`;
}

const table = (i: number): Sql => identifier(`u${String(i)}`);

/** A group of the first tables. */
function key(tables: number, { name }: ResultColumn): Sql {
  const columns = Array.from({ length: tables }, (_, i) => sql`${table(i)}.${identifier(name)}`);
  return tables === 1 ? join(columns, ", ") : sql`coalesce(${join(columns, ", ")})`;
}
