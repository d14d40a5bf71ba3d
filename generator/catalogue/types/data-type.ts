/**
 * A type of a database, read once from its text (`read-type.ts`), which it keeps. JSON Schema, TypeScript, examples, operators,
 * comparison and the types of a copy are views of it. Plain data: it can be compared, printed and sent as JSON.
 */
export type DataType =
  | IntegerType
  | DecimalType
  | FloatType
  | TextType
  | TimestampType
  | EnumType
  | PlainType
  | ArrayType
  | MapType
  | TupleType
  | RecordType
  | AnyType;

interface WrittenType {
  /** As the database or the project writes it. */
  readonly text: string;
  /** Of what it wraps, without arguments, in lower case; of an array of PostgreSQL that of its elements. */
  readonly name: string;
  /** The first argument of that name where it is a number: a precision, a length. */
  readonly argument: number | null;
  /** `json` and `unknown` include null in any case. */
  readonly nullable: boolean;
}

export interface IntegerType extends WrittenType {
  readonly kind: "integer";
  readonly bits: 8 | 16 | 32 | 64 | 128 | 256;
  readonly isUnsigned?: true;
}

/**
 * Exact decimals: `precision` digits, `scale` of them after the point; absent if the type does not fix them. A scale below 0
 * (PostgreSQL 15) rounds to tens, hundreds and so on.
 */
export interface DecimalType extends WrittenType {
  readonly kind: "decimal";
  readonly precision?: number;
  readonly scale?: number;
}

interface FloatType extends WrittenType {
  readonly kind: "float";
  readonly bits: 32 | 64;
}

/** `maxLength` counts Unicode characters, as both PostgreSQL and JSON Schema do. */
export interface TextType extends WrittenType {
  readonly kind: "text";
  readonly format?: "ipv4" | "ipv6";
  readonly maxLength?: number;
}

/** `precision`: digits of a second. */
interface TimestampType extends WrittenType {
  readonly kind: "timestamp";
  readonly precision: number;
  readonly hasZone: boolean;
}

/** One of a few strings: at least one, no two alike, in the declared order. */
export interface EnumType extends WrittenType {
  readonly kind: "enum";
  readonly values: readonly string[];
  /** As the database sorts them, where that is not as declared. */
  readonly order?: readonly string[];
}

/** `time` is a time of day. */
interface PlainType extends WrittenType {
  readonly kind: "boolean" | "date" | "time" | "uuid" | "bytes";
}

interface ArrayType extends WrittenType {
  readonly kind: "array";
  readonly of: DataType;
}

interface MapType extends WrittenType {
  readonly kind: "map";
  readonly key: DataType;
  readonly value: DataType;
}

/** One type per position; at least one position. */
interface TupleType extends WrittenType {
  readonly kind: "tuple";
  readonly of: readonly DataType[];
}

/** A tuple with named positions. */
export interface RecordType extends WrittenType {
  readonly kind: "record";
  readonly fields: readonly Field[];
}

export interface Field {
  readonly name: string;
  readonly type: DataType;
}

/** Any JSON value: the declared type is JSON; or no type is declared, or an unsupported one. */
export interface AnyType extends WrittenType {
  readonly kind: "json" | "unknown";
  /** What it is compared by, where a comparison asks for it; none for a column without a type. */
  readonly identity?: string;
}

/** What a name and its arguments say of a type; a wrapper says all of what it wraps. */
export type Shape = Unwritten<DataType> | DataType;
type Unwritten<Type> = Type extends unknown ? Omit<Type, keyof WrittenType> : never;

/** Without a text a type that no database writes. */
export function typeFrom(shape: Shape, text = ""): DataType {
  return { name: "", argument: null, nullable: false, ...shape, text };
}

/** Of a column without a type. */
export const UNKNOWN: AnyType = { kind: "unknown", text: "", name: "", argument: null, nullable: false };

export function isAny(type: DataType): type is AnyType {
  return type.kind === "json" || type.kind === "unknown";
}

/** The same type with null allowed. */
export function nullable(type: DataType): DataType {
  return isAny(type) || type.nullable ? type : { ...type, nullable: true };
}

/** Whether null is a value of the type. */
export function allowsNull(type: DataType): boolean {
  return isAny(type) || type.nullable;
}

/** Whether a copy can have values of the type: tuples have no names for their positions. */
export function isKnown(type: DataType): boolean {
  switch (type.kind) {
    case "unknown":
    case "tuple":
      return false;
    case "array":
      return isKnown(type.of);
    case "map":
      return isKnown(type.key) && isKnown(type.value);
    case "record":
      return type.fields.every((field) => isKnown(field.type));
    default:
      return true;
  }
}

/** Whether all values are integers: those of a decimal without digits after the point are. */
export function isInteger(type: DataType): type is IntegerType | WholeDecimal {
  return type.kind === "integer" || (type.kind === "decimal" && type.scale !== undefined && type.scale <= 0);
}

type WholeDecimal = Required<DecimalType>;

/** The least and the greatest value of an integer; they may exceed a JavaScript number. */
export function boundsOf(type: IntegerType | WholeDecimal): readonly [min: bigint, max: bigint] {
  if (type.kind === "integer") {
    const size = 2n ** BigInt(type.bits);
    return type.isUnsigned ? [0n, size - 1n] : [-size / 2n, size / 2n - 1n];
  }
  const max = (10n ** BigInt(type.precision) - 1n) * 10n ** BigInt(-type.scale);
  return [-max, max];
}

/** Whether a value can have more digits than a JavaScript number represents exactly (generator/docs/large-numbers.md). */
export function isWide(type: DataType): boolean {
  switch (type.kind) {
    case "integer":
    case "decimal":
      return isWideNumber(type);
    case "array":
      return isWide(type.of);
    case "map":
      return isWide(type.value);
    case "tuple":
      return type.of.some(isWide);
    case "record":
      return type.fields.some((field) => isWide(field.type));
    default:
      return false;
  }
}

/** As `isWide`, but false for arrays and other structures of numbers. */
export function isWideNumber(type: DataType): boolean {
  if (isInteger(type)) return boundsOf(type).some((bound) => !Number.isSafeInteger(Number(bound)));
  return type.kind === "decimal" && (type.precision ?? Infinity) > SAFE_DIGITS;
}

/** Decimal digits that a double represents exactly. */
const SAFE_DIGITS = 15;
