import type { Pagination } from "../model/endpoint.js";
import { httpError, type HttpError } from "../model/errors.js";
import type { RawFields, RawValue } from "./raw.js";
import type { Page } from "./selection.js";

/** Past this a JSON number is no longer exact; no table is that long. */
const MAX_OFFSET = Number.MAX_SAFE_INTEGER;

/** `limit` and `offset` (data-api.md §4.3); null where the endpoint has no pages. */
export function readPage(pagination: Pagination | null, fields: RawFields): Page | HttpError | null {
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
