import type { CatalogueColumn } from "../catalogue-body.js";
import { ExactNumber, isIdentifier, isNumberType, type ShownRow, textOf } from "./values.js";

export type ChartColumn = Pick<CatalogueColumn, "name" | "type" | "description">;

/** A table that a chart is chosen for. */
export interface ChartTable {
  /** The endpoint's own noun: a column of the same words is its subject. */
  readonly resource: string;
  readonly columns: readonly ChartColumn[];
  readonly rows: readonly ShownRow[];
}

/**
 * What a column is in a chart. `time`: the horizontal axis. `measure`: a number that is drawn. `place`: a number that
 * orders or counts steps, such as a rank, an age or hops: an axis, never what is measured. `category`: what tells rows apart.
 * `none`: identifiers, coordinates, lists.
 */
export type ColumnRole = "time" | "measure" | "place" | "category" | "none";

/** Longest list of different values that tells rows apart in a legend. */
const MAX_CATEGORIES = 50;

const PLACE =
  /(^|_)(rank|order|index|position|hops?|hop_count|depth|level|epoch|block|slot|threshold|tick|decimals|age|hour|weekday|dow|day|week|month|quarter|year|minute|bucket|bin|percentile|version|step|number|seq|sequence|round)(_of_(day|week|month|year))?$/i;
const STATISTIC = /(^|_)(avg|average|mean|median|sum|total|min|max|std|p\d\d|q\d\d)(_|$)/i;
const COORDINATE = /(^|_)(lat|lon|lng|latitude|longitude)$/i;
const FLAG = /^(is|has|was|can)_/i;
const IDENTIFIER_TEXT = /(^|_)(id|uuid|hash|address|wallet|digest|key|prefix|url)$/i;
const IDENTIFIER_WORDS = /\b(identifier|unique id|primary key|foreign key)\b/i;
const ISO = /^\d{4}-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?$/;

/** The roles of the columns, by type, name, description and values. */
export function rolesOf({ columns, rows }: ChartTable): ReadonlyMap<string, ColumnRole> {
  return new Map(columns.map((column) => [column.name, roleOf(column, rows)]));
}

function roleOf({ name, type, description }: ChartColumn, rows: readonly ShownRow[]): ColumnRole {
  const kind = kindOf(type, name, rows);
  if (kind !== "number") return kind;
  if (/^year$/i.test(name)) return "time";
  if (FLAG.test(name)) return "category";
  if (COORDINATE.test(name) || IDENTIFIER_WORDS.test(description)) return "none";
  if (PLACE.test(name) && !STATISTIC.test(name)) return "place";
  if (/(^|_)(ids?|key|code|hash|nonce)$/i.test(name)) return "none";
  return "measure";
}

/** By the declared type; by the values where the model declares none, and of texts that are dates. */
function kindOf(
  type: string | null,
  name: string,
  rows: readonly ShownRow[],
): Exclude<ColumnRole, "place"> | "number" {
  if (type !== null && /\[\]|^(array|map|tuple|json)/i.test(type)) return "none";
  if (type !== null && /date|time(?!delta)/i.test(type) && !/^interval/i.test(type)) return "time";
  if (isNumberType(type)) return "number";
  if (type !== null && /bool/i.test(type)) return "category";
  const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
  const [first] = values;
  if (typeof first === "number" || first instanceof ExactNumber) return "number";
  if (typeof first === "object") return "none";
  return first !== undefined && values.every((value) => typeof value === "string" && ISO.test(value))
    ? "time"
    : "category";
}

/** Texts of values that are different; null is one of them. */
export function distinct(name: string, rows: readonly ShownRow[]): number {
  return new Set(rows.map((row) => textOf(row[name] ?? null))).size;
}

export function hasDuplicates(rows: readonly ShownRow[], names: readonly string[]): boolean {
  const points = rows.map((row) => JSON.stringify(names.map((name) => textOf(row[name] ?? null))));
  return new Set(points).size < points.length;
}

const TRACES =
  /(^|_)(computed|updated|loaded|refreshed|ingested|synced|inserted|modified|extracted|first|last|became)(_|$)/i;
