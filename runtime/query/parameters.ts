import {
  PAGE_FIELDS,
  SORT_FIELDS,
  type Endpoint,
  type LetterCase,
  type Parameter,
} from "../model/endpoint.js";
import { httpError, type HttpError } from "../model/errors.js";
import { readPage } from "./page.js";
import type { RawFields, RawValue } from "./raw.js";
import type { Condition, Selection } from "./selection.js";
import { readSort } from "./sort.js";
import { readSingle, readList } from "./values.js";

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
