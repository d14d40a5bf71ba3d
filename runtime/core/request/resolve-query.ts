import {
  type ColumnCondition,
  type Condition,
  FILTER,
  isDate,
  isGroup,
  OWN_ROWS,
  type Selection,
} from "../model/query.js";
import { refusedOperator } from "../model/column-operators.js";
import { BoundedCache } from "../http/bounded-cache.js";
import { Projection } from "../model/projection.js";
import type { ServedEndpoint, ServedFilter } from "../model/served-endpoint.js";
import { DEFAULT_MAX_ITEMS, DEFAULT_MAX_LENGTH } from "../model/limits.js";
import { operatorOf } from "../model/operators.js";
import { type ColumnFilter, type Endpoint, type FilterParameter } from "../model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../model/errors.js";
import { readSingle, readList, readPage, readSort } from "./request-fields.js";
import type { RawFields, RawValue } from "../model/query.js";
import type { Aggregate } from "../model/aggregate/aggregate.js";
import { VALUES } from "../model/column-types.js";
import { ALL_ORGS } from "./keyring.js";

/**
 * The fields of a body with one field per operator: `{"amount_usd": {"gte": 10}}` is `amount_usd[gte]`, as in a query string.
 * A parameter may have the column's name: it has a value where operators have an object.
 */
export function withOperators(
  { spec: { filters: own = [], parameters, aggregate } }: ServedEndpoint,
  fields: RawFields,
): Result<RawFields> {
  const results = aggregate?.measures.map(({ name }) => ({ column: name, type: "number" }) as const);
  const filters = results === undefined ? own : [...own, ...results];
  if (filters.length === 0) return fields;
  const columns = new Map(filters.map((filter) => [filter.column, filter]));
  const flat = new Map<string, RawValue>();
  for (const [name, raw] of fields) {
    const filter = columns.get(name);
    if (filter === undefined || raw.from === "query") {
      const isFlat = raw.from === "body" && filters.some(({ column }) => isMeantFor(column, name));
      if (isFlat) return unsupported([name], "body");
      flat.set(name, raw);
      continue;
    }
    const { value } = raw;
    if (value === null) continue;
    if (typeof value !== "object" || Array.isArray(value)) {
      if (!parameters.some((parameter) => parameter.name === name)) return refusedOperator(filter);
      flat.set(name, raw);
      continue;
    }
    for (const [operator, each] of Object.entries(value))
      flat.set(`${name}[${operator}]`, { from: "body", value: each });
  }
  return flat;
}

/**
 * Checks the parameters of a request for rows in this order: names, values, required filters, page, sort. Returns the first
 * error (runtime/docs/requests.md).
 */
export function readParameters(
  endpoint: ServedEndpoint,
  fields: RawFields,
  source: "query" | "body",
): Result<Selection> {
  const unknown = unknownNames(endpoint, fields, source);
  if (unknown) return unknown;
  const { spec } = endpoint;
  const conditions = readConditions(endpoint.filters, fields, { endpoint, filters: spec.filters ?? [] });
  if (isHttpError(conditions)) return conditions;
  const missing = missingFilter(spec, conditions);
  if (missing) return missing;
  const page = readPage(spec.pagination, fields);
  if (isHttpError(page)) return page;
  const sort = readSort(spec, fields);
  if (isHttpError(sort)) return sort;
  const columns = readFields(endpoint, fields);
  if (isHttpError(columns)) return columns;
  return { columns, conditions, sort: sort.keys, page };
}

/** The error of names that a request for groups does not have. */
export function unknownError(
  endpoint: ServedEndpoint,
  { filters }: Aggregate,
  unknown: readonly string[],
  source: "query" | "body",
): HttpError {
  const all = [...(endpoint.spec.filters ?? []), ...filters];
  const filter = all.find(({ column }) => unknown.some((name) => isMeantFor(column, name)));
  return filter ? refusedOperator(filter) : unsupported(unknown, source);
}

/** Characters of undeclared names that an error repeats: a body of 100 kB had an answer of 93 kB. */
const MAX_REPEATED = 1000;

/** The error of names that are not declared, in order; an empty one shows as `''`. */
export function unsupported(unknown: readonly string[], source: "query" | "body"): HttpError {
  const all = unknown
    .map((name) => name || "''")
    .toSorted()
    .join(", ");
  const names = all.length > MAX_REPEATED ? `${all.slice(0, MAX_REPEATED).toWellFormed()} …` : all;
  return httpError(source === "query" ? "unsupportedQuery" : "unsupportedBody", { names });
}