const PERIOD = /(^|_)(date|day|week|month|quarter|year|hour|period)$|__\w+$/i;

/** Times that vary, the best first: periods before instants, and traces of a pipeline last. */
export function timesOf(
  roles: ReadonlyMap<string, ColumnRole>,
  rows: readonly ShownRow[],
): readonly string[] {
  const rank = (name: string): number => (TRACES.test(name) ? 2 : PERIOD.test(name) ? 0 : 1);
  return namesOf(roles, "time")
    .filter((name) => distinct(name, rows) > 1)
    .sort((a, b) => rank(a) - rank(b));
}

export function namesOf(roles: ReadonlyMap<string, ColumnRole>, role: ColumnRole): string[] {
  return [...roles].filter(([, each]) => each === role).map(([name]) => name);
}

/** Values of different units or of times that hold each other: one of them is drawn at a time. */
const APART = /(^|_)(unit|metric|measure|indicator|currency|window|range|timeframe)$/i;
const GENERIC = /^(label|name|category|type|series|group|segment|source)$/i;

/** Whether a text names one thing, as an id or an address does. */
export function isIdentifierText(name: string): boolean {
  return IDENTIFIER_TEXT.test(name);
}

/** Whether rows of different values of a category must not be added up. */
export function isApart(name: string): boolean {
  return APART.test(name);
}

/** What tells rows apart: texts, flags, and numbers of few values that stand beside each other at each point. */
export function categoriesOf(
  roles: ReadonlyMap<string, ColumnRole>,
  x: string | null,
  rows: readonly ShownRow[],
): readonly string[] {
  const texts = namesOf(roles, "category");
  // A text that tells the rows apart needs no number beside it.
  const repeats =
    x !== null && hasDuplicates(rows, [x]) && texts.every((name) => hasDuplicates(rows, [x, name]));
  const counted = [...roles].filter(
    ([name, role]) =>
      repeats &&
      (role === "place" || (role === "measure" && isDimension(name, x, rows))) &&
      distinct(name, rows) <= MAX_CATEGORIES,
  );
  return [...texts, ...counted.map(([name]) => name)].filter(
    (name) => name !== x && distinct(name, rows) > 1,
  );
}

/** Whether whole numbers repeat at each point as the values of a category do. */
function isDimension(name: string, x: string, rows: readonly ShownRow[]): boolean {
  const values = distinct(name, rows);
  return (
    values <= MAX_CATEGORIES &&
    rows.every((row) => Number.isInteger(row[name])) &&
    !hasDuplicates(rows, [x, name]) &&
    rows.length >= 0.6 * values * distinct(x, rows)
  );
}

/** How well a category splits what shares a point. */
export function splitRank(name: string, x: string, rows: readonly ShownRow[]): number {
  const values = distinct(name, rows);
  return (
    (hasDuplicates(rows, [x, name]) ? 0 : 3) +
    (GENERIC.test(name) ? 1 : 0) +
    (values <= 9 ? 2 : values <= MAX_CATEGORIES ? 1 : values > 200 ? -3 : 0) +
    (isIdentifierText(name) ? -4 : 0) +
    (isMostlyNull(name, rows) ? -2 : 0)
  );
}

/** How well a category names the bars. */
export function axisRank(name: string, rows: readonly ShownRow[]): number {
  const values = distinct(name, rows);
  return (
    (values === rows.length ? 6 : 0) +
    (GENERIC.test(name) ? 1 : 0) +
    (values <= 25 ? 2 : 0) +
    (values <= 9 ? 1 : 0) +
    (isIdentifierText(name) ? -2 : 0) +
    (isMostlyNull(name, rows) ? -5 : 0) +
    (isApart(name) ? -5 : 0)
  );
}

function isMostlyNull(name: string, rows: readonly ShownRow[]): boolean {
  return rows.filter((row) => row[name] === null).length > 0.3 * rows.length;
}

const MONEY = /(^|_)(usd|eur|gbp|chf|jpy)(_|$)/i;
const AMOUNT =
  /(^|_)(value|amount|count|cnt|volume|revenue|sales|quantity|balance|turnover|spend|payments?|users?|price)(_|$)/i;
