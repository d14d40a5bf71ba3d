export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value if it is an object, otherwise an empty object: to read optional parts of JSON. */
export function objectOr(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function textOr(value: unknown, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

/** A key as a step of a JSON path. */
export function member(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** The value if it is a list, otherwise an empty list. */
export function listOr(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The strings of a list; other items are ignored. */
export function textsOf(value: unknown): readonly string[] {
  return listOr(value).filter((item) => typeof item === "string");
}

/** The objects of a list; other items are ignored. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return listOr(value).filter(isObject);
}
