import {
  compareGrains,
  type DatePart,
  type Grain,
  isDayGrain,
  type Period,
} from "../core/model/aggregate/grains.js";
import type { Leaf } from "../core/model/aggregate/metric.js";
import type { Selection } from "../core/model/query.js";
import type {
  AggregateDialect,
  AggregatedRows,
  GroupedSource,
  NumberSign,
  Part,
} from "../core/warehouse/aggregate-dialect.js";
import {
  constant,
  EMPTY,
  escapedIdentifier,
  escapedLiteral,
  join,
  projectParts,
  sql,
  type Sql,
} from "../core/warehouse/sql.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { parseType } from "./filter-types.js";
import { where } from "./filters.js";
import { typeProof } from "./type-proof.js";

/** How ClickHouse writes the parts of a statement of groups. Nothing in it depends on a setting of the role. */
export const CLICKHOUSE_AGGREGATES: AggregateDialect = {
  identifier: escapedIdentifier,
  where: (condition, _position, columns) => where(condition, columns),
  typeProof,
  joined: (column) => ({ ...column, type: nullable(column.type) }),
  // Without `join_use_nulls` a row without a match has the default of its type, which is null of these.
  joinedValue: (value) => sql`toNullable(${value})`,
  canBeNull: ({ type }) => !WITHOUT_NULL.test(parseType(type).name),
  truncated,
  datePart: (value, part, column) => sql`toInt32(${DATE_PART[part]}(${truncated(value, "day", column)}))`,
  datePartColumn: { name: "part", type: "Nullable(Int32)" },
  periodColumn: (grain) => ({
    name: "period",
    type: isDayGrain(grain) ? "Nullable(Date32)" : "Nullable(DateTime64(6, 'UTC'))",
  }),
  comparedTime: (value) => value,
  asTimeOf,
  earlier,
  aggregate,
  ofTotals,
  asCount: (value) => sql`toUInt64(${value})`,
  windowFrame,
  eachNumber: (table, from, below, number) =>
    sql`${table} ARRAY JOIN range(toUInt64(${from}), ${below}) AS ${number}`,
  // In a tuple: `argMin` and `argMax` pass over nulls.
  atEnd: (end, value, order) =>
    end === "first"
      ? sql`tupleElement(argMin(tuple(${value}), ${order}), 1)`
      : sql`tupleElement(argMax(tuple(${value}), ${order}), 1)`,
  // A quotient of decimals has the digits of the first: 14.40 for 14.4051.
  operand: (value, divides) => (divides ? sql`toFloat64(${value})` : value),
  quotient: (numerator, denominator) => sql`(toFloat64(${numerator}) / nullIf(toFloat64(${denominator}), 0))`,
  combined,
  infix: (left, sign, right) => sql`(${left} ${SIGNS[sign]} ${right})`,
  equals: (left, right) => sql`${left} = ${right}`,
  isSame: (left, right) => sql`isNotDistinctFrom(${left}, ${right})`,
  difference,
  functionName: (name) => FUNCTIONS[name],
};

/** Of whole numbers in a type that holds each difference: that of two `UInt64` is an `Int64`. */
function difference(left: Part, right: Part, leaf: Leaf | null, column: ResultColumn | null): Part | null {
  const { aggregation = "average" } = leaf ?? {};
  if (!/^(?:sum|min|max)$/.test(aggregation)) return sql`(${left} - ${right})`;
  const { name } = parseType(column?.type ?? "");
  if (/^U?Int\d+$/.test(name)) {
    const wide = /(?:128|256)$/.test(name) ? sql`toInt256` : sql`toInt128`;
    return sql`(${wide}(${left}) - ${wide}(${right}))`;
  }
  return aggregation === "sum" || /^(?:Decimal|B?Float)/.test(name) ? sql`(${left} - ${right})` : null;
}

