import type { CatalogueColumn, CatalogueEndpoint } from "../catalogue-body.js";
import { ExactNumber, type ShownRow, textOf } from "./values.js";
import type { ChartState } from "./state.js";

/** Maximum number of series; with more, only the largest are drawn. */
export const MAX_SERIES = 8;

/** Values of a column that charts may be split by. */
const MAX_SPLIT = 50;

/** Columns that a chart may use, the best first. */
export interface ChartChoices {
  readonly times: readonly string[];
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
}

interface AnsweredColumns extends Pick<CatalogueEndpoint, "resource"> {
  readonly columns: readonly Pick<CatalogueColumn, "name" | "type">[];
}

/** As the y axis: a series for each number. */
export const EVERY = "*";

type ChartKind = "time" | "number" | "text" | "other";

export function choicesOf({ columns, resource }: AnsweredColumns, rows: readonly ShownRow[]): ChartChoices {
  const kinds = columns.map(({ name, type }) => [name, kindOf(type, rows, name)] as const);
  const of = (kind: ChartKind): string[] => kinds.filter(([, each]) => each === kind).map(([name]) => name);
  const all = of("number");
  // Without a time and a text a number that names the rows, such as a rank, is the axis.
  const axis =
    of("time").length + of("text").length > 0 || all.length < 2 ? undefined : all.find(isUnique(rows));
  const numbers = all.filter((name) => name !== axis);
  const subject = resource.split("_");
  // Identifiers come last, columns that the endpoint is named for first.
  const ranks = new Map(
    numbers.map((name) => [
      name,
      isIdentifier(name, rows) ? 1 : -name.split("_").filter((word) => subject.includes(word)).length,
    ]),
  );
  const rank = (name: string): number => ranks.get(name) ?? 0;
  return {
    // A column of one value, such as the day of the data, shows nothing along an axis.
    times: [...of("time")].sort((a, b) => single(a, rows) - single(b, rows)),
    texts: axis === undefined ? of("text") : [axis],
    numbers: numbers.sort((a, b) => rank(a) - rank(b)),
  };
}

/** By the declared type; by the first value where the model declares none. */
function kindOf(type: string | null, rows: readonly ShownRow[], name: string): ChartKind {
  if (type === null) {
    const value = rows.find((row) => row[name] !== null)?.[name];
    if (typeof value === "number" || value instanceof ExactNumber) return "number";
    return typeof value !== "string" ? "other" : /^\d{4}-\d\d-\d\d/.test(value) ? "time" : "text";
  }
  if (/\[\]|^(array|map|tuple|json)/i.test(type)) return "other";
  if (/date|time/i.test(type)) return "time";
  if (/int|float|double|decimal|numeric|real|money/i.test(type)) return "number";
  return "text";
}

function single(name: string, rows: readonly ShownRow[]): number {
  return rows.length > 1 && distinct(name, rows) < 2 ? 1 : 0;
}

function distinct(name: string, rows: readonly ShownRow[]): number {
  return new Set(rows.map((row) => textOf(row[name] ?? null))).size;
}

function isUnique(rows: readonly ShownRow[]): (name: string) => boolean {
  return (name) => rows.length > 1 && distinct(name, rows) === rows.length;
}

const TOTAL = /^(all|total|totals|overall|sum|any)$/i;

/** The rows without those that are totals of others, such as `All` beside its parts, and the names of these. */
export function withoutTotals(
  { texts }: ChartChoices,
  rows: readonly ShownRow[],
): { readonly parts: readonly ShownRow[]; readonly totals: readonly string[] } {
  const totals = new Set<string>();
  let parts = rows;
  for (const name of texts) {
    const isTotal = (row: ShownRow): boolean => TOTAL.test(textOf(row[name] ?? null));
    // One part beside a total is not its only one.
    if (distinct(name, parts) < 3) continue;
    for (const row of parts) if (isTotal(row)) totals.add(textOf(row[name] ?? null));
    parts = parts.filter((row) => !isTotal(row));
  }
  return { parts, totals: [...totals] };
}

/** Numbers that name something: their sums and curves mean nothing. */
export function isIdentifier(name: string, rows: readonly ShownRow[]): boolean {
  if (/(^|_)(id|ids|key|code|index|rank|order|number|nonce|year|hash)$/i.test(name)) return true;
  const values = rows.map((row) => Number(row[name] ?? NaN));
  if (values.length < 10 || !values.every(Number.isInteger)) return false;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.every((value, i) => i === 0 || value - (sorted[i - 1] ?? 0) === 1);
}

