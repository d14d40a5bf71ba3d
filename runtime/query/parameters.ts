import {
  PAGE_FIELDS,
  SORT_FIELDS,
  type Endpoint,
  type LetterCase,
  type Parameter,
  type Pagination,
  type Direction,
  type SortKey,
} from "../model/endpoint.js";
import { httpError, type HttpError } from "../model/errors.js";
import { type RawFields, type RawValue, readSingle, readList } from "./request-fields.js";
import type { Condition, Selection, Page } from "./warehouse.js";

/**
 * Reads what a caller sent to an endpoint, in the order of data-api.md §4.3: names, values, required filters, page,
 * sort. The first thing wrong is told.
 */
export function readParameters(
  endpoint: Endpoint,
  fields: RawFields,
  source: "query" | "body",
): Selection | HttpError {
  if (fields.size === 0 && endpoint.allowUnfiltered && endpoint.pagination === null)
    return wholeTable(endpoint);
  const refusal = unknownNames(endpoint, fields, source);
  if (refusal) return refusal;
  const conditions = readConditions(endpoint, fields);
  if ("code" in conditions) return conditions;
  const missing = missingFilter(endpoint, conditions);
  if (missing) return missing;
  const page = readPage(endpoint.pagination, fields);
  if (page !== null && "code" in page) return page;
  const sort = readSort(endpoint, fields);
  return "code" in sort ? sort : { conditions: conditions.list, sort: sort.keys, page };
}

function wholeTable({ sort }: Endpoint): Selection {
  return { conditions: [], sort, page: null };
}

function unknownNames(endpoint: Endpoint, fields: RawFields, source: "query" | "body"): HttpError | null {
  if (fields.size === 0) return null;
  if (endpoint.legacy) return httpError("legacyParameters");
  const unknown = [...fields.keys()].filter((name) => !takes(endpoint, name));
  if (unknown.length === 0) return null;
  const names = unknown.sort().join(", ");
  return source === "query"
    ? httpError("unsupportedQuery", { names })
    : httpError("unsupportedBody", { names });
}

/** Sort fields are known everywhere: where there is nothing to sort by, they get an answer of their own. */
function takes({ parameters, pagination }: Endpoint, name: string): boolean {
  if (parameters.some((parameter) => parameter.name === name)) return true;
  if ((SORT_FIELDS as readonly string[]).includes(name)) return true;
  return pagination !== null && (PAGE_FIELDS as readonly string[]).includes(name);
}

interface Conditions {
  readonly list: readonly Condition[];
  /** Names of the parameters that are present. */
  readonly present: readonly string[];
}

function readConditions({ parameters }: Endpoint, fields: RawFields): Conditions | HttpError {
  const list: Condition[] = [];
  const present: string[] = [];
  for (const parameter of parameters) {
    const raw = fields.get(parameter.name);
    const condition = raw && readCondition(parameter, raw);
    if (!condition) continue;
    if ("code" in condition) return condition;
    list.push(condition);
    present.push(parameter.name);
  }
  return { list, present };
}

/** Null when the parameter is absent: an empty value counts so (decisions.md §A). */
function readCondition(parameter: Parameter, raw: RawValue): Condition | HttpError | null {
  const { name } = parameter;
  const value = parameter.operator === "IN" ? readList(name, raw) : readSingle(name, raw);
  if (value === null) return null;
  if (typeof value === "object" && "code" in value) return value;
  if (String(value).includes("\0")) return httpError("nulCharacter", { name });
  switch (parameter.operator) {
    case "=":
      return { ...parameter, value: inCase(value as string, parameter.case) };
    case "ILIKE":
      return { ...parameter, value: likePattern(inCase(value as string, parameter.case)) };
    case ">=":
    case "<=":
      return isDate(value as string)
        ? { ...parameter, value: value as string }
        : httpError("notDate", { name });
    case "IN":
      return listCondition(parameter, value as readonly string[]);
  }
}