function unknownNames(
  endpoint: ServedEndpoint,
  fields: RawFields,
  source: "query" | "body",
): HttpError | null {
  if (fields.size === 0) return null;
  const unknown = [...fields.keys()].filter((name) => !endpoint.takes(name));
  if (unknown.length === 0) return null;
  const { spec } = endpoint;
  const filter = spec.filters?.find(({ column }) => unknown.some((name) => isMeantFor(column, name)));
  if (filter) return refusedOperator(filter);
  return spec.legacy ? httpError("legacyParameters") : unsupported(unknown, source);
}

/** Whether a name is a filtered column without an operator, or with one that it does not have. */
function isMeantFor(column: string, name: string): boolean {
  return name === column || name.startsWith(`${column}[`);
}

/** `scope`: the columns that the parameter `filter` may name. */
export function readConditions(
  filters: readonly ServedFilter[],
  fields: RawFields,
  scope: { readonly endpoint: ServedEndpoint; readonly filters: readonly ColumnFilter[] },
): Result<readonly Condition[]> {
  const conditions: Condition[] = [];
  if (fields.size === 0) return conditions;
  for (const parameter of filters) {
    const raw = fields.get(parameter.name);
    const condition = raw && readCondition(parameter, raw);
    if (!condition) continue;
    if (isHttpError(condition)) return condition;
    conditions.push(condition);
  }
  const expression = scope.endpoint.spec.filter === true ? readExpression(scope, fields) : null;
  if (expression === null) return conditions;
  return isHttpError(expression) ? expression : [...conditions, ...expression];
}

/** The conditions of the parameter `filter`; null where there is none. */
function readExpression(
  { endpoint, filters }: { readonly endpoint: ServedEndpoint; readonly filters: readonly ColumnFilter[] },
  fields: RawFields,
): Result<readonly Condition[]> | null {
  const raw = fields.get(FILTER);
  const text = raw === undefined ? null : readSingle(FILTER, raw);
  if (text === null || isHttpError(text)) return text;
  const timezoneOf = (column: string): string | undefined =>
    endpoint.spec.columns.find(({ name }) => name === column)?.timezone;
  return loadedFilter().readFilter(text, { filters, timezoneOf });
}

/** Null when the parameter is absent, or its value empty. */
function readCondition(parameter: ServedFilter, raw: RawValue): Result<ColumnCondition> | null {
  const { name } = parameter;
  const value = parameter.type === "string_list" ? readList(name, raw) : readSingle(name, raw);
  if (value === null) return null;
  if (isHttpError(value)) return value;
  const error = checkTexts(parameter, typeof value === "string" ? [value] : value);
  if (error) return error;
  // The spread last: what is added behind one makes a hidden class of each object, twice 0.6 µs.
  const condition: ColumnCondition = { value, typed: undefined, ...parameter };
  switch (operatorOf(parameter.operator).value) {
    case "typed":
      // Against the column's type in the database it is checked by the warehouse (`BaseEngine.check`), once that is known.
      return condition;
    case "flag":
      return value === "true" || value === "false"
        ? condition
        : httpError("valueNotOfType", { name, type: VALUES.boolean.text });
    case "pattern":
      return { ...condition, value: likePattern(value as string) };
    case "day":
      return isDate(value as string)
        ? condition
        : httpError("valueNotOfType", { name, type: VALUES.date.text });
    case "text":
    case "numbers":
      throw new Error("A parameter has no function.");
  }
}

function checkTexts(parameter: FilterParameter, texts: readonly string[]): HttpError | null {
  const { name } = parameter;
  const maxItems = "maxItems" in parameter ? (parameter.maxItems ?? DEFAULT_MAX_ITEMS) : DEFAULT_MAX_ITEMS;
  const maxLength =
    "maxLength" in parameter ? (parameter.maxLength ?? DEFAULT_MAX_LENGTH) : DEFAULT_MAX_LENGTH;
  if (texts.length > maxItems) return httpError("tooManyValues", { name, max: maxItems });
  if (texts.some((text) => text.length > maxLength && Array.from(text).length > maxLength))
    return httpError("valueTooLong", { name, max: maxLength });
  if (texts.some((text) => text.includes("\0"))) return httpError("nulCharacter", { name });
  const values = "values" in parameter ? parameter.values : undefined;
  if (values === undefined || texts.every((text) => isAccepted(text, values, parameter))) return null;
  return httpError("valueNotAccepted", { name, values: values.join(", ") });
}

/** As the database compares: whole numbers by their value, with `case` in any letter case. */
function isAccepted(text: string, values: readonly string[], parameter: FilterParameter): boolean {
  if (values.includes(text)) return true;
  if (/^[+-]?\d+$/.test(text))
    return values.some(
      (value) => /^[+-]?\d+$/.test(value) && BigInt(value) === BigInt(text.replace("+", "")),
    );
  if (!("case" in parameter)) return false;
  const folds = [(each: string) => each.toLowerCase(), (each: string) => each.toUpperCase()];
  return folds.some((fold) => values.some((value) => fold(value) === fold(text)));
}

