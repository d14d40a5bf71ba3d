/**
 * The type of a column's values in a JSON row, for every engine. Plain data: it can be compared, printed and sent as JSON.
 * `json` and `unknown` include null, so they have no `nullable`.
 */
export type ColumnType =
  | IntegerType
  | DecimalType
  | FloatType
  | StringType
  | EnumType
  | PlainType
  | ArrayType
  | MapType
  | TupleType
  | RecordType
  | AnyType;

interface MaybeNull {
  readonly nullable: boolean;
}

/** Integers; `min` and `max` are inclusive, as decimal digits, since they may exceed a JavaScript number. */
export interface IntegerType extends MaybeNull {
  readonly kind: "integer";
  readonly min: string;
  readonly max: string;
}

/** Exact decimals: `precision` digits, `scale` of them after the point; absent if the type does not fix them. */
export interface DecimalType extends MaybeNull {
  readonly kind: "decimal";
  readonly precision?: number;
  readonly scale?: number;
}

interface FloatType extends MaybeNull {
  readonly kind: "float";
  readonly bits: 32 | 64;
}

/** `maxLength` counts Unicode characters, as both PostgreSQL and JSON Schema do. */
export interface StringType extends MaybeNull {
  readonly kind: "string";
  readonly format?: "uuid" | "ipv4" | "ipv6";
  readonly maxLength?: number;
}

/** One of a few strings: at least one, no two alike, in the declared order. */
export interface EnumType extends MaybeNull {
  readonly kind: "enum";
  readonly values: readonly string[];
  /** As the database sorts them, where that is not as declared. */
  readonly order?: readonly string[];
}

/** Dates as `YYYY-MM-DD`, date-times in RFC 3339 in UTC with `Z`. */
interface PlainType extends MaybeNull {
  readonly kind: "boolean" | "date" | "dateTime";
}

interface ArrayType extends MaybeNull {
  readonly kind: "array";
  readonly of: ColumnType;
}

/** A JSON object with any keys; keys of every type become strings. */
interface MapType extends MaybeNull {
  readonly kind: "map";
  readonly value: ColumnType;
}

/** A JSON array with one type per position; at least one position. */
interface TupleType extends MaybeNull {
  readonly kind: "tuple";
  readonly of: readonly ColumnType[];
}

/** A tuple with named positions, which is a JSON object. */
export interface RecordType extends MaybeNull {
  readonly kind: "record";
  readonly fields: readonly Field[];
}

export interface Field {
  readonly name: string;
  readonly type: ColumnType;
}

/** Any JSON value: the declared type is JSON; or no type is declared, or an unsupported one. */
export interface AnyType {
  readonly kind: "json" | "unknown";
  /** The type as written, where a comparison asks for it; none for a column without a type. */
  readonly name?: string;
}

export const UNKNOWN: AnyType = { kind: "unknown" };

/** The same type with null allowed. */
export function nullable(type: ColumnType): ColumnType {
  return "nullable" in type ? { ...type, nullable: true } : type;
}

/** The part of JSON Schema 2020-12 (OpenAPI 3.1) that describes a column; `{}` accepts any value. */
export interface JsonSchema {
  readonly type?: TypeName | readonly [TypeName, "null"];
  readonly format?: string;
  readonly enum?: readonly (string | null)[];
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema | false;
  readonly prefixItems?: readonly JsonSchema[];
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
}

type TypeName = "integer" | "number" | "string" | "boolean" | "array" | "object";

/** Schema of a column's values in a JSON row. Keys come in a fixed order, `type` first. */
export function jsonSchemaOf(type: ColumnType): JsonSchema {
  switch (type.kind) {
    case "integer":
      return { type: named("integer", type), ...rangeOf(type) };
    case "decimal":
      return { type: named("number", type) };
    case "float":
      return { type: named("number", type), format: type.bits === 32 ? "float" : "double" };
    case "string":
      return { type: named("string", type), ...textOf(type) };
    case "enum":
      return { type: named("string", type), enum: type.nullable ? [...type.values, null] : type.values };
    case "boolean":
      return { type: named("boolean", type) };
    case "date":
      return { type: named("string", type), format: "date" };
    case "dateTime":
      return { type: named("string", type), format: "date-time" };
    case "array":
      return { type: named("array", type), items: jsonSchemaOf(type.of) };
    case "map":
      return { type: named("object", type), additionalProperties: jsonSchemaOf(type.value) };
    case "tuple":
      return {
        type: named("array", type),
        prefixItems: type.of.map(jsonSchemaOf),
        items: false,
        minItems: type.of.length,
      };
    case "record":
      return { type: named("object", type), ...fieldsOf(type) };
    case "json":
    case "unknown":
      return {};
  }
}

function named(name: TypeName, type: { readonly nullable: boolean }): TypeName | readonly [TypeName, "null"] {
  return type.nullable ? [name, "null"] : name;
}

/** Names of the OpenAPI Format Registry, by which client generators choose an integer type. */
const INTEGER_FORMATS: ReadonlyMap<string, string> = new Map(
  [8, 16, 32, 64].flatMap((bits): [string, string][] => {
    const half = 2n ** BigInt(bits - 1);
    return [
      [`${-half}..${half - 1n}`, `int${bits}`],
      [`0..${2n * half - 1n}`, `uint${bits}`],
    ];
  }),
);

/** A bound beyond 2^53 - 1 is omitted: most JSON parsers would round it and then reject valid values. */
function rangeOf({ min, max }: IntegerType): JsonSchema {
  const format = INTEGER_FORMATS.get(`${min}..${max}`);
  const [minimum, maximum] = [Number(min), Number(max)];
  return {
    ...(format !== undefined && { format }),
    ...(Number.isSafeInteger(minimum) && { minimum }),
    ...(Number.isSafeInteger(maximum) && { maximum }),
  };
}

function textOf({ format, maxLength }: StringType): JsonSchema {
  return { ...(format !== undefined && { format }), ...(maxLength !== undefined && { maxLength }) };
}

/** `fromEntries` also defines a property named `__proto__`. */
function fieldsOf({ fields }: RecordType): JsonSchema {
  return {
    properties: Object.fromEntries(fields.map(({ name, type }) => [name, jsonSchemaOf(type)])),
    required: fields.map((field) => field.name),
  };
}

/** Text that may hold anything, so dates too. */
export function isPlainText(type: ColumnType): boolean {
  return type.kind === "string" && type.format === undefined;
}
