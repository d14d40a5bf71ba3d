import { fieldTextOf, unquoted } from "@routewright/runtime/model";
import { type DataType, type Field, nullable, type Shape, typeFrom, UNKNOWN } from "./data-type.js";

/** Builds a type from the arguments in brackets after its name; undefined if they are invalid. */
export type TypeConstructor = (args: readonly string[], read: ReadType) => Shape | undefined;

/** Reads an argument that is itself a type. */
type ReadType = (text: string) => DataType;

/** Constructors by type name, in lower case. */
export type NamedConstructors = readonly (readonly [name: string, typeConstructor: TypeConstructor])[];

/** The types of a database by their names, in lower case. */
export interface Dialect {
  readonly names: ReadonlyMap<string, TypeConstructor>;
  /** Names whose letter case decides. */
  readonly exactCase?: ReadonlyMap<string, TypeConstructor>;
  /** Of the engines that serve: they have no `<>`, and few dimensions. */
  readonly isServed: boolean;
}

/** These names, with commas between them. */
export function all(names: string, typeConstructor: TypeConstructor): NamedConstructors {
  return names.split(", ").map((name) => [name, typeConstructor]);
}

/** This type with any arguments: they, such as a length or a time zone, do not change the form of its values. */
export function always(shape: Shape): TypeConstructor {
  return () => shape;
}

type Bits = 8 | 16 | 32 | 64 | 128 | 256;
export const signed = (bits: Bits): TypeConstructor => always({ kind: "integer", bits });
export const unsigned = (bits: Bits): TypeConstructor => always({ kind: "integer", bits, isUnsigned: true });

const TEXT_SHAPE: Shape = { kind: "text" };
export const TEXT = always(TEXT_SHAPE);
export const BYTES = always({ kind: "bytes" });
export const BOOLEAN = always({ kind: "boolean" });
export const DATE = always({ kind: "date" });
export const TIME = always({ kind: "time" });
export const UUID = always({ kind: "uuid" });
export const JSON_VALUE = always({ kind: "json" });
export const SINGLE = always({ kind: "float", bits: 32 });
export const DOUBLE = always({ kind: "float", bits: 64 });
export const ANY_DECIMAL = always({ kind: "decimal" });

/** `digits`: of a second, where the type names none. */
export function timestamp(hasZone: boolean, digits: number): TypeConstructor {
  return ([first = ""]) => {
    const precision = /^\d+$/.test(first) ? Number(first) : digits;
    return { kind: "timestamp", precision, hasZone };
  };
}

/** `varchar(n)`, `FixedString(n)`: n bytes never hold more than n characters. */
export const sizedText: TypeConstructor = (args) => {
  if (args.length === 0) return TEXT_SHAPE;
  const [maxLength] = numbersOf(args) ?? [];
  return maxLength !== undefined && maxLength > 0 && Number.isSafeInteger(maxLength)
    ? { kind: "text", maxLength }
    : undefined;
};

/** `Decimal(P, S)`, `numeric(p, s)`, and what it is without arguments. Without S the scale is 0 everywhere. */
export function decimal(
  without: { readonly precision?: number; readonly scale?: number } = {},
): TypeConstructor {
  return (args) => {
    if (args.length === 0) return { kind: "decimal", ...without };
    const [precision = 0, scale = 0] = numbersOf(args) ?? [];
    return fixedPoint(precision, scale);
  };
}

/** `Decimal64(S)` and the like: the number in the name decides the precision. */
export function decimalOfPrecision(precision: number): TypeConstructor {
  return (args) => {
    if (args.length === 0) return { kind: "decimal" };
    const scale = numbersOf(args)?.[0];
    return scale === undefined ? undefined : fixedPoint(precision, scale);
  };
}

/** PostgreSQL's limit; ClickHouse's is 76. */
const MAX_DIGITS = 1000;

function fixedPoint(precision: number, scale: number): Shape | undefined {
  const isValid = precision >= 1 && precision <= MAX_DIGITS && Math.abs(scale) <= MAX_DIGITS;
  return isValid ? { kind: "decimal", precision, scale } : undefined;
}

/** The arguments as numbers, or undefined if any is something else. */
function numbersOf(args: readonly string[]): readonly number[] | undefined {
  return args.every((arg) => /^[+-]?\d+$/.test(arg)) ? args.map(Number) : undefined;
}

function readArgument(args: readonly string[], index: number, read: ReadType): DataType {
  const text = args.at(index);
  return text === undefined ? UNKNOWN : read(text);
}

export const array: TypeConstructor = (args, read) => ({ kind: "array", of: readArgument(args, 0, read) });

/** `Map(K, V)`: a JSON object, whose keys are the texts of the keys of any K. */
export const map: TypeConstructor = (args, read) => ({
  kind: "map",
  key: readArgument(args, 0, read),
  value: readArgument(args, 1, read),
});

/** `Tuple(T, …)` is a JSON array, `Tuple(name T, …)` an object; names for some elements only are invalid. */
export const tuple: TypeConstructor = (args, read) => {
  if (args.some((arg) => fieldTextOf(arg) !== null)) return record(args, read);
  return args.length === 0 ? undefined : { kind: "tuple", of: args.map(read) };
};

/** Two words at the start are a name and a type, not a type of two words: ClickHouse reads them in the same way. */
export const record: TypeConstructor = (args, read) => {
  const fields = args.map((arg): Field | undefined => {
    const [name, text] = fieldTextOf(arg) ?? [];
    return name === undefined || text === undefined ? undefined : { name, type: read(text) };
  });
  if (fields.length === 0 || !fields.every((field) => field !== undefined)) return undefined;
  const isDistinct = new Set(fields.map((field) => field.name)).size === fields.length;
  return isDistinct ? { kind: "record", fields } : undefined;
};

/** `Nested(name T, …)`: an array of objects. */
export const nested: TypeConstructor = (args, read) => {
  const shape = record(args, read);
  return shape && { kind: "array", of: typeFrom(shape) };
};

export const nullableArgument: TypeConstructor = (args, read) => nullable(readArgument(args, 0, read));

/** The aggregated value has the type of the last argument: `SimpleAggregateFunction(sum, UInt64)`. */
export const lastArgument: TypeConstructor = (args, read) => readArgument(args, -1, read);

/** `Enum8('a' = 1, …)`: the row shows the string. Without a list of members it may be any string. */
export const enumeration: TypeConstructor = (args) => {
  const members = args.map(memberOf);
  if (!members.every((member) => member !== undefined)) return undefined;
  const values = [...new Set(members.map(({ text }) => text))];
  if (values.length === 0) return TEXT_SHAPE;
  const order = [...new Set(members.toSorted((a, b) => a.number - b.number).map(({ text }) => text))];
  const isSorted = order.every((text, i) => text === values[i]);
  return { kind: "enum", values, ...(!isSorted && { order }) };
};

const MEMBER = /^('(?:\\.|''|[^'\\])*')\s*(?:=\s*([+-]?\d+))?$/su;

/** The string of `'a' = 1` or `'a'`. Without a number it keeps its place. */
function memberOf(arg: string): { readonly text: string; readonly number: number } | undefined {
  const [, quoted, number = "0"] = MEMBER.exec(arg) ?? [];
  return quoted === undefined ? undefined : { text: unquoted(quoted), number: Number(number) };
}
