import fc from "fast-check";
import { KEYS } from "../../support/service.js";

/** A value as SQL and as the JSON that the API documents for it. */
export type Value = readonly [sql: string, json: string];

export const NULL: Value = ["NULL", "null"];

export interface TestColumn {
  readonly type: string;
  readonly values: readonly Value[];
}

/** A filter: the operator of its parameter, SQL for a value, and values to ask for. */
export interface TestFilter {
  readonly column: string;
  readonly operator: "=" | "IN" | "ILIKE" | ">=" | "<=";
  readonly case?: "lower" | "upper";
  readonly sql: (value: string) => string;
  readonly values: readonly string[];
}

/** A column that requests filter by with operators, and values to ask for. */
export interface FilteredColumn {
  readonly type: string;
  readonly values: readonly string[];
}

/** A table of special values, and how its engine selects them by SQL that is not the product's. */
export interface Reference {
  /** Of the column `id`. */
  readonly idType: string;
  readonly columns: Readonly<Record<string, TestColumn>>;
  readonly filters: Readonly<Record<string, TestFilter>>;
  readonly columnFilters: Readonly<Record<string, FilteredColumn>>;
  readonly sortable: readonly string[];
  /** Of the models' `meta.routewright`. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Whether CSV has the value of a column in quotes. */
  readonly isQuoted: (column: string, json: string) => boolean;
  /** What responses show of a column, of a type that compares without loss. */
  readonly shown: (column: string) => string;
  /** A value of the column's type. */
  readonly literal: (column: string, value: string) => string;
  /** `ORDER BY` of a sort by one column. */
  readonly order: (column: string, direction: "ASC" | "DESC") => string;
}

/** A filter; values in one text are separated by spaces. */
export function on(
  column: string,
  operator: TestFilter["operator"],
  values: string | readonly string[],
  sql: (value: string) => string,
): TestFilter {
  return { column, operator, sql, values: typeof values === "string" ? values.split(" ") : values };
}

/** Texts that a format, a pattern or a list could read as something else. */
export const TEXTS = [
  ...["Straße", "ΣΑΣ", "ﬁne", "İstanbul", "a,b", 'quo"te', "line\r\nbreak", "", "100%", "un_der"],
  ...["back\\slash", "=1+1", "  padded", "😀 日本", "NULL", "\\N"],
];

/** Texts that filters ask for. */
export const LABELS = [
  ...["Straße", "STRASSE", "σας", "ΣΑΣ", "ﬁne", "a", "a,b", 'quo"te', "100%", "un_der", "%", "=1+1"],
  ...["back\\slash", "plain", "none", "😀 日本", "i", "\\N", "line\r\nbreak"],
];

/** The pattern of a value, as the API reads it. */
export function patternOf(value: string): string {
  const literal = value.replace(/[\\_]/g, "\\$&");
  return literal.includes("%") ? literal : `%${literal}%`;
}

/** Filters of the column `label`: equal, folded, in a list, like. */
export function labelFilters(
  quote: (text: string) => string,
  fold: { readonly lower: string; readonly upper: string },
  like: (pattern: string) => string,
): Readonly<Record<string, TestFilter>> {
  const folded = (name: string) => (v: string) => `${name}(label) = ${name}(${quote(v)})`;
  const oneText = LABELS.filter((label) => !label.includes(","));
  return {
    label: on("label", "=", LABELS, (v) => `label = ${quote(v)}`),
    folded: { ...on("label", "=", LABELS, folded(fold.lower)), case: "lower" },
    labels: { ...on("label", "IN", oneText, folded(fold.upper)), case: "upper" },
    like: on("label", "ILIKE", LABELS, (v) => like(quote(patternOf(v)))),
  };
}

export const ROWS = 300;

/** Value of a column in row `id`. */
export function valueOf({ columns }: Pick<Reference, "columns">, name: string, id: number): Value {
  if (name === "id") return [String(id), String(id)];
  const { values } = columns[name] ?? { values: [] };
  return values[(id + Math.floor(id / values.length)) % values.length] ?? NULL;
}

