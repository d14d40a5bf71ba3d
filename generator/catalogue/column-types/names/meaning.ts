import type { ColumnType, IntegerType } from "../kinds.js";
import { UNKNOWN } from "../kinds.js";
import type { Expression } from "../syntax.js";

/** What a type name means, given what stands in its parentheses; undefined if that makes no sense. */
export type Meaning = (args: readonly Expression[], read: ReadType) => ColumnType | undefined;

/** Reads the type in an argument; a name's meaning gets it to read those inside. */
export type ReadType = (expression: Expression) => ColumnType;

/** Type names in lower case. */
export type Names = readonly (readonly [name: string, meaning: Meaning])[];

/** The same type whatever the arguments: a precision or a time zone that rows do not show, a display width. */
export function is(type: ColumnType): Meaning {
  return () => type;
}

export function all(names: readonly string[], meaning: Meaning): Names {
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
export const sizedString: Meaning = (args) => {
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
export const decimal: Meaning = (args) => {
  if (args.length === 0) return { kind: "decimal", nullable: false };
  const [precision = 0, scale = 0] = numbersOf(args) ?? [];
  return fixedPoint(precision, scale);
};

/** `Decimal64(S)` and its kin: the width gives the precision. */
export function decimalOfPrecision(precision: number): Meaning {
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
