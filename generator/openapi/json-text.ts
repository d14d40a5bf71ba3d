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
  return print(value, "");
}

function print(value: Json, margin: string): string {
  const inner = `${margin}  `;
  if (isList(value))
    return block(
      "[]",
      value.map((item) => print(item, inner)),
      margin,
    );
  if (value === null || typeof value !== "object") return scalar(value);
  const members: [string, Json][] = value instanceof Map ? [...(value as JsonMap)] : Object.entries(value as JsonRecord);
  return block(
    "{}",
    members.map(([key, item]) => `${scalar(key)}: ${print(item, inner)}`),
    margin,
  );
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function block(brackets: "[]" | "{}", parts: readonly string[], margin: string): string {
  if (parts.length === 0) return brackets;
  const lines = parts.map((part) => `${margin}  ${part}`).join(",\n");
  return `${brackets.charAt(0)}\n${lines}\n${margin}${brackets.charAt(1)}`;
}

/**
 * Spelled out, not `\p{Cf}`: that class grows with Unicode, and the same manifest gives the same bytes on every Node.
 */
const HIDDEN =
  /[\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

function scalar(value: string | number | boolean | null): string {
  return JSON.stringify(value).replace(HIDDEN, escape);
}

/** An escape per UTF-16 unit, so that an astral character becomes a surrogate pair. */
function escape(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
