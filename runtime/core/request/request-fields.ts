import type { IncomingMessage } from "node:http";
import { httpError, type Result, isHttpError } from "../model/errors.js";
import { VALUES } from "../model/column-types.js";
import { MAX_OFFSET } from "../model/limits.js";
import type { Page, RawFields, RawValue } from "../model/query.js";
import {
  type Direction,
  type Endpoint,
  type Pagination,
  REQUIRE_FRESH,
  type SortKey,
} from "../model/endpoint.js";

/** The fields of a request without parameters. Bounded: always empty. */
export const NO_FIELDS: RawFields = new Map();

/** The fields of a query string (without its `?`). */
export function queryFields(query: string): RawFields {
  const fields = new Map<string, { from: "query"; texts: string[] }>();
  for (const [name, text] of new URLSearchParams(query)) {
    const known = fields.get(name);
    if (known) known.texts.push(text);
    else fields.set(name, { from: "query", texts: [text] });
  }
  return fields;
}

/**
 * Maximum values and nesting of a JSON body: parsing 1 MiB of small objects blocked other requests for 90 ms. The scalars of a list
 * cost no more than the same list in a string, and do not count: `max_items` is their limit in either.
 */
const MAX_BODY_VALUES = 10_000;
const MAX_BODY_DEPTH = 8;

/** The fields of a JSON body; an empty body is `{}`. */
export function bodyFields(text: string): Result<RawFields> {
  if (text.trim() === "") return NO_FIELDS;
  const body = readJson(text);
  return isHttpError(body) ? body : objectFields(body.json);
}

/** The value of a JSON body; its long numbers are strings, which have all digits. */
export function readJson(text: string): Result<{ readonly json: unknown }> {
  if (isTooComplex(text)) return httpError("bodyTooComplex", { max: MAX_BODY_VALUES, depth: MAX_BODY_DEPTH });
  const json = parse(text);
  return json === undefined ? httpError("bodyNotJson") : { json };
}

/** Scans the text before it is parsed. Tracks quotes and escapes, so that strings do not count. */
function isTooComplex(text: string): boolean {
  const openBrackets: number[] = [];
  let values = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === COMMA) values += openBrackets.at(-1) === BRACKET ? 0 : 1;
    else if (code === BRACKET || code === BRACE) {
      openBrackets.push(code);
      values++;
    } else if (code === BRACKET + 2 || code === BRACE + 2) openBrackets.pop();
    if (openBrackets.length > MAX_BODY_DEPTH || values > MAX_BODY_VALUES) return true;
  }
  return false;
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/** The fields of a parsed body. */
function objectFields(json: unknown): Result<RawFields> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return httpError("bodyNotObject");
  const values = Object.entries(json as Record<string, unknown>);
  return new Map(values.map(([name, value]) => [name, { from: "body", value }]));
}

/** The fields of a body that middleware has parsed: it may have rounded numbers of more than 15 digits, which are refused. */
export function fieldsOfParsed(body: unknown): Result<RawFields> {
  const fields = objectFields(body);
  if (isHttpError(fields)) return fields;
  for (const [name, field] of fields)
    if (field.from === "body" && isRounded(field.value))
      return httpError("valueNotOfType", { name, type: EXACT });
  return fields;
}

/** Whether a number, also one in a list or of an operator, has more than 15 digits or was too large. */
function isRounded(value: unknown, depth = 2): boolean {
  if (typeof value === "object" && value !== null)
    return depth > 0 && Object.values(value).some((each) => isRounded(each, depth - 1));
  if (typeof value !== "number") return false;
  return !Number.isFinite(value) || Number(value.toPrecision(15)) !== value;
}

const EXACT = "a string where a number has more than 15 digits";

/** A number of more digits, or of a larger exponent, than a double keeps exactly. */
const LONG = /\d[\d.eE+-]{15,}|\d[eE][+-]?\d{3}/;
/** The same as whole tokens; strings are matched only to skip them. */
const LONG_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]{15,}|-?\d[\d.]*[eE][+-]?\d{3,}/g;

/** Parses JSON. Long numbers become strings: filters take text, and must keep all digits. */
function parse(text: string): unknown {
  try {
    const json = JSON.parse(text) as unknown;
    if (!LONG.test(text)) return json;
    return JSON.parse(text.replace(LONG_NUMBER, (token) => (token.startsWith('"') ? token : quoted(token))));
  } catch {
    return undefined;
  }
}

