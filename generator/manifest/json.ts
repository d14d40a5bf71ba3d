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

/** The strings of a list; other items are ignored. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** The objects of a list; other items are ignored. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** JSON that is serialized already, indented for its place in a larger text. */
export class JsonText {
  constructor(readonly text: string) {}
}
