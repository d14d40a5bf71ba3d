import { httpError, type HttpError } from "../model/errors.js";
import type { RawValue } from "./raw.js";

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
