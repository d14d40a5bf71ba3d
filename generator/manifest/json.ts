/** What `JSON.parse` gives, before anything is known about it. */
export type Json = unknown;
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value itself when it is an object, else an empty one: for reading optional parts of foreign JSON. */
export function objectOr(value: Json): JsonObject {
  return isObject(value) ? value : {};
}

export function textOr(value: Json, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

/** The strings of a list; anything else in it is passed over. */
export function textsOf(value: Json): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** Orders text by code unit: the same on every machine, whatever its locale. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