const AMOUNT_ALONE = /^(value|amount|total|count|cnt|volume|revenue|sales|quantity|balance|turnover)$/i;
const STATISTICAL =
  /(^|_)(avg|average|mean|median|min|max|std|pct|percent|share|ratio|rate|cumulative)(_|$)/i;
const RELATIVE = /(^|_)(change|delta|diff|growth|prev|previous|lower|upper|error)(_|$)/i;
const OWN_UNIT = /(^|_)(native|raw)(_|$)/i;
const UNIT_WORDS = /^(usd|eur|gbp|chf|jpy|pct|count|cnt|total)$/i;

/** Measures, the best first: what the endpoint is named for, then money and amounts, then averages and shares, changes last. */
export function measuresOf(
  { columns, resource, rows }: ChartTable,
  roles: ReadonlyMap<string, ColumnRole>,
): string[] {
  const subject = new Set(resource.split("_").map(singular));
  const hasMoney = columns.some(({ name }) => MONEY.test(name));
  const rank = (name: string): number => {
    const words = name.split("_").filter((word) => !UNIT_WORDS.test(word));
    const named = words.filter((word) => subject.has(singular(word))).length;
    return (
      (words.length === 0 ? 0 : (10 * named) / words.length) +
      (MONEY.test(name) ? 3 : 0) +
      (AMOUNT_ALONE.test(name) ? 3 : AMOUNT.test(name) ? 2 : 0) -
      (STATISTICAL.test(name) ? 3 : 0) -
      (RELATIVE.test(name) ? 6 : 0) -
      // Beside an amount in money, one in units of its own.
      (OWN_UNIT.test(name) && hasMoney ? 6 : 0) -
      (isIdentifier(name, rows) && !AMOUNT.test(name) && !FAMILY.test(name) ? 10 : 0)
    );
  };
  const ranks = new Map(columns.map(({ name }) => [name, rank(name)]));
  return namesOf(roles, "measure").sort((a, b) => (ranks.get(b) ?? 0) - (ranks.get(a) ?? 0));
}

function singular(word: string): string {
  return word.toLowerCase().replace(/s$/, "");
}

const FAMILY = /(^|_)(q|p)\d\d?(_|$)/i;
const CENTRE = /^(avg|average|mean|median)$/i;
const MAX_TOGETHER = 8;

/** The measures that are drawn together with the first one: quantiles, bounds, and counts of one kind and size. */
export function togetherWith(
  measures: readonly string[],
  { columns, resource, rows }: ChartTable,
): readonly string[] {
  const ordered = columns.map(({ name }) => name).filter((name) => measures.includes(name));
  const quantiles = ordered.filter((name) => FAMILY.test(name) || CENTRE.test(name));
  const [first = ""] = measures;
  if (quantiles.length > 2 && (quantiles.includes(first) || !AMOUNT.test(first)))
    return quantiles.slice(0, MAX_TOGETHER);
  const stem = first.replace(/(^|_)(value|mean|median|estimate|estimated|val)($|_)/g, "$1");
  const bounds = ordered.filter(
    (name) => name.startsWith(stem) && /^(lower|upper)(_|$)/.test(name.slice(stem.length)),
  );
  if (bounds.length > 0) return [first, ...bounds].slice(0, MAX_TOGETHER);
  const subject = resource.split("_").map(singular);
  const isSubject = first.split("_").some((word) => subject.includes(singular(word)));
  const typeOf = (name: string) => columns.find((column) => column.name === name)?.type ?? null;
  const isPlain = (name: string): boolean =>
    !AMOUNT.test(name) && !STATISTICAL.test(name) && !RELATIVE.test(name);
  const peers = ordered.filter(
    (name) => isPlain(name) && typeOf(name) === typeOf(first) && isOfOneSize(name, first, rows),
  );
  return !isSubject && isPlain(first) && peers.length > 1 && peers.length <= 4 ? peers : [first];
}

function isOfOneSize(a: string, b: string, rows: readonly ShownRow[]): boolean {
  const largest = (name: string): number => Math.max(...rows.map((row) => Math.abs(Number(row[name] ?? 0))));
  const ratio = largest(a) / largest(b);
  return ratio > 0.02 && ratio < 50;
}
