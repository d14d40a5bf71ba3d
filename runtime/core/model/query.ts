import { hash } from "node:crypto";
import type { Aggregate, AskedGrouping, ServedAggregate } from "./aggregate/aggregate.js";
import type { FilterParameter, Relation, SortKey } from "./endpoint.js";
import type { Comparison, FunctionOperator } from "./operators.js";
import type { Projection } from "./projection.js";

/** What the rows of a request have: a condition on a column, or conditions of which all or one must hold. A list of them: all hold. */
export type Condition = ColumnCondition | ConditionGroup;

/** A part of the parameter `filter` that no other has. */
type FunctionParameter = Pick<FilterParameter, "name" | "column"> & {
  readonly operator: FunctionOperator;
  readonly type: "value";
};

/** One filter of a request: a parameter with its value. */
export type ColumnCondition = (FilterParameter | FunctionParameter) & {
  readonly value: string | readonly string[];
  /**
   * Its values in the type of its column, set once that is known: the check parses them, and the statement has them. On the condition
   * itself: a copy of four conditions took 4 µs, twice what parsing takes.
   */
  typed?: TypedValues | undefined;
  /** Of the declared column. */
  readonly timezone?: string;
  /** The measure that it is a part of; other conditions are on all rows. */
  readonly measure?: string;
  /** On groups by the results of their measures; or on rows of the period that is asked, or of the one that it is compared with. */
  readonly on?: "results" | "period" | "earlier period";
};

/** Without members `and` holds for every row, and `or` for none. */
export interface ConditionGroup {
  readonly operator: "and" | "or" | "not";
  /** The parameter that it is of. */
  readonly name: string;
  /** Of `not` one, on a column. */
  readonly of: readonly Condition[];
}

/** The values of a condition, parsed once for a type of the engine. */
export interface TypedValues {
  /** The `FilterType`. */
  readonly type: object;
  readonly values: readonly TypedValue[];
}

/** A value of a type. */
export interface TypedValue {
  /** In the engine's syntax. Null: outside the type's range, so that it equals no row. */
  readonly written: string | null;
  /**
   * A value outside the type's range can be greater or less than all rows: the value of the type that `>`, `>=`, `<` or `<=` compares
   * with in its place. Null: no row matches.
   */
  readonly bound: (operator: Comparison) => string | null;
}

export function isGroup(condition: Condition): condition is ConditionGroup {
  return "of" in condition;
}

/** The conditions on columns, also those in groups. */
export function columnConditions(conditions: readonly Condition[]): readonly ColumnCondition[] {
  return conditions.flatMap((condition) => (isGroup(condition) ? columnConditions(condition.of) : condition));
}

/** The same conditions with others on their columns. */
export function mapConditions(
  conditions: readonly Condition[],
  change: (condition: ColumnCondition) => ColumnCondition,
): readonly Condition[] {
  return conditions.map((condition) =>
    isGroup(condition) ? { ...condition, of: mapConditions(condition.of, change) } : change(condition),
  );
}

/** The parameter of an expression, and the name of its conditions. */
export const FILTER = "filter";

/** Names of the columns of a condition. */
export function columnsOf(condition: Condition): readonly string[] {
  return isGroup(condition) ? condition.of.flatMap(columnsOf) : [condition.column];
}

/** Name of the condition on the caller's organization; no parameter contains U+0000. */
export const OWN_ROWS = "\0org";

/** Begins the key of that condition: it is on all that groups read, and a filter on a column of its name is not. */
export const ownMark = ({ name }: ColumnCondition): string => (name === OWN_ROWS ? `${name}\0` : "");

/** A range of the sorted rows. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
  /** Whether to determine if rows follow the page. */
  readonly lookAhead: boolean;
  /** Whether JSON wraps the rows: `{items, pagination}`. */
  readonly envelope?: boolean;
}

/** The sort key of a row: a value per key, in the text form of the database. */
export type KeyValues = readonly (string | null)[];

/** A page whose result names the sort key of its last row, with which the next page begins. The sort keys are unique. */
export interface Keyset {
  /** Identifies the endpoint, the filters and the sort: cursors made in another scope are refused. */
  readonly scope: string;
  /** Sort key of the row before the page; null for a page by `offset`. */
  readonly after: KeyValues | null;
  /** Digest of the sort columns' types: those of the request's cursor; once the columns are looked up, of the next page's. */
  readonly types?: string;
  /** Sort key of the last row of the page, where the engine looks it up before the rows. */
  readonly upTo?: KeyValues;
}