/** A request with column filters and chosen columns. */
export interface FilteredRequest {
  readonly filters: readonly (readonly [column: string, operator: string, values: readonly string[]])[];
  readonly fields: readonly string[];
  readonly sort: readonly [field: string, direction: "ASC" | "DESC"] | null;
  readonly limit: number;
  readonly offset: number;
  readonly method: "GET" | "POST";
}

const SIGNS: Readonly<Record<string, string>> = { eq: "=", ne: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=" };
const ORDERED = Object.keys(SIGNS);

interface FilteredTable {
  readonly filters: Readonly<Record<string, FilteredColumn>>;
  readonly names: readonly string[];
  readonly sortable: readonly string[];
  readonly maxLimit: number;
}

/** Valid requests to an endpoint of the table. */
export function filteredRequests({
  filters,
  names,
  sortable,
  maxLimit,
}: FilteredTable): fc.Arbitrary<FilteredRequest> {
  const columnFilter = fc.constantFrom(...Object.entries(filters)).chain(([column, { type, values }]) => {
    const operators = /^bool/i.test(type) ? ["eq", "ne"] : ORDERED;
    const value = fc.constantFrom(...values);
    return fc.oneof(
      fc.tuple(fc.constant(column), fc.constantFrom(...operators, "in"), fc.tuple(value)),
      fc.tuple(fc.constant(column), fc.constant("in"), fc.array(value, { minLength: 1, maxLength: 4 })),
      fc.tuple(fc.constant(column), fc.constant("null"), fc.tuple(fc.constantFrom("true", "false"))),
    );
  });
  return fc.record({
    filters: fc.uniqueArray(columnFilter, {
      maxLength: 3,
      selector: ([name, operator]) => `${name} ${operator}`,
    }),
    fields: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 4 }),
    sort: fc.option(fc.tuple(fc.constantFrom(...sortable), fc.constantFrom("ASC", "DESC"))),
    limit: fc.integer({ min: 1, max: maxLimit }),
    offset: fc.integer({ min: 0, max: 20 }),
    method: fc.constantFrom("GET", "GET", "POST"),
  });
}

/** Sends the request; the answer has the number of all rows that its filters select. */
export function sendFiltered(
  address: string,
  { filters, fields, sort, limit, offset, method }: FilteredRequest,
): Promise<Response> {
  const page = { limit, offset, ...(sort && { sort_by: sort[0], sort_direction: sort[1] }) };
  const headers = { "X-API-Key": KEYS.tier3, Prefer: "count=exact" };
  if (method === "POST") {
    const body: Record<string, unknown> = { ...page, fields };
    for (const [column, operator, values] of filters)
      body[column] = { ...(body[column] as object), [operator]: operator === "in" ? values : values[0] };
    return fetch(address, { method, headers, body: JSON.stringify(body) });
  }
  const query = new URLSearchParams(
    Object.entries(page).map(([name, value]): [string, string] => [name, String(value)]),
  );
  if (fields.length > 0) query.set("fields", fields.join(","));
  for (const [column, operator, values] of filters)
    for (const value of values) query.append(`${column}[${operator}]`, value);
  return fetch(`${address}?${query.toString()}`, { headers });
}

/** The condition of a request in SQL: `shown` is what responses show of a column, `literal` a value of its type. */
export function filteredWhere(
  { filters, method }: FilteredRequest,
  shown: (column: string) => string,
  literal: (column: string, value: string) => string,
): string {
  const wheres = filters.map(([column, operator, values]) => {
    if (operator === "null") return `(${shown(column)} IS NULL) = ${values[0] ?? ""}`;
    const sign = SIGNS[operator];
    if (sign !== undefined) return `${shown(column)} ${sign} ${literal(column, values[0] ?? "")}`;
    // A value of a list in a query string is cut at its commas.
    const sent = method === "GET" ? values.flatMap((value) => value.split(",")) : values;
    return `(${sent.map((value) => `${shown(column)} = ${literal(column, value)}`).join(" OR ")})`;
  });
  return wheres.length === 0 ? "" : `WHERE ${wheres.join(" AND ")}`;
}
