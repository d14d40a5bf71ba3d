import type { Direction, Endpoint, Pagination, SortKey } from "../model/endpoint.js";
import { httpError, isHttpError, type Result } from "../model/errors.js";
import type { Page } from "../model/query.js";
import { type RawFields, type RawValue, readSingle } from "./request-fields.js";

/** The largest exact integer of JSON. */
const MAX_OFFSET = Number.MAX_SAFE_INTEGER;

/** `limit` and `offset`; null for an endpoint without pagination. */
export function readPage(pagination: Pagination | null, fields: RawFields): Result<Page> | null {
  if (pagination === null) return null;
  const { defaultLimit, maxLimit, response } = pagination;
  const limit = readInteger("limit", fields.get("limit"), { min: 1, max: maxLimit }) ?? defaultLimit;
  if (isHttpError(limit)) return limit;
  const offset = readInteger("offset", fields.get("offset"), { min: 0, max: MAX_OFFSET }) ?? 0;
  if (isHttpError(offset)) return offset;
  return { limit, offset, lookAhead: true, envelope: response === "envelope" };
}

interface Range {
  readonly min: number;
  readonly max: number;
}

function readInteger(field: string, raw: RawValue | undefined, { min, max }: Range): Result<number> | null {
  const text = raw && integerText(raw);
  if (!text) return null;
  if (!/^[+-]?\d+$/.test(text)) return httpError("notInteger", { field });
  const number = Number(text);
  if (number < min) return httpError("belowMinimum", { field, min });
  return number > max ? httpError("aboveMaximum", { field, max }) : number;
}

/** Joins repeated names with commas, which makes the integer invalid. */
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

/** The caller's sort, then the declared sort as tie-breaker, then the columns of a cursor that identify a row. */
export function readSort(
  { sort: declared, sortableFields, cursor = [] }: Endpoint,
  fields: RawFields,
): Result<{ readonly keys: readonly SortKey[] }> {
  const unsorted = cursor.filter((name) => !declared.some(([column]) => column === name));
  const sort =
    cursor.length === 0 ? declared : [...declared, ...unsorted.map((name) => [name, "ASC"] as const)];
  const by = readField("sort_by", fields);
  const direction = readField("sort_direction", fields);
  if (isHttpError(by)) return by;
  if (isHttpError(direction)) return direction;
  if (by === null && direction === null) return { keys: sort };
  if (sortableFields.length === 0) return httpError("notSortable");
  if (by === null) return httpError("sortDirectionAlone");
  if (!sortableFields.includes(by)) return httpError("sortField", { names: sortableFields.join(", ") });
  const upper = (direction ?? "ASC").toUpperCase();
  if (!isDirection(upper)) return httpError("sortDirection");
  return { keys: [[by, upper], ...sort.filter(([column]) => column !== by)] };
}

function readField(name: string, fields: RawFields): Result<string> | null {
  const raw = fields.get(name);
  return raw ? readSingle(name, raw) : null;
}

function isDirection(text: string): text is Direction {
  return text === "ASC" || text === "DESC";
}

/** The text of `cursor`; null for a page by `offset`. */
export function readCursor(fields: RawFields): Result<string> | null {
  const text = readField("cursor", fields);
  const offset = fields.get("offset");
  const hasBoth = text !== null && offset !== undefined && integerText(offset) !== "";
  return hasBoth && !isHttpError(text) ? httpError("cursorWithOffset") : text;
}
