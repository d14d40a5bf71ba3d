import {
  axisRank,
  categoriesOf,
  type ChartTable,
  distinct,
  hasDuplicates,
  isApart,
  measuresOf,
  namesOf,
  type ColumnRole,
  rolesOf,
  splitRank,
  timesOf,
  togetherWith,
} from "./chart-columns.js";
import { figuresOf, type FiguresPlan } from "./chart-figures.js";
import { grainOf, type AxisPeriod } from "./chart-time.js";
import { type ShownRow, textOf } from "./values.js";

/** Columns of a chart; empty: chosen by type. */
export interface ChartState {
  readonly x: string;
  readonly y: string;
  /** A column with one series per value; `-`: none. */
  readonly series: string;
  /** The value that is drawn where rows of several must not be added up. */
  readonly only: string;
}

interface TotalRows {
  readonly column: string;
  readonly values: readonly string[];
}

/** A chart with axes. */
export interface AxisPlan {
  readonly kind: "line" | "bar";
  readonly x: string;
  /** `ordered`: positions such as an age or a bucket, whose order says something. */
  readonly xKind: "time" | "ordered" | "category";
  /** Periods that instants are put together by. */
  readonly grain: AxisPeriod | null;
  /** Names of the numbers that are drawn, one series each. */
  readonly measures: readonly string[];
  /** A column with one series per value. */
  readonly series: string | null;
  /** How values of a point, and series of one picture, are put together. `none`: measures of groups are not. */
  readonly aggregate: "sum" | "average" | "none";
  /** Whether rows share a point, so that `aggregate` matters. */
  readonly isAggregated: boolean;
  /** A column of which one value is drawn: rows of others have another unit, or hold these. */
  readonly only: {
    readonly column: string;
    readonly value: string;
    readonly values: readonly string[];
  } | null;
  /** Values by column whose rows are left out: they are totals of the others. */
  readonly totals: readonly TotalRows[];
  readonly rows: readonly ShownRow[];
  /** What else may be chosen. */
  readonly choices: {
    readonly x: readonly string[];
    readonly y: readonly string[];
    readonly series: readonly string[];
  };
}

export type ChartPlan = AxisPlan | FiguresPlan;

/** The chart of a newly opened table. */
export const NO_CHOICE: ChartState = { x: "", y: "", series: "", only: "" };

/** As the measure: one series for each that is drawn together, or for each measure of groups. */
export const EVERY = "*";

/** Shares, prices and averages do not add up. */
const AVERAGED =
  /pct|percent|share|ratio|rate|avg|average|mean|median|price|apy|apr|_per_|(^|_)[qp]\d\d?(_|$)/i;

/** The chart that says most of a table; what `state` chooses comes first. Null where there is nothing to draw. */
export function chooseChart(table: ChartTable, state: ChartState, isGrouped = false): ChartPlan | null {
  const roles = rolesOf(table);
  if (table.rows.length === 1) return figuresOf(table, roles);
  // A group called "Total" holds no others.
  const { parts, totals } = isGrouped
    ? { parts: table.rows, totals: [] }
    : withoutTotals(namesOf(roles, "category"), table.rows);
  const x = axisOf(roles, parts, state.x);
  const measures = measuresOf({ ...table, rows: parts }, roles).filter((name) => name !== x.name);
  if (x.name === null || measures.length === 0) return null;
  const only = onlyOf(roles, x.name, parts, state);
  const rows = only === null ? parts : parts.filter((row) => textOf(row[only.column] ?? null) === only.value);
  const splits = categoriesOf(roles, x.name, rows).filter((name) => name !== only?.column);
  const grain = roles.get(x.name) === "time" ? grainOf(x.name, rows) : null;
  const series = seriesOf(splits, rows, x.name, grain !== null, state.series);
  const drawn = drawnMeasures(
    { ...table, rows },
    measures.filter((name) => !splits.includes(name)),
    {
      state,
      isGrouped,
      isSplit: series !== null,
    },
  );
  const isTime = roles.get(x.name) === "time";
  return {
    ...{
      kind: isTime && distinct(x.name, rows) > 1 ? "line" : "bar",
      x: x.name,
      grain,
      series,
      only,
      totals,
      rows,
    },
    xKind: isTime ? "time" : isOrdered(x.name, roles, rows) ? "ordered" : "category",
    measures: drawn,
    aggregate: isGrouped ? "none" : drawn.some((name) => AVERAGED.test(name)) ? "average" : "sum",
    isAggregated: grain !== null || hasDuplicates(rows, series === null ? [x.name] : [x.name, series]),
    choices: { x: x.all, y: measures, series: splits },
  };
}

