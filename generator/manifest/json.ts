export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value if it is an object, otherwise an empty object: to read optional parts of JSON. */
export function objectOr(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Settings nest no deeper; a hostile manifest would overflow the stack. */
const MAX_SETTINGS_DEPTH = 8;

/** Without members that are null, which YAML has for a key without a value; those of `kept` stay. */
export function withoutNulls(value: unknown, kept: ReadonlySet<string>, depth = 0): unknown {
  if (depth === MAX_SETTINGS_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, kept, depth + 1));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key, item]) => item !== null || kept.has(key));
  return Object.fromEntries(
    entries.map(([key, item]) => [key, kept.has(key) ? item : withoutNulls(item, kept, depth + 1)]),
  );
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