/** `%` is the wildcard; `_` and `\` are literal; without `%` the text may occur anywhere. */
function likePattern(value: string): string {
  const escaped = value.replace(/[\\_]/g, "\\$&");
  return value.includes("%") ? escaped : `%${escaped}%`;
}

export function missingFilter(
  { allowUnfiltered, requireAnyOf }: Endpoint,
  conditions: readonly Condition[],
): HttpError | null {
  if (!allowUnfiltered && !conditions.some((condition) => isNarrowing(condition, conditions)))
    return httpError("filterRequired");
  if (requireAnyOf.length === 0 || conditions.some(({ name }) => requireAnyOf.includes(name))) return null;
  return httpError("anyOfRequired", { names: requireAnyOf.join(", ") });
}

/** Whether a filter satisfies `allow_unfiltered: false`: a column's `[ne]`, `[null]=false` and open range exclude next to nothing. */
function isNarrowing(condition: Condition, conditions: readonly Condition[]): boolean {
  if (isGroup(condition)) return false;
  const { operator, column, value } = condition;
  switch (operatorOf(operator).excludes) {
    case "most":
      return true;
    case "few":
      return false;
    case "most where true":
      return value === "true";
    case "most with an upper bound":
      return conditions.some(
        (other) => !isGroup(other) && other.column === column && operatorOf(other.operator).isUpperBound,
      );
  }
}

/** The columns of `fields` in their order; all without it. */
function readFields(endpoint: ServedEndpoint, fields: RawFields): Result<Projection> {
  const raw = fields.get("fields");
  const names = raw === undefined || !endpoint.spec.fields ? null : readList("fields", raw);
  if (names === null) return endpoint.all;
  if (isHttpError(names)) return names;
  const known = endpoint.spec.columns.map(({ name }) => name);
  return chooseColumns(endpoint.all, names) ?? httpError("unknownField", { names: known.join(", ") });
}

/** The condition on the caller's rows; null where the caller may read all of them. */
export function ownRows({ rows }: Endpoint, org: string | null): Result<ColumnCondition> | null {
  if (rows === undefined || org === ALL_ORGS) return null;
  if (org === null) return httpError("organizationRequired");
  return { name: OWN_ROWS, column: rows.column, operator: "=", type: "string", value: org };
}

/** The error of a condition, as the caller gets it: an organization that the column cannot hold has no rows. */
export function conditionError(error: HttpError): HttpError {
  return error.parameter === OWN_ROWS ? httpError("organizationRequired") : error;
}

/** Whether a request asks for groups instead of rows. */
export function asksGroups({ aggregate }: Endpoint, fields: RawFields): boolean {
  if (aggregate === undefined) return false;
  if (aggregate.of === "metrics" || aggregate.rows === false) return true;
  return isSent("group_by", fields) || isSent(aggregate.of, fields);
}

function isSent(name: string, fields: RawFields): boolean {
  const raw = fields.get(name);
  const list = raw === undefined ? null : readList(name, raw);
  return list !== null;
}

/** Of a column with what an engine makes of it for each format. */
const COLUMN_BYTES = 4000;

/** What is made of a choice is kept with it: plans of statements are kept by it. Callers choose. */
const CHOICES = new BoundedCache<Projection>("choices", {
  sizeOf: ({ columns }) => COLUMN_BYTES * (columns.length + 1),
});

/** The columns of these names in their order; null where the endpoint does not have one of them. */
export function chooseColumns(all: Projection, names: readonly string[]): Projection | null {
  // A list may name a column 1,000 times.
  const different = [...new Set(names)];
  const key = `${all.id}\0${different.join("\0")}`;
  const known = CHOICES.get(key);
  if (known !== undefined) return known;
  const found = different.map((name) => all.columns.find((column) => column.name === name));
  const columns = found.filter((column) => column !== undefined);
  if (columns.length < found.length) return null;
  const made = new Projection(columns);
  CHOICES.set(key, made);
  return made;
}

type FilterModule = Awaited<ReturnType<typeof load>>;

let loaded: FilterModule | null = null;

const load = () => import("../../filter/filter.js");

/** Loads what reads the parameter `filter`, with the first endpoint that has it. */
export async function loadFilter(): Promise<void> {
  loaded ??= await load();
}

/** What a request must wait for before its fields are read; null for most. */
export function filterToLoad({ spec }: ServedEndpoint, fields: RawFields): Promise<void> | null {
  return loaded === null && spec.filter === true && fields.has(FILTER) ? loadFilter() : null;
}

export function loadedFilter(): FilterModule {
  if (loaded === null) throw new Error("The filter is read before it is loaded.");
  return loaded;
}
