import { visible } from "../manifest/hidden.js";

/**
 * JSON that keeps its keys in order. Names from a manifest go into a `Map`: a plain object would move "2024" to the
 * front and take "__proto__" for something else.
 */
export type Json = string | number | boolean | null | readonly Json[] | JsonRecord | JsonMap;
export interface JsonRecord {
  readonly [key: string]: Json;
}
export type JsonMap = ReadonlyMap<string, Json>;

/**
 * The text `JSON.stringify(value, null, 2)` would give, except that characters which are invisible or change how
 * the text around them is shown (bidirectional overrides, zero-width ones, controls) are written as `\u` escapes:
 * a reviewer sees what a consumer gets.
 */
export function jsonText(value: Json): string {
  return print(value, "\n");
}

/** `margin` is the line break and the spaces in front of the value's closing bracket. */
function print(value: Json, margin: string): string {
  if (value === null || typeof value !== "object") return scalar(value);
  return isList(value) ? printList(value, margin) : printObject(value, margin);
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** Text is added piece by piece, as it is a megabyte or more: lists of pieces to join cost several times as much. */
function printList(value: readonly Json[], margin: string): string {
  const inner = `${margin}  `;
  let text = "";
  for (const item of value) text += `${text === "" ? "" : ","}${inner}${print(item, inner)}`;
  return text === "" ? "[]" : `[${text}${margin}]`;
}

function printObject(value: JsonRecord | JsonMap, margin: string): string {
  const inner = `${margin}  `;
  let text = "";
  for (const [key, item] of value instanceof Map ? (value as JsonMap) : Object.entries(value as JsonRecord)) {
    text += `${text === "" ? "" : ","}${inner}${scalar(key)}: ${print(item, inner)}`;
  }
  return text === "" ? "{}" : `{${text}${margin}}`;
}

function scalar(value: string | number | boolean | null): string {
  return visible(JSON.stringify(value));
}
