import { type ColumnType, type IntegerType, UNKNOWN, type Field } from "./json-type.js";
import type { Expression } from "./parse.js";

/** Builds a type from the arguments in parentheses after its name; undefined if they are invalid. */
export type TypeConstructor = (args: readonly Expression[], parseType: ParseType) => ColumnType | undefined;

/** Parses an argument that is itself a type. */
type ParseType = (expression: Expression) => ColumnType;

/** Constructors by type name, in lower case. */
export type NamedConstructors = readonly (readonly [name: string, typeConstructor: TypeConstructor])[];

/** This type with any arguments: they, such as a precision or a time zone, do not change the form of its values in rows. */
export function always(type: ColumnType): TypeConstructor {
  return () => type;
}

export function aliases(names: readonly string[], typeConstructor: TypeConstructor): NamedConstructors {
  return names.map((name) => [name, typeConstructor]);
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
 * `Decimal(P, S)`, `numeric(p, s)`. Without S the scale is 0 in both engines. Without arguments a column holds any number
 * in PostgreSQL and `Decimal(10, 0)` in ClickHouse: the wider of the two is used.
 */
export const decimal: TypeConstructor = (args) => {
  if (args.length === 0) return { kind: "decimal", nullable: false };
  const [precision = 0, scale = 0] = numbersOf(args) ?? [];
  return fixedPoint(precision, scale);
};

/** `Decimal64(S)` and the like: the number in the name decides the precision. */
export function decimalOfPrecision(precision: number): TypeConstructor {
  return (args) => {
    if (args.length === 0) return { kind: "decimal", nullable: false };
    const scale = numbersOf(args)?.[0];
    return scale === undefined ? undefined : fixedPoint(precision, scale);
  };
}

/** PostgreSQL's limit; ClickHouse's is 76. */
const MAX_DIGITS = 1000;

/** An integer if the scale is not positive; a negative one (PostgreSQL 15) rounds to tens, hundreds and so on. */
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

export function parseArgument(args: readonly Expression[], index: number, parseType: ParseType): ColumnType {
  const expression = args.at(index);
  return expression === undefined ? UNKNOWN : parseType(expression);
}

export const array: TypeConstructor = (args, parseType) => ({
  kind: "array",
  of: parseArgument(args, 0, parseType),
  nullable: false,
});

/** `Map(K, V)`: a JSON object, whose keys are the texts of the keys of any K. */
export const map: TypeConstructor = (args, parseType) => ({
  kind: "map",
  value: parseArgument(args, 1, parseType),
  nullable: false,
});

/** `Tuple(T, …)` is a JSON array, `Tuple(name T, …)` an object; names for some elements only are invalid. */
export const tuple: TypeConstructor = (args, parseType) => {
  if (args.some(isNamed)) return recordOf(args, parseType);
  return args.length === 0 ? undefined : { kind: "tuple", of: args.map(parseType), nullable: false };
};

/** `Nested(name T, …)`: an array of objects. */
export const nested: TypeConstructor = (args, parseType) => {
  const record = recordOf(args, parseType);
  return record && { kind: "array", of: record, nullable: false };
};

/** `Enum8('a' = 1, …)`: the row shows the string. Without a list of members it may be any string. */
export const enumeration: TypeConstructor = (args) => {
  const values = args.map(memberOf);
  if (!values.every((value) => value !== undefined)) return undefined;
  return values.length === 0 ? STRING : { kind: "enum", values: [...new Set(values)], nullable: false };
};

/** The string of `'a' = 1` or `'a'`. */
function memberOf([name, ...rest]: Expression): string | undefined {
  const [sign, value] = rest;
  const isNumbered = sign?.kind === "sign" && sign.sign === "=" && value?.kind === "number";
  const isMember = rest.length === 0 || (rest.length === 2 && isNumbered);
  return name?.kind === "string" && isMember ? name.text : undefined;
}

/** Two words at the start are a name and a type, not a type of two words: ClickHouse reads them in the same way. */
function isNamed([name, type]: Expression): boolean {
  return name?.kind === "word" && type?.kind === "word";
}

function recordOf(args: readonly Expression[], parseType: ParseType): ColumnType | undefined {
  const fields = args.map((expression) => fieldOf(expression, parseType));
  if (fields.length === 0 || !fields.every((field) => field !== undefined)) return undefined;
  const isDistinct = new Set(fields.map((field) => field.name)).size === fields.length;
  return isDistinct ? { kind: "record", fields, nullable: false } : undefined;
}

function fieldOf(expression: Expression, parseType: ParseType): Field | undefined {
  const [name, ...type] = expression;
  return name?.kind === "word" && isNamed(expression)
    ? { name: name.text, type: parseType(type) }
    : undefined;
}