const SIGNS: Readonly<Record<NumberSign, Sql>> = {
  "=": sql`=`,
  "<>": sql`<>`,
  ">": sql`>`,
  ">=": sql`>=`,
  "+": sql`+`,
  "-": sql`-`,
};
const FUNCTIONS = {
  dense_rank: sql`dense_rank`,
  max: sql`max`,
  min: sql`min`,
  row_number: sql`row_number`,
  sum: sql`sum`,
};

/** Lists, maps and tuples; shapes are made of these. Of tuples versions before 26 have no null. */
const WITHOUT_NULL = /^(?:Array|Map|Tuple|Nested|Point|Ring|(?:Multi)?(?:LineString|Polygon))$/;

function nullable(type: string): string {
  if (parseType(type).isNullable) return type;
  const [, inner] = /^LowCardinality\((.*)\)$/s.exec(type) ?? [];
  return inner === undefined ? `Nullable(${type})` : `LowCardinality(Nullable(${inner}))`;
}

/** A `Date32`: the functions that begin a period make a `Date`, which has no years before 1970. */
function truncated(value: Part, grain: Grain, { type }: ResultColumn): Part {
  const { name } = parseType(type);
  const isTime = name === "DateTime" || name === "DateTime64";
  if (!isDayGrain(grain)) return instant(isTime ? value : sql`toDateTime64(${value}, 6, 'UTC')`, grain);
  const inUtc = isTime ? sql`toTimeZone(${value}, 'UTC')` : value;
  const day = sql`toDate32(${inUtc})`;
  const begin = BEGINS[grain];
  // Of these no first day of a period is before 1970; five million rows took 28 ms so, and 66 by the parts of a date.
  if (begin !== undefined && (name === "Date" || name === "DateTime"))
    return sql`toDate32(${begin}(${inUtc}))`;
  switch (grain) {
    case "week":
      return sql`subtractDays(${day}, toDayOfWeek(${day}) - 1)`;
    case "month":
      return sql`makeDate32(toYear(${day}), toMonth(${day}), 1)`;
    case "quarter":
      return sql`makeDate32(toYear(${day}), 3 * toQuarter(${day}) - 2, 1)`;
    case "year":
      return sql`makeDate32(toYear(${day}), 1, 1)`;
    default:
      return day;
  }
}

const DATE_PART: Readonly<Record<DatePart, Sql>> = {
  year: sql`toYear`,
  quarter: sql`toQuarter`,
  month: sql`toMonth`,
  day: sql`toDayOfMonth`,
  dow: sql`toDayOfWeek`,
  doy: sql`toDayOfYear`,
};

const BEGINS: Partial<Record<Grain, Sql>> = {
  month: sql`toStartOfMonth`,
  quarter: sql`toStartOfQuarter`,
  year: sql`toStartOfYear`,
};

/** Microseconds of a grain that is shorter than a day. */
const MICROSECONDS: Partial<Record<Grain, number>> = {
  microsecond: 1,
  millisecond: 1000,
  second: 1_000_000,
  minute: 60_000_000,
  hour: 3_600_000_000,
};

function instant(value: Part, grain: Grain): Part {
  const size = constant(MICROSECONDS[grain] ?? 1);
  const ticks = sql`toUnixTimestamp64Micro(toDateTime64(${value}, 6, 'UTC'))`;
  return sql`fromUnixTimestamp64Micro(${ticks} - positiveModulo(${ticks}, ${size}), 'UTC')`;
}

function asTimeOf(value: Part, { type }: ResultColumn): Part {
  const { name } = parseType(type);
  if (name === "Date" || name === "Date32") return sql`toDate32(${value})`;
  return sql`toDateTime64(${value}, 6, 'UTC')`;
}

const EARLIER: Readonly<Record<Grain, readonly [subtract: Sql, number: number]>> = {
  microsecond: [sql`subtractMicroseconds`, 1],
  millisecond: [sql`subtractMilliseconds`, 1],
  second: [sql`subtractSeconds`, 1],
  minute: [sql`subtractMinutes`, 1],
  hour: [sql`subtractHours`, 1],
  day: [sql`subtractDays`, 1],
  week: [sql`subtractDays`, 7],
  month: [sql`subtractMonths`, 1],
  quarter: [sql`subtractMonths`, 3],
  year: [sql`subtractYears`, 1],
};

