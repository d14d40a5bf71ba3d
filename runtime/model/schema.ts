/** A JSON Schema whose valid values have the type `Value`: the one description of a body, for the compiler too. */
export interface Schema<Value = unknown> {
  readonly [keyword: string]: unknown;
  /** Known to the compiler alone: no schema has it. */
  readonly "~value"?: Value;
}

export type ValueOf<S> = S extends Schema<infer Value> ? Value : never;

type SchemaProperties = Readonly<Record<string, Schema>>;
type SchemaValues<P extends SchemaProperties> = { readonly [Key in keyof P]: ValueOf<P[Key]> };
type ObjectOf<P extends SchemaProperties, Optional extends SchemaProperties> = SchemaValues<P> &
  Partial<SchemaValues<Optional>>;

export function named(schema: string): Schema {
  return { $ref: `#/components/schemas/${schema}` };
}

export const TEXT: Schema<string> = { type: "string" };
export const TEXT_OR_NULL: Schema<string | null> = { type: ["string", "null"] };
export const INTEGER: Schema<number> = { type: "integer" };
export const INTEGER_OR_NULL: Schema<number | null> = { type: ["integer", "null"] };

export const FLAG: Schema<boolean> = { type: "boolean" };
export const TIME: Schema<string> = { type: "string", format: "date-time" };

export function described<Value>(schema: Schema<Value>, description: string): Schema<Value> {
  return { ...schema, description };
}

export function oneOf<const Text extends string>(values: readonly Text[]): Schema<Text> {
  return { type: "string", enum: values };
}

export function texts(description: string): Schema<readonly string[]> {
  return { type: "array", items: TEXT, description };
}

/** A list of objects. */
export function listOf<P extends SchemaProperties, Optional extends SchemaProperties = typeof NONE>(
  properties: P,
  description: string,
  optional = NONE as Optional,
): Schema<readonly ObjectOf<P, Optional>[]> {
  return { type: "array", description, items: record(properties, optional) };
}

export function record<P extends SchemaProperties, Optional extends SchemaProperties = typeof NONE>(
  properties: P,
  optional = NONE as Optional,
): Schema<ObjectOf<P, Optional>> {
  const required = Object.keys(properties);
  return { type: "object", properties: { ...properties, ...optional }, required };
}

const NONE = {} satisfies SchemaProperties;

export function orNull<Value>(schema: Schema<Value>, description?: string): Schema<Value | null> {
  return { ...schema, type: [schema["type"], "null"], ...(description && { description }) };
}

export const HELD_BACK = listOf(
  { endpoint: TEXT, changes: texts("What diff calls breaking or exposing.") },
  "Endpoints whose changes the guard holds back.",
);
