/**
 * A JSON Schema whose valid values have the type `Value`: the one description of a document, for its readers, the validator and
 * the compiler. Of our own: a schema library took 75 ms of each start, where `generate --help` takes 250.
 */
export interface Schema<Value = unknown> {
  readonly [keyword: string]: unknown;
  /** Known to the compiler alone: no schema has it. */
  readonly "~value"?: Value;
}

export type ValueOf<S> = S extends Schema<infer Value> ? Value : never;

type SchemaProperties = Readonly<Record<string, Schema>>;
type Keywords = Readonly<Record<string, unknown>>;
const NONE = {} satisfies SchemaProperties;
type ObjectOf<Required extends SchemaProperties, Optional extends SchemaProperties> = {
  readonly [Key in keyof Required]: ValueOf<Required[Key]>;
} & { readonly [Key in keyof Optional]?: ValueOf<Optional[Key]> };

export const anything: Schema = {};
export const text: Schema<string> = { type: "string" };
export const name: Schema<string> = { type: "string", minLength: 1 };
export const textOrNull: Schema<string | null> = { type: ["string", "null"] };
export const time: Schema<string> = { type: "string", format: "date-time" };
export const flag: Schema<boolean> = { type: "boolean" };
export const yes: Schema<true> = { const: true };
export const number: Schema<number> = { type: "number" };
export const integer: Schema<number> = { type: "integer" };
export const texts: Schema<readonly string[]> = listOf(text);

/** A text with these keywords, such as a pattern or a length. */
export function textOf(keywords: Keywords): Schema<string> {
  return { type: "string", ...keywords };
}

export function wholeNumber(minimum: number, maximum?: number): Schema<number> {
  return { type: "integer", minimum, ...(maximum !== undefined && { maximum }) };
}

export function oneOf<const Text extends string>(values: readonly Text[]): Schema<Text> {
  return { type: "string", enum: values };
}

export function listOf<Value>(items: Schema<Value>, keywords?: Keywords): Schema<readonly Value[]> {
  return { type: "array", items, ...keywords };
}

export function mapOf<Value>(
  values: Schema<Value>,
  keywords?: Keywords,
): Schema<Readonly<Record<string, Value>>> {
  return { type: "object", additionalProperties: values, ...keywords };
}

/** The value or null. A schema with a type of its own has it in a list: generated clients read that better than `anyOf`. */
export function orNull<Value>(schema: Schema<Value>): Schema<Value | null> {
  const { type } = schema;
  return typeof type === "string" && !("enum" in schema)
    ? { ...schema, type: [type, "null"] }
    : { anyOf: [schema, { type: "null" }] };
}

/** A schema with a description, and a default where there is one. */
export function described<Value>(
  description: string,
  schema: Schema<Value>,
  fallback?: NoInfer<Value>,
): Schema<Value> {
  return { ...schema, description, ...(fallback !== undefined && { default: fallback }) };
}

/** The schema of an object. */
export interface ObjectSchema<Value = unknown> extends Schema<Value> {
  readonly type: "object";
  readonly properties: SchemaProperties;
  readonly required: readonly string[];
}

/** An object with these properties and no others. */
export function record<Required extends SchemaProperties, Optional extends SchemaProperties = typeof NONE>(
  required: Required,
  optional: Optional = NONE as Optional,
  keywords?: Keywords,
): ObjectSchema<ObjectOf<Required, Optional>> {
  return openRecord(required, optional, { additionalProperties: false, ...keywords });
}

/** An object with these properties, and maybe others. */
export function openRecord<
  Required extends SchemaProperties,
  Optional extends SchemaProperties = typeof NONE,
>(
  required: Required,
  optional: Optional = NONE as Optional,
  keywords?: Keywords,
): ObjectSchema<ObjectOf<Required, Optional>> {
  const properties = { ...required, ...optional };
  return { type: "object", properties, required: Object.keys(required), ...keywords };
}

/** The object of a schema with more properties. */
export function extended<
  Value,
  Required extends SchemaProperties,
  Optional extends SchemaProperties = typeof NONE,
>(
  { properties, required: before }: ObjectSchema<Value>,
  required: Required,
  optional: Optional = NONE as Optional,
  keywords?: Keywords,
): ObjectSchema<Value & ObjectOf<Required, Optional>> {
  const all = { ...properties, ...required, ...optional };
  return { type: "object", properties: all, required: [...before, ...Object.keys(required)], ...keywords };
}

/** A schema of the OpenAPI document, by its name. */
export function named<Value = unknown>(schema: string): Schema<Value> {
  return { $ref: `#/components/schemas/${schema}` };
}
