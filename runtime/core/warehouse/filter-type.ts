import { type ValueKind, VALUES } from "../model/column-types.js";
import type { Comparison } from "../model/operators.js";
import type { ColumnCondition, TypedValue } from "../model/query.js";
import { type FilterNumber, PARSERS, type ParsedValues } from "./filter-values.js";

/** How an engine compares the columns of a type. */
interface TypeComparison<Value> {
  /** Type of the parameter. */
  readonly cast: string;
  /** The value in the engine's syntax. Null: outside the type's range, so that it equals no row. Undefined: not a value of the type. */
  readonly write: (value: Value) => string | null | undefined;
  /** See `TypedValue`. */
  readonly bound?: (value: Value, operator: Comparison) => string | null;
  /** See `FilterType`. */
  readonly isDiscrete?: true;
}

/** How a filter compares, by the type of its column. */
export interface FilterType {
  readonly kind: ValueKind;
  readonly cast: string;
  /** What a value must be, for an error. */
  readonly kindText: string;
  /** Undefined: not a value of the type. */
  readonly read: (text: string) => TypedValue | undefined;
  /**
   * Its values are whole numbers of a unit: `gt` and `lt` compare with the next one by `>=` and `<=`, by which the smallest and the
   * greatest value of the type can be compared with too.
   */
  readonly isDiscrete: boolean;
}

const noBound = (): null => null;

export function filterType<Kind extends ValueKind>(
  kind: Kind,
  { cast, write, bound, isDiscrete = false as never }: TypeComparison<ParsedValues[Kind]>,
): FilterType {
  const parse = PARSERS[kind];
  return {
    kind,
    cast,
    kindText: VALUES[kind].text,
    read(text) {
      const value = parse(text);
      const written = value === undefined ? undefined : write(value);
      if (value === undefined || written === undefined) return undefined;
      return bound === undefined
        ? { written, bound: noBound }
        : { written, bound: (operator) => bound(value, operator) };
    },
    isDiscrete,
  };
}

/** The values of a condition in a type; of a text that is none, one that equals no row. */
export function typedValues({ value, typed }: ColumnCondition, type: FilterType): readonly TypedValue[] {
  if (typed?.type === type) return typed.values;
  return [value].flat().map((text) => type.read(text) ?? NO_VALUE);
}

const NO_VALUE: TypedValue = { written: null, bound: noBound };

/** A value that the database's encoding cannot hold: it equals no row. No value of a request has the character. */
export const UNSTORABLE = "\0";

/** Texts compare as they are. */
export const textType = (kind: "text" | "other", cast: string): FilterType =>
  filterType(kind, { cast, write: (text) => (text === UNSTORABLE ? null : text) });

/** Whether a type of floats has the number: one that it rounds to infinity, or to zero, is outside its range. */
export function isFloat({ text, digits }: FilterNumber, round: (number: number) => number): boolean {
  const number = round(Number(text));
  return Number.isFinite(number) && (number !== 0 || digits === 0n);
}

/** A value in whole units, rounded down. */
export interface Ticks {
  readonly ticks: bigint;
  readonly isExact: boolean;
}

/** A number in units of `10^-scale`. One too large for any type becomes the next beyond `max` or `-max`, one too small the next to zero. */
export function ticksOf(
  { text, isNegative, digits, scale: own, isExtreme }: FilterNumber,
  scale: number,
  max: bigint,
): Ticks {
  if (isExtreme) {
    const far = Math.abs(Number(text)) > 1 ? max + 1n : 0n;
    return { ticks: isNegative ? -far - (far === 0n ? 1n : 0n) : far, isExact: false };
  }
  const divisor = own > scale ? 10n ** BigInt(own - scale) : 1n;
  const whole = own > scale ? digits : digits * 10n ** BigInt(scale - own);
  const ticks = isNegative ? -((whole + divisor - 1n) / divisor) : whole / divisor;
  return { ticks, isExact: whole % divisor === 0n };
}

export type Bounds = readonly [min: bigint, max: bigint];

/** A value of a discrete type; null for one that lies between two values, or outside of its range. */
export function exact(
  { ticks, isExact }: Ticks,
  [min, max]: Bounds,
  write: (ticks: bigint) => string,
): string | null {
  return isExact && ticks >= min && ticks <= max ? write(ticks) : null;
}

export function discrete(
  ticks: Ticks,
  operator: Comparison,
  bounds: Bounds,
  write: (ticks: bigint) => string,
): string | null {
  const bound = discreteBound(ticks, operator, bounds);
  return bound === null ? null : write(bound);
}

/** The units that a discrete type compares with by `>=` or `<=`; null where no row can match. */
function discreteBound({ ticks, isExact }: Ticks, operator: Comparison, [min, max]: Bounds): bigint | null {
  switch (operator) {
    case "ne":
      return null;
    case "gt":
    case "gte": {
      const first = operator === "gte" && isExact ? ticks : ticks + 1n;
      return first > max ? null : first < min ? min : first;
    }
    case "lt":
    case "lte": {
      const last = operator === "lt" && isExact ? ticks - 1n : ticks;
      return last < min ? null : last > max ? max : last;
    }
  }
}

/** Units of `10^-scale` as a decimal number. */
export function decimalText(ticks: bigint, scale: number): string {
  const digits = String(ticks < 0n ? -ticks : ticks).padStart(scale + 1, "0");
  const sign = ticks < 0n ? "-" : "";
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
