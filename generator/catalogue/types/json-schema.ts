import { boundsOf, type DataType, isInteger, type RecordType, type TextType } from "./data-type.js";

/** What a value of the type is in a row of JSON. */
export type JsonKind =
  "integer" | "decimal" | "string" | "dateTime" | Exclude<DataType["kind"], keyof typeof JSON_KINDS>;

const JSON_KINDS = {
  text: "string",
  time: "string",
  uuid: "string",
  bytes: "string",
  timestamp: "dateTime",
} as const;

export function jsonKindOf(type: DataType): JsonKind {
  if (isInteger(type)) return "integer";
  const { kind } = type;
  return kind in JSON_KINDS ? JSON_KINDS[kind as keyof typeof JSON_KINDS] : (kind as JsonKind);
}

/** Text that may hold anything, so dates too. */
export function isPlainText(type: DataType): boolean {
  return jsonKindOf(type) === "string" && type.kind !== "uuid" && !("format" in type);
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
export function jsonSchemaOf(type: DataType): JsonSchema {
  switch (type.kind) {
    case "integer":
    case "decimal":
      return isInteger(type)
        ? { type: named("integer", type), ...rangeOf(type) }
        : { type: named("number", type) };
    case "float":
      return { type: named("number", type), format: type.bits === 32 ? "float" : "double" };
    case "text":
      return { type: named("string", type), ...textOf(type) };
    case "uuid":
      return { type: named("string", type), format: "uuid" };
    case "time":
    case "bytes":
      return { type: named("string", type) };
    case "enum":
      return { type: named("string", type), enum: type.nullable ? [...type.values, null] : type.values };
    case "boolean":
      return { type: named("boolean", type) };
    case "date":
      return { type: named("string", type), format: "date" };
    case "timestamp":
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
function rangeOf(type: Parameters<typeof boundsOf>[0]): JsonSchema {
  const bounds = boundsOf(type);
  const format = INTEGER_FORMATS.get(bounds.join(".."));
  const [minimum, maximum] = bounds.map(Number) as [number, number];
  return {
    ...(format !== undefined && { format }),
    ...(Number.isSafeInteger(minimum) && { minimum }),
    ...(Number.isSafeInteger(maximum) && { maximum }),
  };
}

function textOf({ format, maxLength }: TextType): JsonSchema {
  return { ...(format !== undefined && { format }), ...(maxLength !== undefined && { maxLength }) };
}

/** `fromEntries` also defines a property named `__proto__`. */
function fieldsOf({ fields }: RecordType): JsonSchema {
  return {
    properties: Object.fromEntries(fields.map(({ name, type }) => [name, jsonSchemaOf(type)])),
    required: fields.map((field) => field.name),
  };
}