function listCondition(
  parameter: Parameter & { operator: "IN" },
  values: readonly string[],
): Condition | HttpError {
  const { name, maxItems = Infinity } = parameter;
  if (values.length > maxItems) return httpError("tooManyValues", { name, max: maxItems });
  return { ...parameter, value: values.map((value) => inCase(value, parameter.case)) };
}

function inCase(value: string, letterCase: LetterCase | undefined): string {
  if (letterCase === undefined) return value;
  return letterCase === "lower" ? value.toLowerCase() : value.toUpperCase();
}

/** `%` is the caller's wildcard; `_` and `\` are ordinary characters, and a value without `%` may stand anywhere. */
function likePattern(value: string): string {
  const escaped = value.replace(/[\\_]/g, "\\$&");
  return value.includes("%") ? escaped : `%${escaped}%`;
}

/** A real day of the calendar; years are 0001 to 9999. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith("0000")) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function missingFilter(
  { allowUnfiltered, requireAnyOf }: Endpoint,
  { present }: Conditions,
): HttpError | null {
  if (!allowUnfiltered && present.length === 0) return httpError("filterRequired");
  if (requireAnyOf.length === 0 || requireAnyOf.some((name) => present.includes(name))) return null;
  return httpError("anyOfRequired", { names: requireAnyOf.join(", ") });
}

/** Past this a JSON number is no longer exact; no table is that long. */
const MAX_OFFSET = Number.MAX_SAFE_INTEGER;

/** `limit` and `offset` (data-api.md §4.3); null where the endpoint has no pages. */
function readPage(pagination: Pagination | null, fields: RawFields): Page | HttpError | null {
  if (pagination === null) return null;
  const { defaultLimit, maxLimit, response } = pagination;
  const limit = readInteger("limit", fields.get("limit"), { min: 1, max: maxLimit }) ?? defaultLimit;
  if (typeof limit === "object") return limit;
  const offset = readInteger("offset", fields.get("offset"), { min: 0, max: MAX_OFFSET }) ?? 0;
  if (typeof offset === "object") return offset;
  return { limit, offset, lookAhead: response === "envelope" };
}

interface Range {
  readonly min: number;
  readonly max: number;
}

function readInteger(
  field: string,
  raw: RawValue | undefined,
  { min, max }: Range,
): number | HttpError | null {
  const text = raw && integerText(raw);
  if (!text) return null;
  if (!/^[+-]?\d+$/.test(text)) return httpError("notInteger", { field });
  const number = Number(text);
  if (number < min) return httpError("belowMinimum", { field, min });
  return number > max ? httpError("aboveMaximum", { field, max }) : number;
}

/** The text that should be an integer. Given twice, it is none: the commas of a list see to that. */
function integerText(raw: RawValue): string {
  if (raw.from === "query")
    return raw.texts
      .map((text) => text.trim())
      .filter((text) => text !== "")
      .join(",");
  const { value } = raw;
  if (value === null || value === undefined) return "";
  return typeof value === "number" || typeof value === "string" ? String(value).trim() : "not an integer";
}

/** The order of the rows: the caller's choice first, the fixed sort behind it as tie-breaker (decisions.md §A). */
function readSort(
  { sort, sortableFields }: Endpoint,
  fields: RawFields,
): { keys: readonly SortKey[] } | HttpError {
  const by = readField("sort_by", fields);
  const direction = readField("sort_direction", fields);
  if (typeof by === "object" && by !== null) return by;
  if (typeof direction === "object" && direction !== null) return direction;
  if (by === null && direction === null) return { keys: sort };
  if (sortableFields.length === 0) return httpError("notSortable");
  if (by === null) return httpError("sortDirectionAlone");
  if (!sortableFields.includes(by)) return httpError("sortField", { names: sortableFields.join(", ") });
  const upper = (direction ?? "ASC").toUpperCase();
  if (!isDirection(upper)) return httpError("sortDirection");
  return { keys: [[by, upper], ...sort.filter(([column]) => column !== by)] };
}

function readField(name: string, fields: RawFields): string | HttpError | null {
  const raw = fields.get(name);
  return raw ? readSingle(name, raw) : null;
}

function isDirection(text: string): text is Direction {
  return text === "ASC" || text === "DESC";
}