/** What is drawn: the state's choices where they exist, else the best ones. */
export interface ChartPlan {
  readonly x: string;
  readonly y: string;
  /** The numbers of groups, where each may have a line of its own; null where they are drawn one at a time. */
  readonly every: readonly string[] | null;
  readonly series: string | null;
  readonly splits: readonly string[];
  readonly isTime: boolean;
  readonly kind: "line" | "bar";
  readonly aggregate: "sum" | "average";
  /** Whether rows share a point, so that `aggregate` matters. */
  readonly isAggregated: boolean;
}

export function planOf(
  choices: ChartChoices,
  rows: readonly ShownRow[],
  state: ChartState,
  isGrouped = false,
): ChartPlan | null {
  const { times, texts, numbers } = choices;
  const varied = [...times, ...texts].sort((a, b) => single(a, rows) - single(b, rows));
  const x = varied.find((name) => name === state.x) ?? varied[0];
  const first = numbers.find((name) => name === state.y) ?? numbers[0];
  if (x === undefined || first === undefined || rows.length === 0) return null;
  const splits = texts.filter(
    (name) => name !== x && distinct(name, rows) > 1 && distinct(name, rows) <= MAX_SPLIT,
  );
  const isEvery = isGrouped && numbers.length > 1 && (splits.length === 0 || state.series === "-");
  const y = isEvery && (state.y === "" || state.y === EVERY) ? EVERY : first;
  const series = splitOf(splits, rows, x, state.series);
  const isTime = times.includes(x);
  return {
    x,
    y,
    every: isEvery ? numbers : null,
    series,
    splits,
    isTime,
    // One point is no line.
    kind: isTime && distinct(x, rows) > 1 ? "line" : "bar",
    aggregate: AVERAGED.test(y) ? "average" : "sum",
    isAggregated: hasDuplicates(rows, series === null ? [x] : [x, series]),
  };
}

/** Shares, prices and averages do not add up. */
const AVERAGED = /pct|percent|share|ratio|rate|avg|average|mean|median|price|apy|apr|_per_/i;

/** By default a column of few values, where rows share an x: best one that tells them apart. */
function splitOf(
  splits: readonly string[],
  rows: readonly ShownRow[],
  x: string,
  wanted: string,
): string | null {
  if (wanted === "-") return null;
  if (splits.includes(wanted)) return wanted;
  if (!hasDuplicates(rows, [x])) return null;
  const few = splits.filter((name) => distinct(name, rows) <= MAX_SERIES + 1);
  return few.find((name) => !hasDuplicates(rows, [x, name])) ?? few[0] ?? null;
}

function hasDuplicates(rows: readonly ShownRow[], names: readonly string[]): boolean {
  const points = rows.map((row) => JSON.stringify(names.map((name) => textOf(row[name] ?? null))));
  return new Set(points).size < points.length;
}

export interface Pivoted {
  readonly isTime: boolean;
  /** Unix seconds, or positions. */
  readonly x: readonly number[];
  readonly labels: readonly string[];
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
  /** Series beyond `MAX_SERIES`. */
  readonly leftOut: number;
}

/** Converts rows to one list of values per series. */
export function pivot(rows: readonly ShownRow[], plan: ChartPlan): Pivoted {
  const { x, y, every, series, isTime } = plan;
  const present = rows.filter((row) => row[x] !== null && row[x] !== undefined);
  const keys = [...new Set(present.map((row) => textOf(row[x])))];
  if (isTime) keys.sort((a, b) => Date.parse(a) - Date.parse(b));
  const at = new Map(keys.map((key, i) => [key, i]));
  const points = new Map<string, number[][]>();
  for (const row of present) {
    const split = series === null ? null : row[series] === null ? "(none)" : textOf(row[series]);
    for (const number of y === EVERY ? (every ?? []) : [y]) {
      const name = split ?? number;
      const line = points.get(name) ?? keys.map(() => []);
      points.set(name, line);
      const value = row[number];
      if (value !== null && value !== undefined) line[at.get(textOf(row[x])) ?? 0]?.push(Number(value));
    }
  }
  const lines = [...points].map(([name, groups]) => ({
    name,
    values: groups.map((group) => aggregated(group, plan.aggregate)),
  }));
  lines.sort((a, b) => magnitude(b.values) - magnitude(a.values));
  return {
    isTime,
    x: isTime ? keys.map((key) => Date.parse(key) / 1000) : keys.map((_, i) => i),
    labels: keys,
    lines: lines.slice(0, MAX_SERIES),
    leftOut: Math.max(0, lines.length - MAX_SERIES),
  };
}

function aggregated(values: readonly number[], aggregate: ChartPlan["aggregate"]): number | null {
  const sum = values.reduce((total, value) => total + value, 0);
  if (values.length === 0) return null;
  return aggregate === "average" ? sum / values.length : sum;
}

function magnitude(values: readonly (number | null)[]): number {
  return values.reduce<number>((sum, value) => sum + Math.abs(value ?? 0), 0);
}
