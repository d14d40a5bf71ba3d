export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value itself when it is an object, else an empty one: for reading optional parts of foreign JSON. */
export function objectOr(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function textOr(value: unknown, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

/** The strings of a list; other items are ignored. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** Orders text by code unit: the same on every machine, whatever its locale. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Characters that a reader of generated text cannot see, or that change how the text around them is shown: controls,
 * bidirectional overrides, zero-width ones, line separators, fillers, surrogates without a partner. Spelled out, not
 * `\p{Cf}`: that class grows with Unicode, and the same manifest gives the same bytes on every Node.
 */
export const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\ufff9-\ufffb\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]/gu;

const PRINTABLE_ASCII = /^[ -~]*$/;

/** The text with a `\u` escape per UTF-16 unit for what is hidden: within a string literal, the same text still. */
export function visible(text: string): string {
  return PRINTABLE_ASCII.test(text) ? text : text.replace(HIDDEN, escaped);
}

/** JSON of a value with its hidden characters escaped. Most texts hold nothing to escape. */
export function visibleJson(value: unknown): string {
  return typeof value === "string" && PLAIN.test(value) ? `"${value}"` : visible(JSON.stringify(value));
}

/** JSON that is printed already, with the margin of its place in the text around it. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** Printable ASCII without quotes and backslashes. */
const PLAIN = /^[ !#-[\]-~]*$/;

function escaped(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
