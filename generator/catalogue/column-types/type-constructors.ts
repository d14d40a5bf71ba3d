import { type ColumnType, type IntegerType, UNKNOWN, type Field } from "./json-type.js";
import type { Expression } from "./parse.js";
/** Makes a type from the arguments in its parentheses; undefined if they are invalid. */
export type TypeConstructor = (args: readonly Expression[], read: ReadType) => ColumnType | undefined;

/** Reads the type in an argument. */
type ReadType = (expression: Expression) => ColumnType;

/** Type names in lower case, with their constructors. */
export type TypeNames = readonly (readonly [name: string, meaning: TypeConstructor])[];

/** A type that does not depend on its arguments, such as a precision or time zone that rows do not show. */
export function constant(type: ColumnType): TypeConstructor {
  return () => type;
}

export function aliases(names: readonly string[], meaning: TypeConstructor): TypeNames {
  return names.map((name) => [name, meaning]);
}

export const STRING: ColumnType = { kind: "string", nullable: false };
export const DATE_TIME: ColumnType = { kind: "dateTime", nullable: false };
export const DOUBLE: ColumnType = { kind: "float", bits: 64, nullable: false };
export const SINGLE: ColumnType = { kind: "float", bits: 32, nullable: false };

export function signed(bits: number): IntegerType {
  const half = 2n ** BigInt(bits - 1);
  return integer(-half, half - 1n);
}

export function unsigned(bits: number): IntegerType {
  return integer(0n, 2n ** BigInt(bits) - 1n);
}

/** `varchar(n)`, `FixedString(n)`: n bytes never hold more than n characters. */
export const sizedString: TypeConstructor = (args) => {
  if (args.length === 0) return STRING;
  const [maxLength] = numbersOf(args) ?? [];
  return maxLength !== undefined && maxLength > 0 && Number.isSafeInteger(maxLength)
    ? { kind: "string", maxLength, nullable: false }
    : undefined;
};

/**
 * `Decimal(P, S)`, `numeric(p, s)`; one argument means scale 0 in both engines. With none PostgreSQL stores any
 * number while ClickHouse means (10, 0): the wider reading holds for both.
 */
export const decimal: TypeConstructor = (args) => {
  if (args.length === 0) return { kind: "decimal", nullable: false };
  const [precision = 0, scale = 0] = numbersOf(args) ?? [];
  return fixedPoint(precision, scale);
};

/** `Decimal64(S)` and its kin: the width gives the precision. */
export function decimalOfPrecision(precision: number): TypeConstructor {
  return (args) => {
    if (args.length === 0) return { kind: "decimal", nullable: false };
    const scale = numbersOf(args)?.[0];
    return scale === undefined ? undefined : fixedPoint(precision, scale);
  };
}

/** PostgreSQL's limit, the wider of the two (ClickHouse ends at 76). */
const MAX_DIGITS = 1000;

/** Without digits after the point it is an integer; a negative scale (PostgreSQL 15) rounds before the point. */
function fixedPoint(precision: number, scale: number): ColumnType | undefined {
  if (precision < 1 || precision > MAX_DIGITS || Math.abs(scale) > MAX_DIGITS) return undefined;
  if (scale > 0) return { kind: "decimal", precision, scale, nullable: false };
  const max = (10n ** BigInt(precision) - 1n) * 10n ** BigInt(-scale);
  return integer(-max, max);
}

function integer(min: bigint, max: bigint): IntegerType {
  return { kind: "integer", min: min.toString(), max: max.toString(), nullable: false };
}

/** The arguments as numbers, or undefined if any is something else. */
function numbersOf(args: readonly Expression[]): readonly number[] | undefined {
  const numbers = args.map(([item, ...rest]) =>
    item?.kind === "number" && rest.length === 0 ? item.value : undefined,
  );
  return numbers.every((number) => number !== undefined) ? numbers : undefined;
}

export function readAt(args: readonly Expression[], index: number, read: ReadType): ColumnType {
  const expression = args.at(index);
  return expression === undefined ? UNKNOWN : read(expression);
}

export const array: TypeConstructor = (args, read) => ({
  kind: "array",
  of: readAt(args, 0, read),
  nullable: false,
});

/** `Map(K, V)`: whatever K is, a JSON object's key is its text. */
export const map: TypeConstructor = (args, read) => ({
  kind: "map",
  value: readAt(args, 1, read),
  nullable: false,
});

/** `Tuple(T, …)` is a JSON array, `Tuple(name T, …)` an object; half named is neither. */
export const tuple: TypeConstructor = (args, read) => {
  if (args.some(isNamed)) return recordOf(args, read);
  return args.length === 0 ? undefined : { kind: "tuple", of: args.map(read), nullable: false };
};

/** `Nested(name T, …)`: an array of objects. */
export const nested: TypeConstructor = (args, read) => {
  const record = recordOf(args, read);
  return record && { kind: "array", of: record, nullable: false };
};

/** `Enum8('a' = 1, …)`: the row shows the string. Without a list of members it may be any string. */
export const enumeration: TypeConstructor = (args) => {
  const values = args.map(memberOf);
  if (!values.every((value) => value !== undefined)) return undefined;
  return values.length === 0 ? STRING : { kind: "enum", values: [...new Set(values)], nullable: false };
};

function memberOf([name, ...number]: Expression): string | undefined {
  const [sign, value] = number;
  const isNumbered = number.length === 2 && sign?.kind === "sign" && value?.kind === "number";
  return name?.kind === "string" && (number.length === 0 || isNumbered) ? name.text : undefined;
}

/** ClickHouse, too, tries a name and a type before a type of several words. */
function isNamed([name, type]: Expression): boolean {
  return name?.kind === "word" && type?.kind === "word";
}

function recordOf(args: readonly Expression[], read: ReadType): ColumnType | undefined {
  const fields = args.map((expression) => fieldOf(expression, read));
  if (fields.length === 0 || !fields.every((field) => field !== undefined)) return undefined;
  const isDistinct = new Set(fields.map((field) => field.name)).size === fields.length;
  return isDistinct ? { kind: "record", fields, nullable: false } : undefined;
}

function fieldOf(expression: Expression, read: ReadType): Field | undefined {
  const [name, ...type] = expression;
  return name?.kind === "word" && isNamed(expression) ? { name: name.text, type: read(type) } : undefined;
}