/** `10.000000000000000000` is the integer 10, as JSON.parse would read it. */
function quoted(number: string): string {
  return `"${number.replace(/^(-?\d+)\.0+$/, "$1")}"`;
}

/** The text of a single value; null when it is absent. */
export function readSingle(name: string, raw: RawValue): Result<string> | null {
  if (raw.from === "query") {
    const texts = raw.texts.map((text) => text.trim()).filter((text) => text !== "");
    return texts.length > 1 ? httpError("notSingle", { name }) : (texts[0] ?? null);
  }
  const text = scalarText(raw.value);
  return text === undefined ? httpError("notSingle", { name }) : text || null;
}

/** The one text of a parameter. */
export function readRequired(name: string, fields: RawFields): Result<string> {
  const raw = fields.get(name);
  return (raw && readSingle(name, raw)) ?? httpError("parameterRequired", { name });
}

/** The texts of a list: a repeated name, comma-separated text, or a JSON array; null when it is absent or empty. */
export function readList(name: string, raw: RawValue): Result<readonly string[]> | null {
  const texts = raw.from === "query" ? raw.texts.flatMap(split) : bodyList(raw.value);
  if (texts === undefined) return httpError("notSingle", { name });
  return texts.length === 0 ? null : texts;
}

function bodyList(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) {
    const text = scalarText(value);
    return text === undefined ? undefined : split(text);
  }
  const texts = value.map(scalarText);
  return texts.includes(undefined) ? undefined : texts.filter((text): text is string => !!text);
}

/** A scalar of a JSON body as its text, empty for null; undefined for a list or an object. */
function scalarText(value: unknown): string | undefined {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value.trim();
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

function split(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/**
 * A `Link` to the next page, as a GET with the same parameters, by cursor where there is one. A list in a body whose values
 * contain commas cannot be written in an address: no link. `prefix`: of the public address.
 */
export function nextPageLink(
  request: IncomingMessage & { readonly originalUrl?: string },
  fields: RawFields,
  { limit, offset }: Page,
  cursor: string | null,
  prefix: string,
): readonly string[] {
  const parameters = new URLSearchParams();
  for (const [name, raw] of fields) {
    const texts = raw.from === "query" ? raw.texts : bodyTexts(raw.value);
    if (raw.from === "body" && Array.isArray(raw.value) && texts.some((text) => text.includes(",")))
      return [];
    for (const text of texts) parameters.append(name, text);
  }
  parameters.set("limit", String(limit));
  if (cursor === null) parameters.set("offset", String(offset + limit));
  else {
    parameters.delete("offset");
    parameters.set("cursor", cursor);
  }
  const path = (request.originalUrl ?? request.url ?? "").split("?", 1)[0] ?? "";
  const link = `<${prefix}${path}?${parameters.toString()}>; rel="next"`;
  return link.length > MAX_LINK ? [] : ["Link", link];
}

/** Longest `Link`: Node's own client refuses a response with more than 16 KiB of headers, and many proxies from 8 KiB on. */
const MAX_LINK = 4096;

function bodyTexts(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).filter((each) => each !== null).map(String);
}

/** Whether a request refuses rows that are older than promised. */
export function readRequireFresh(fields: RawFields): Result<boolean> {
  const text = readField(REQUIRE_FRESH, fields);
  if (text === null || isHttpError(text)) return text ?? false;
  if (text === "true" || text === "false") return text === "true";
  return httpError("valueNotOfType", { name: REQUIRE_FRESH, type: VALUES.boolean.text });
}

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

export function readInteger(
  field: string,
  raw: RawValue | undefined,
  { min, max }: Range,
): Result<number> | null {
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

/** The text of `cursor`; null for a page by `offset`. Generated clients may send the default offset, 0, beside it. */
export function readCursor(fields: RawFields): Result<string> | null {
  const text = readField("cursor", fields);
  const offset = fields.get("offset");
  const hasBoth = text !== null && offset !== undefined && !/^\+?0*$/.test(integerText(offset));
  return hasBoth && !isHttpError(text) ? httpError("cursorWithOffset") : text;
}