function earlier(value: Part, { count, grain: unit }: Period, grain: Grain): Part {
  const [subtract, number] = EARLIER[unit];
  const time = isDayGrain(grain) && !isDayGrain(unit) ? sql`toDateTime64(${value}, 6, 'UTC')` : value;
  return sql`${subtract}(${time}, ${constant(count * number)})`;
}

/** Of a group, which has a row, `sum` and `avg` give null of nulls alone: 84 groups of 100,000 rows took 8.8 ms so, and 9.8 with `OrNull`. */
function aggregate(
  leaf: Leaf,
  value: Part | null,
  column: ResultColumn | null,
  { condition, isGroup }: AggregatedRows,
): Part {
  const { aggregation, percentile = 0.5, isDiscrete } = leaf;
  const hasRow = isGroup && condition === null;
  const filter = condition === null ? EMPTY : sql` FILTER (WHERE ${condition})`;
  const of = value ?? EMPTY;
  const total = leaf.totalsOf === undefined ? null : ofTotals(leaf, of, column, filter);
  if (total !== null) return total;
  switch (aggregation) {
    case "sum":
      return hasRow
        ? sql`toNullable(sum(${wide(of, column)}))`
        : sql`sumOrNull(${wide(of, column)})${filter}`;
    case "count":
      return value === null ? sql`count()${filter}` : sql`count(${of})${filter}`;
    case "count_distinct":
      return sql`uniqExact${leaf.totalsOf === undefined ? EMPTY : sql`Merge`}(${of})${filter}`;
    case "average":
      return hasRow
        ? sql`toNullable(avg(${wide(of, column)}))`
        : sql`avgOrNull(${wide(of, column)})${filter}`;
    case "min":
      return sql`minOrNull(${of})${filter}`;
    case "max":
      return sql`maxOrNull(${of})${filter}`;
    case "sum_boolean":
      return sql`sumOrNull(if(ifNull(${of}, 0), 1, 0))${filter}`;
    case "percentile":
      return percentileOf(of, percentile, isDiscrete === true, filter);
  }
}

function ofTotals(
  { aggregation, totalsOf }: Leaf,
  total: Part,
  column: ResultColumn | null,
  over: Part,
): Part | null {
  const sum = sql<Selection>`sumOrNull(${wide(total, column)})${over}`;
  switch (aggregation) {
    case "sum":
      return totalsOf === undefined ? sum : sql`CAST(${sum}, ${escapedLiteral(sumType(totalsOf))})`;
    case "count":
      return sql`sum(${total})${over}`;
    case "sum_boolean":
      return sql`sumOrNull(${total})${over}`;
    case "min":
      return sql`minOrNull(${total})${over}`;
    case "max":
      return sql`maxOrNull(${total})${over}`;
    default:
      return null;
  }
}

const DAY = 86_400_000_000;

/** Microseconds of a day and of longer grains, which are months of 31 days. */
const LONG_GRAINS: Partial<Record<Grain, number>> = {
  day: DAY,
  week: 7 * DAY,
  month: 31 * DAY,
  quarter: 93 * DAY,
  year: 372 * DAY,
};

/** A frame is bounded by a number of 32 bits only: of grains up to days, for months on a calendar whose months have 31 days. */
function windowFrame(time: Part, { count, grain: unit }: Period, grain: Grain): Part | null {
  const tick = MICROSECONDS[grain] ?? DAY;
  const preceding = Math.ceil((count * (LONG_GRAINS[unit] ?? MICROSECONDS[unit] ?? 1)) / tick) - 1;
  if (preceding > 0x7fff_ffff) return null;
  const ticks = (of: Part): Part => sql`intDiv(${of}, ${constant(tick)})`;
  const instants = sql<Selection>`toUnixTimestamp64Micro(toDateTime64(${time}, 6, 'UTC'))`;
  const days = sql<Selection>`((toYear(${time}) * 12 + toMonth(${time})) * 31 + toDayOfMonth(${time}))`;
  const order =
    compareGrains(unit, "week") > 0
      ? sql<Selection>`${days} * ${constant(DAY / tick)} + ${ticks(sql`positiveModulo(${instants}, ${constant(DAY)})`)}`
      : ticks(instants);
  return sql`ORDER BY ${order} RANGE BETWEEN ${constant(preceding)} PRECEDING AND CURRENT ROW`;
}