/** What a cursor holds. */
export interface Position {
  /** Sort key of the row before the page. */
  readonly values: KeyValues;
  /** Digest of the sort columns' types: values of one type are not those of another. */
  readonly types: string;
}

/** The rows of a relation that a request selects, in their order. */
export interface Selection {
  /** Rows have those of the declared columns that exist, in this order; without declared columns, all of the relation. */
  readonly columns?: Projection;
  readonly conditions: readonly Condition[];
  /** Without duplicate columns. */
  readonly sort: readonly SortKey[];
  readonly page: Page | null;
  /** Where pages follow each other by cursor. */
  readonly keyset?: Keyset;
  /** The values of conditions that are labels of an enum, once PostgreSQL has refused one that is none. */
  readonly labels?: ReadonlySet<string>;
  /** The rows are the groups of an aggregate, and the conditions are on what it reads. */
  readonly grouping?: AskedGrouping;
}

/**
 * How rows are written: JSON objects separated by commas, JSON objects on lines (NDJSON), or CSV records
 * (RFC 4180), `spreadsheet` with cells that cannot be formulas. `json-strings` is JSON with wide numbers as strings,
 * `json-declared` with those of the columns that say so.
 */
export type TextFormat = "json" | "json-strings" | "json-declared" | "ndjson" | "csv" | "spreadsheet";

/** Characters with which spreadsheets begin a formula, and blanks that some of them remove first. */
const FORMULA_STARTS = "=+@＝＋－＠\t\n\r \u00a0\u200b-";

/** What a cell begins with that gets an apostrophe in the format `spreadsheet`; JavaScript and RE2 read it alike. */
export const FORMULA_PATTERN = `^[${FORMULA_STARTS}]`;

const FORMULA = new RegExp(FORMULA_PATTERN);

/** Whether spreadsheets may take a text for a formula: its first character decides. */
export function isFormula(text: string): boolean {
  return FORMULA.test(text);
}

export type JsonFormat = Extract<TextFormat, "json" | "json-strings" | "json-declared">;

/** Binary tables: Parquet, and Apache Arrow's file and stream. Their bodies have no frame of the API's own. */
export type TableFormat = "parquet" | "arrow" | "arrow-stream";

export type RowFormat = TextFormat | TableFormat;

/** Suffixes of a path that name the format. Those of Arrow are in the registrations of its media types. */
export const FORMAT_SUFFIXES = ["json", "csv", "ndjson", "parquet", "arrow", "arrows"] as const;

export function isTable(format: RowFormat): format is TableFormat {
  return format === "parquet" || format === "arrow" || format === "arrow-stream";
}

/** The parameters of a request, before they are checked: by name, in the order sent. */
export type RawFields = ReadonlyMap<string, RawValue>;

/** All values of one name of a query string, or one field of a JSON body. */
export type RawValue =
  | { readonly from: "query"; readonly texts: readonly string[] }
  | { readonly from: "body"; readonly value: unknown };

/** What is asked: a request whose parameters are checked, and that the warehouse runs. */
export interface ResolvedQuery {
  readonly relation: Relation;
  /** Path of the endpoint, which its statements name in the database; a query that no endpoint serves has none. */
  readonly route?: string;
  readonly selection: Selection;
  readonly format: RowFormat;
  /** A query that runs longer is cancelled; 0: no limit. */
  readonly timeoutMs: number;
  /** A query that would read more rows of the database is refused, where the engine counts them; 0 by default: no limit. */
  readonly maxRowsRead?: number;
  /** The parameters that it was made from, for the link to the next page and for usage; a query of the server's own has none. */
  readonly fields?: RawFields;
  /** Rows that are older than promised are refused (`?require_fresh=true`). */
  readonly mustBeFresh?: true;
}

/** Whether the Gregorian calendar has the day. It repeats after 400 years. */
export function isDayOf(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(2000 + (((year % 400) + 400) % 400), month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** A date of a `date` parameter: `YYYY-MM-DD`, years 0001 to 9999. */
export function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  return Number(year) > 0 && isDayOf(Number(year), Number(month), Number(day));
}

/** Made once where an endpoint is loaded: 20 to 40 µs for the 152 metrics of a published project. */
export function withDigest(aggregate: Aggregate, identity = JSON.stringify(aggregate)): ServedAggregate {
  const digest = hash("sha256", identity, "base64url");
  // Not enumerable: a changed copy does not have it.
  return Object.defineProperty({ ...aggregate, digest }, "digest", { enumerable: false });
}
