/** What a request asks for, and where a page of its rows stands: without the document and the network. */
import type { CatalogueEndpoint } from "../catalogue-body.js";
import { count } from "./values.js";

/** Filters of a request by parameter name. */
export type Parameters = Readonly<Record<string, readonly string[]>>;

/** Groups values by name. `Object.fromEntries` keeps names such as `__proto__`. */
export function parametersOf(pairs: readonly (readonly [name: string, value: string])[]): Parameters {
  const values = new Map<string, string[]>();
  for (const [name, value] of pairs) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries(values);
}

export function valuesOf(parameters: Parameters, name: string): readonly string[] {
  return Object.hasOwn(parameters, name) ? (parameters[name] ?? []) : [];
}

/** A request of an endpoint by GET, as the form describes it. */
export interface ApiRequest {
  readonly endpoint: CatalogueEndpoint;
  readonly parameters: Parameters;
}

/** The parameters of the page that follows `rows` rows. */
export function nextPage(parameters: Parameters, cursor: string | null, rows: number): Parameters {
  const others = withoutPage(parameters);
  const offset = Number(valuesOf(parameters, "offset")[0] ?? 0);
  return cursor === null ? { ...others, offset: [String(offset + rows)] } : { ...others, cursor: [cursor] };
}

/** The parameters without those that name a page. */
export function withoutPage(parameters: Parameters): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !/^(offset|cursor)$/.test(name)));
}

/** Rows of a page. */
export function limitOf({ pagination }: CatalogueEndpoint, parameters: Parameters): number {
  return Number(valuesOf(parameters, "limit")[0] ?? pagination?.default_limit);
}

/** Rows before a page, and the parameters of the page before it: after a cursor, of the first page. */
export function pageBefore(
  endpoint: CatalogueEndpoint,
  parameters: Parameters,
): { readonly skipped: number | null; readonly previous: Parameters | null } {
  const first = withoutPage(parameters);
  if (Object.hasOwn(parameters, "cursor")) return { skipped: null, previous: first };
  const skipped = Number(valuesOf(parameters, "offset")[0] ?? 0);
  const before = skipped - limitOf(endpoint, parameters);
  const previous = before > 0 ? { ...first, offset: [String(before)] } : first;
  return { skipped, previous: skipped > 0 ? previous : null };
}

/** What `GET /v1/system/values` answers. */
export interface FoundValues {
  readonly values: readonly { readonly value: unknown; readonly rows?: number }[];
  readonly more: boolean;
}

/** Where a page stands in the result. */
export interface PagePosition {
  /** Rows before the page; null where it is not known, after a cursor. */
  readonly skipped: number | null;
  /** Rows on all pages; null while that is not known. */
  readonly total: number | null;
  readonly previous: Parameters | null;
  readonly next: Parameters | null;
}

/** Where the rows stand in the whole result. */
export function placeOf(rows: number, position: PagePosition): string {
  const { skipped } = position;
  const total = totalOf(rows, position);
  const all = total === null ? "" : ` of ${total.toLocaleString("en")}`;
  if (skipped === null || rows === 0 || total === rows)
    return `${count(rows, "row")}${total === rows ? "" : all}`;
  const [first, last] = [skipped + 1, skipped + rows].map((each) => each.toLocaleString("en"));
  return `${first ?? ""}–${last ?? ""}${all}`;
}

/** Rows on all pages, where that is known. */
export function totalOf(rows: number, { total, previous, next }: PagePosition): number | null {
  return previous === null && next === null ? rows : total;
}