/**
 * Sums of 64 bits and of 38 digits wrap, and with them averages: these have room for all rows. ClickHouse itself adds up to 18 digits in 38: five million rows
 * took 32 ms so, and 47 in 76 digits.
 */
function wide(value: Part, column: ResultColumn | null): Part {
  const { name, arguments: sizes } = parseType(column?.type ?? "");
  if (/^U?Int64$/.test(name)) return sql`toInt128(${value})`;
  if (/^U?Int(128|256)$/.test(name)) return sql`toInt256(${value})`;
  const [digits, scale] = sizes.map(Number);
  return name === "Decimal" && (digits ?? 0) > 18
    ? sql`toDecimal256(${value}, ${constant(scale ?? 0)})`
    : value;
}

/** The type of a sum of values of a type. */
function sumType(type: string): string {
  const { name, arguments: sizes } = parseType(type);
  const [digits, scale] = sizes.map(Number);
  if (name === "Decimal") return `Nullable(Decimal(${(digits ?? 0) > 18 ? "76" : "38"}, ${String(scale)}))`;
  const [, unsigned = "", bits = ""] = /^(U?)Int(\d+)$/.exec(name) ?? [];
  if (Number(bits) < 64) return `Nullable(${unsigned}Int64)`;
  return `Nullable(${bits === "64" ? "Int128" : "Int256"})`;
}

/** Between two values as PostgreSQL's `percentile_cont`; or the first value at or above, as `percentile_disc`. */
function percentileOf(value: Part, p: number, isDiscrete: boolean, filter: Part): Part {
  const position = projectParts<Selection>([String(p)]);
  if (!isDiscrete) return sql`quantileExactInclusiveOrNull(${position})(toFloat64(${value}))${filter}`;
  const sorted = sql`arraySort(groupArray(${value})${filter})`;
  return sql`if(count(${value})${filter} = 0, NULL, arrayElement(${sorted}, greatest(1, toUInt64(ceil(${position} * (count(${value})${filter}))))))`;
}

/** Rows of all sources under each other, then one for each group: nulls in groups meet. */
function combined(sources: readonly GroupedSource[], groups: ResultColumns): Part {
  if (sources.length === 0) return sql`(SELECT 1)`;
  const columns = sources.flatMap(({ columns: names }, i) => names.map((name) => ({ i, name })));
  const keys = groups.map(({ name }) => escapedIdentifier(name));
  const parts = sources.map(({ select }, source) => {
    const list = [
      ...keys.map((key) => sql<Selection>`u.${key} AS ${key}`),
      ...columns.map(({ i, name }) =>
        i === source
          ? sql<Selection>`toNullable(u.${escapedIdentifier(name)}) AS ${escapedIdentifier(name)}`
          : sql<Selection>`NULL AS ${escapedIdentifier(name)}`,
      ),
    ];
    return sql<Selection>`SELECT ${join(list, ", ")} FROM (${select}) AS u`;
  });
  const list = [
    ...keys.map((key) => sql<Selection>`w.${key} AS ${key}`),
    ...columns.map(
      ({ name }) => sql<Selection>`max(w.${escapedIdentifier(name)}) AS ${escapedIdentifier(name)}`,
    ),
  ];
  const by =
    keys.length === 0
      ? EMPTY
      : sql` GROUP BY ${join(
          keys.map((key) => sql`w.${key}`),
          ", ",
        )}`;
  return sql`(SELECT ${join(list, ", ")} FROM (${join(parts, " UNION ALL ")}) AS w${by})`;
}
