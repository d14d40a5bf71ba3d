import type { ColumnFilter } from "../../core/model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../../core/model/errors.js";
import { FILTER_LIMITS } from "../../core/model/limits.js";
import { type Condition, isGroup, mapConditions } from "../../core/model/query.js";
import { loadedFilter, loadFilter } from "../../core/request/resolve-query.js";
import { type OdataOptions, withAliases } from "./options.js";
import type { OdataProperty, OdataSet } from "./sets.js";

/** Functions and operators of OData that no filter here has: 501. */
const OTHERS: ReadonlySet<string> = new Set([
  ...["concat", "indexof", "length", "substring", "matchespattern", "tolower", "toupper", "trim", "hour"],
  ...["minute", "second", "fractionalseconds", "maxdatetime", "mindatetime", "now", "time", "cast", "isof"],
  ...[
    "totaloffsetminutes",
    "totalseconds",
    "ceiling",
    "floor",
    "round",
    "hassubset",
    "hassubsequence",
    "case",
  ],
  ...["geo.distance", "geo.intersects", "geo.length", "any", "all"],
  ...["has", "add", "sub", "mul", "div", "divby", "mod"],
]);

/** The conditions of `$filter`. */
export async function readOdataFilter(
  set: OdataSet,
  { system: { filter: text }, aliases }: OdataOptions,
): Promise<Result<readonly Condition[]>> {
  if (text === undefined || text === "") return [];
  const { spec } = set.endpoint;
  if (spec.filter !== true)
    return httpError("notImplemented", { name: "$filter", reason: "this set takes no conditions" });
  return readText(set, withAliases(text, aliases, FILTER_LIMITS.bytes), spec.filters ?? []);
}

/** The conditions of a key in parentheses: `id=1,day=2024-01-31`, or the one value alone. */
export async function readKey(
  set: OdataSet,
  keys: readonly OdataProperty[],
  text: string,
): Promise<Result<readonly Condition[]>> {
  const filters = keyFilters(set);
  if (filters === null)
    return httpError("notImplemented", { name: set.name, reason: "its rows are not found by key" });
  const invalid = httpError("valueNotOfType", {
    name: "key",
    type: keys.map(({ name }) => name).join(", "),
  });
  const [only] = keys;
  const parts = partsOf(text).map((part) => {
    const at = part.indexOf("=");
    const name = part.slice(0, at).trim();
    const isNamed = at > 0 && keys.some((key) => key.name === name);
    return isNamed ? `${name} eq ${part.slice(at + 1)}` : `${only?.name ?? ""} eq ${part}`;
  });
  if (parts.length !== keys.length) return invalid;
  const conditions = await readText(set, parts.join(" and "), filters);
  if (isHttpError(conditions)) return conditions.code === "filterTooComplex" ? conditions : invalid;
  const columns = new Set(
    conditions.map((each) => (isGroup(each) || each.operator !== "=" ? "" : each.column)),
  );
  const isKey = conditions.length === keys.length && keys.every(({ column }) => columns.has(column.name));
  return isKey ? conditions : invalid;
}

/** The filters of the key; null where a column of it takes none. */
export function keyFilters({ keys, endpoint }: OdataSet): readonly ColumnFilter[] | null {
  if (keys === null) return null;
  const filters = keys.map(({ column }) =>
    endpoint.spec.filters?.find((filter) => filter.column === column.name),
  );
  return filters.includes(undefined) ? null : (filters as readonly ColumnFilter[]);
}

async function readText(
  { properties }: OdataSet,
  text: string,
  filters: readonly ColumnFilter[],
): Promise<Result<readonly Condition[]>> {
  await loadFilter();
  const byName = new Map(properties.map((property) => [property.name, property.column]));
  const named = properties.flatMap(({ name, column }) => {
    const filter = filters.find((each) => each.column === column.name);
    return filter === undefined ? [] : [{ column: name, type: filter.type }];
  });
  const timezoneOf = (name: string): string | undefined => byName.get(name)?.timezone;
  const conditions = loadedFilter().readFilter(text, { filters: named, timezoneOf });
  if (isHttpError(conditions)) return unsupportedIn(text, conditions);
  return mapConditions(conditions, (condition) => ({
    ...condition,
    column: byName.get(condition.column)?.name ?? condition.column,
  }));
}

/** What OData has and this service has not is no mistake of the text: the word at which the grammar ends, or before its parenthesis. */
function unsupportedIn(text: string, error: HttpError): HttpError {
  const at = Number(/^'filter' at position (\d+)/.exec(error.detail)?.[1] ?? 0) - 1;
  if (at < 0) return error;
  if (text[at] === "/")
    return httpError("notImplemented", { name: "/", reason: "filters compare the columns of a row alone" });
  const before = /[\w.]{1,32}\s{0,8}$/.exec(text.slice(Math.max(0, at - 40), at))?.[0] ?? "";
  const behind = /^[\w.]{1,32}/.exec(text.slice(at, at + 33))?.[0] ?? "";
  const name = [text[at] === "(" ? before.trim() : behind, behind && before.trim()]
    .map((each) => each.replace(/^.*\//, ""))
    .find((each) => OTHERS.has(each.toLowerCase()));
  if (name === undefined) return error;
  return httpError("notImplemented", { name, reason: "filters have other operators and functions" });
}

/** The parts of a text between commas outside of quotes. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let [start, isQuoted] = [0, false];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "'") isQuoted = !isQuoted;
    if (text[at] !== "," || isQuoted) continue;
    parts.push(text.slice(start, at));
    start = at + 1;
  }
  return [...parts, text.slice(start)].map((part) => part.trim());
}
