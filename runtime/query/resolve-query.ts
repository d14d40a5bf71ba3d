import { hash } from "node:crypto";
import type { RowFormat, Selection, ResolvedQuery } from "./warehouse.js";
import { readParameters } from "./parameters.js";
import type { Column, Endpoint } from "../model/endpoint.js";
import type { HttpError } from "../model/errors.js";
import { NO_FIELDS } from "./request-fields.js";

/** A query with its key: queries with the same key have the same result. */
export interface KeyedQuery {
  readonly query: ResolvedQuery;
  readonly key: string;
}

/** Options of a response besides the selected rows. */
export interface ResponseOptions {
  readonly format: RowFormat;
  readonly timeoutMs: number;
}

export function resolveQuery(
  { relation }: Endpoint,
  selection: Selection,
  { format, timeoutMs }: ResponseOptions,
): KeyedQuery {
  const query = { relation, selection, format, timeoutMs };
  return { query, key: queryKey(query) };
}

const defaultQueries = new WeakMap<Endpoint, Map<string, KeyedQuery | HttpError>>();

/** The query of a request without parameters, made once per endpoint and options. */
export function resolveDefaultQuery(endpoint: Endpoint, options: ResponseOptions): KeyedQuery | HttpError {
  let queries = defaultQueries.get(endpoint);
  if (!queries) defaultQueries.set(endpoint, (queries = new Map<string, KeyedQuery | HttpError>()));
  const key = `${options.format} ${String(options.timeoutMs)}`;
  const known = queries.get(key);
  if (known) return known;
  const selection = readParameters(endpoint, NO_FIELDS, "query");
  const resolved = "code" in selection ? selection : resolveQuery(endpoint, selection, options);
  queries.set(key, resolved);
  return resolved;
}

const columnKeys = new WeakMap<readonly Column[], string>();

/** The declared columns: a refresh may change them while the rows stay the same. */
function columnsKey(columns: readonly Column[] = NO_COLUMNS): string {
  const known = columnKeys.get(columns);
  if (known !== undefined) return known;
  const key = hash("sha1", JSON.stringify(columns), "base64");
  columnKeys.set(columns, key);
  return key;
}

const NO_COLUMNS: readonly Column[] = [];

/** U+0000 separates the parts: no name or value of a query can contain it. */
export function queryKey({ relation: [schema, name], selection, format, timeoutMs }: ResolvedQuery): string {
  const { conditions, sort, page } = selection;
  let key = `${schema}\0${name}\0${format}\0${String(timeoutMs)}\0${columnsKey(selection.columns)}`;
  if (page !== null)
    key += `\0${String(page.limit)} ${String(page.offset)}${page.envelope === true ? " +" : ""}`;
  for (const { column, operator, value, ...filter } of conditions) {
    const letterCase = "case" in filter ? (filter.case ?? "") : "";
    // The number of values delimits the list.
    const values = typeof value === "string" ? value : `${String(value.length)}\0${value.join("\0")}`;
    key += `\0\0${column}\0${operator}\0${letterCase}\0${values}`;
  }
  for (const [column, direction] of sort) key += `\0\0\0${column}\0${direction}`;
  return key;
}
