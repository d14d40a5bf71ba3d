import { httpError, type HttpError } from "../model/errors.js";
/** What a caller sent, before it is checked: by name, in the order sent. Never an object, so no name can be special. */
export type RawFields = ReadonlyMap<string, RawValue>;

/** One name of a query string (every time it is given), or one field of a JSON body. */
export type RawValue =
  | { readonly from: "query"; readonly texts: readonly string[] }
  | { readonly from: "body"; readonly value: unknown };

/** Of a request without parameters. */
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

/** The fields of a JSON body; an empty one is `{}` (decisions.md §A). */
export function bodyFields(text: string): RawFields | HttpError {
  const json = text.trim() === "" ? {} : parse(text);
  if (json === undefined) return httpError("bodyNotJson");
  return objectFields(json);
}

/** Fields that are looked at: no endpoint declares as many, so among the first of more is one to refuse. */
const MAX_FIELDS = 1000;

/** The fields of a body that somebody has parsed already. */
export function objectFields(json: unknown): RawFields | HttpError {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return httpError("bodyNotObject");
  const values = json as Record<string, unknown>;
  const names = Object.keys(values).slice(0, MAX_FIELDS);
  return new Map(names.map((name) => [name, { from: "body", value: values[name] }]));
}

/** A number with more digits than a double keeps exactly; strings are matched only to be stepped over. */
const LONG_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]{15,}/g;

/** Parses JSON; long numbers become their text, since a number is read as its text anyway and must keep its digits. */
function parse(text: string): unknown {
  try {
    const json = JSON.parse(text) as unknown;
    if (!/\d[\d.eE+-]{15,}/.test(text)) return json;
    return JSON.parse(text.replace(LONG_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`)));
  } catch {
    return undefined;
  }
}

/** The text of a value that stands alone; null when it is absent. */
export function readSingle(name: string, raw: RawValue): string | HttpError | null {
  if (raw.from === "query") {
    const texts = raw.texts.map((text) => text.trim()).filter((text) => text !== "");
    return texts.length > 1 ? httpError("notSingle", { name }) : (texts[0] ?? null);
  }
  const text = scalarText(raw.value);
  return text === undefined ? httpError("notSingle", { name }) : text || null;
}

/** The texts of a list: a name given again, a comma-separated value, or a JSON array; null when there is none. */
export function readList(name: string, raw: RawValue): readonly string[] | HttpError | null {
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
