import { CLICKHOUSE_TYPES, type DatabaseType, typeNamed } from "../../core/model/database-types.js";
import { ownValue } from "../../core/model/own-value.js";
import { type TypeText, typeTextOf } from "../../core/model/type-text.js";
import type { ResultColumn } from "../../core/warehouse/warehouse.js";

/** The type of a property (OData CSDL 4.01, 3). */
export interface EdmType {
  /** As `Edm.Decimal`; `Edm.Untyped` of JSON, lists of lists and objects. */
  readonly name: string;
  readonly isCollection?: true;
  readonly precision?: number;
  readonly scale?: number | "variable";
  readonly maxLength?: number;
}

const TEXT: EdmType = { name: "Edm.String" };
const UNTYPED: EdmType = { name: "Edm.Untyped" };

/** Their JSON is a string where a client asks for `IEEE754Compatible`. */
const LONG: ReadonlySet<string> = new Set(["Edm.Int64", "Edm.Decimal"]);

export const isLong = ({ name }: EdmType): boolean => LONG.has(name);

/** The type of a column by the text that its model declares; null where that does not say. */
export function declaredType(text: string | null): EdmType | null {
  const parsed = text === null ? null : typeTextOf(text);
  return parsed === null ? null : typeOf(parsed);
}

/** The type of a column as the database has it. */
export function databaseType({ type, fields, decimal, isEnum, range }: ResultColumn): EdmType {
  if (fields || type.startsWith("_")) return UNTYPED;
  if (isEnum || range) return TEXT;
  return decimal && type === "numeric" ? decimalType(...decimal) : (declaredType(type) ?? TEXT);
}

const WRAPPERS: ReadonlySet<string> = new Set(["Nullable", "LowCardinality", "SimpleAggregateFunction"]);
const OBJECTS: ReadonlySet<string> = new Set([
  ...["json", "jsonb", "map", "tuple", "nested", "variant", "dynamic", "object", "struct", "qbit"],
  ...["ring", "linestring", "multilinestring", "polygon", "multipolygon", "geometry"],
]);

function typeOf({ name, args, dimensions }: TypeText): EdmType | null {
  // PostgreSQL's lists may be null, OData's not.
  if (dimensions > 0) return UNTYPED;
  if (WRAPPERS.has(name)) return declaredType(args.at(-1) ?? null);
  const lower = name.toLowerCase();
  if (name === "Array") {
    const element = declaredType(args[0] ?? null);
    return element && listOf(element);
  }
  const known = ownValue(CLICKHOUSE_TYPES, name) ?? typeNamed(lower);
  // PostgreSQL's own shapes are texts, ClickHouse's are lists of numbers.
  if (OBJECTS.has(lower) && known?.refusal === undefined) return UNTYPED;
  return known && namedType(name, known, args);
}

/** OData has no list of lists, and no list of numbers that may be strings. */
function listOf(element: EdmType): EdmType {
  return element.isCollection || element === UNTYPED || isLong(element)
    ? UNTYPED
    : { ...element, isCollection: true };
}

function namedType(name: string, type: DatabaseType, args: readonly string[]): EdmType {
  const [first] = args.map(Number).filter(Number.isInteger);
  switch (type.value) {
    case "integer":
      return integerType(type);
    case "number":
      if (!type.hasInfinity || isDecimalName(name)) return decimalOf(name, args);
      return { name: /^(?:float4|real|float32|bfloat16)$/i.test(name) ? "Edm.Single" : "Edm.Double" };
    case "boolean":
      return { name: "Edm.Boolean" };
    case "uuid":
      return { name: "Edm.Guid" };
    case "date":
      return { name: "Edm.Date" };
    case "date-time":
      return { name: "Edm.DateTimeOffset", precision: secondsDigits(name, first) };
    case "time":
      // ClickHouse's are durations, and those of PostgreSQL with a zone have no type here.
      return /^time(?: without time zone)?$/.test(name) ? { name: "Edm.TimeOfDay", precision: 6 } : TEXT;
    case "text":
      return first !== undefined && /char/i.test(name) ? { ...TEXT, maxLength: first } : TEXT;
    default:
      return TEXT;
  }
}

function secondsDigits(name: string, digits: number | undefined): number {
  if (/^datetime(?:32)?$/i.test(name)) return 0;
  return digits ?? (/^datetime64$/i.test(name) ? 3 : 6);
}

function integerType({ bits = 64, isUnsigned }: DatabaseType): EdmType {
  const needed = isUnsigned ? bits + 1 : bits;
  if (bits === 8) return { name: isUnsigned ? "Edm.Byte" : "Edm.SByte" };
  if (needed <= 16) return { name: "Edm.Int16" };
  if (needed <= 32) return { name: "Edm.Int32" };
  if (needed <= 64) return { name: "Edm.Int64" };
  return decimalType(String(2n ** BigInt(bits)).length, 0);
}

const isDecimalName = (name: string): boolean => /^(?:numeric|dec|decimal\d*)$/i.test(name);

/** `Decimal64(4)` names its digits; `numeric` leaves them open. */
function decimalOf(name: string, args: readonly string[]): EdmType {
  const [first, second] = args.map(Number);
  const digits = { 32: 9, 64: 18, 128: 38, 256: 76 }[/^decimal(\d+)$/i.exec(name)?.[1] ?? ""];
  if (digits !== undefined) return decimalType(digits, first ?? 0);
  return first === undefined ? { name: "Edm.Decimal", scale: "variable" } : decimalType(first, second ?? 0);
}

const decimalType = (precision: number, scale: number): EdmType => ({
  name: "Edm.Decimal",
  precision,
  scale,
});