/** Times first, then what names the rows best, then a number that orders them. */
function axisOf(roles: ReadonlyMap<string, ColumnRole>, rows: readonly ShownRow[], wanted: string) {
  const times = timesOf(roles, rows);
  const texts = namesOf(roles, "category")
    .filter((name) => distinct(name, rows) > 1)
    .sort((a, b) => axisRank(b, rows) - axisRank(a, rows) || distinct(b, rows) - distinct(a, rows));
  const places = namesOf(roles, "place").filter((name) => distinct(name, rows) > 1);
  const all = [...times, ...texts, ...places];
  return { all, name: all.find((name) => name === wanted) ?? all[0] ?? null };
}

/** Of values that must not be added up one is drawn: dollars where there are, else the first. */
function onlyOf(
  roles: ReadonlyMap<string, ColumnRole>,
  x: string,
  rows: readonly ShownRow[],
  state: ChartState,
): AxisPlan["only"] {
  const column = namesOf(roles, "category").find(
    (name) => name !== x && name !== state.series && isApart(name) && distinct(name, rows) > 1,
  );
  if (column === undefined) return null;
  const values = [...new Set(rows.map((row) => textOf(row[column] ?? null)))];
  const value =
    values.find((each) => each === state.only) ??
    values.find((each) => /^usd$/i.test(each)) ??
    values[0] ??
    "";
  return { column, value, values };
}

/** By default the best category, where rows share an x. */
function seriesOf(
  splits: readonly string[],
  rows: readonly ShownRow[],
  x: string,
  isBinned: boolean,
  wanted: string,
): string | null {
  if (wanted === "-") return null;
  if (splits.includes(wanted)) return wanted;
  if (!isBinned && !hasDuplicates(rows, [x])) return null;
  const ranked = splits
    .map((name) => [name, splitRank(name, x, rows)] as const)
    .filter(([, rank]) => rank > 0)
    .sort(([, a], [, b]) => b - a);
  return ranked[0]?.[0] ?? null;
}

function drawnMeasures(
  table: ChartTable,
  measures: readonly string[],
  how: { readonly state: ChartState; readonly isGrouped: boolean; readonly isSplit: boolean },
): readonly string[] {
  const { state, isGrouped, isSplit } = how;
  const chosen = measures.find((name) => name === state.y);
  if (chosen !== undefined) return [chosen];
  const [first = ""] = measures;
  if (isSplit) return [first];
  if (!isGrouped && state.y !== EVERY) return togetherWith(measures, table);
  const best = measures.slice(0, 8);
  return table.columns.map(({ name }) => name).filter((name) => best.includes(name));
}

/** Whether a row is the total of others by a column. */
export function isTotal(row: ShownRow, name: string): boolean {
  return TOTAL.test(textOf(row[name] ?? null));
}

const TOTAL = /^(all|total|totals|overall|sum|any)$/i;

/** The rows without those that are totals of others, such as `All` beside its parts, and the values of these. */
function withoutTotals(categories: readonly string[], rows: readonly ShownRow[]) {
  const totals: TotalRows[] = [];
  let parts = rows;
  for (const name of categories) {
    // One part beside a total is not its only one.
    if (distinct(name, parts) < 3) continue;
    const whole = parts.filter((row) => isTotal(row, name));
    if (whole.length === 0) continue;
    totals.push({ column: name, values: [...new Set(whole.map((row) => textOf(row[name] ?? null)))] });
    parts = parts.filter((row) => !isTotal(row, name));
  }
  return { parts, totals };
}

const ORDERED = /(^|_)(bucket|bin|range|window|band|age|tier|level|size|timeframe)$/i;

/** Whether the order of the rows says something: positions, buckets, and texts that begin with numbers. */
function isOrdered(name: string, roles: ReadonlyMap<string, ColumnRole>, rows: readonly ShownRow[]): boolean {
  return (
    roles.get(name) === "place" ||
    ORDERED.test(name) ||
    [...roles.keys()].some((each) => each === `${name}_order`) ||
    rows.every(
      (row) => /^[<>≤≥]?\s*\d/.test(textOf(row[name] ?? null)) && !/^0x/.test(textOf(row[name] ?? null)),
    )
  );
}
