import { isIP } from "node:net";
import { isDayOf } from "../model/query.js";
import type { Comparison } from "../model/endpoint.js";

/** What a filter compares with, by what its column holds (runtime/docs/requests.md). */
interface Values {
  readonly integer: bigint;
  readonly number: FilterNumber;
  readonly boolean: boolean;
  /** With hyphens, in lower case. */
  readonly uuid: string;
  readonly date: FilterDate;
  readonly time: FilterTime;
  readonly address: FilterAddress;
}

/** `digits / 10^scale`, without its sign. */
export interface FilterNumber {
  readonly text: string;
  readonly isNegative: boolean;
  readonly digits: bigint;
  readonly scale: number;
  /** Its exponent is beyond those of all types: the digits are not to be multiplied out. */
  readonly isExtreme: boolean;
}

/** A date of the four-digit years, or of an expanded year as the API prints it (`-000043-03-15` is in 44 BC). */
export interface FilterDate {
  readonly text: string;
  readonly year: number;
  readonly monthAndDay: string;
}

export interface FilterTime {
  readonly date: FilterDate;
  /** As it was sent, with its offset. */
  readonly clock: string;
  /** From the start of the day in UTC. */
  readonly seconds: number;
  /** Up to nine digits of a second, without zeros at their end. */
  readonly fraction: string;
}

export interface FilterAddress {
  readonly text: string;
  readonly address: string;
  readonly family: 4 | 6;
  /** Of its network; those of the family for a host. */
  readonly bits: number;
}

/** The kinds in an error (`valueNotOfType`). */
const KIND_TEXTS: Readonly<Record<keyof Values, string>> = {
  integer: "an integer",
  number: "a number",
  boolean: "a boolean",
  uuid: "a UUID",
  date: "a date in YYYY-MM-DD format",
  time: "a date-time",
  address: "an IP address",
};

const PARSERS: { readonly [Kind in keyof Values]: (text: string) => Values[Kind] | undefined } = {
  integer: (text) => (/^[+-]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined),
  number: parseNumber,
  boolean: parseBoolean,
  uuid: parseUuid,
  date: parseDate,
  time: parseTime,
  address: parseAddress,
};

/** How an engine compares the columns of a type. */
interface Comparing<Value> {
  /** Type of the parameter. */
  readonly cast: string;
  /** The value in the engine's syntax. Null: outside the type's range, so that it equals no row. */
  readonly write: (value: Value) => string | null;
  /** What a value that equals no row is compared as; null where nothing is. */
  readonly bound?: (value: Value, operator: Comparison) => string | null;
}

/** How a filter compares, by the type of its column. */
export interface FilterType {
  readonly cast: string;
  /** What a value must be, for an error. */
  readonly kindText: string;
  /** The value in the engine's syntax. Undefined: not a value of the type. Null: outside its range, so that it equals no row. */
  readonly parse: (text: string) => string | null | undefined;
  /** What a value that equals no row is compared as; null where nothing is. */
  readonly bound: (text: string, operator: Comparison) => string | null;
}

export function filterType<Kind extends keyof Values>(
  kind: Kind,
  { cast, write, bound }: Comparing<Values[Kind]>,
): FilterType {
  const read = PARSERS[kind];
  const parsed =
    <T>(use: (value: Values[Kind]) => T) =>
    (text: string): T | undefined => {
      const value = read(text);
      return value === undefined ? undefined : use(value);
    };
  return {
    cast,
    kindText: KIND_TEXTS[kind],
    parse: parsed(write),
    bound: (text, operator) => parsed((value) => bound?.(value, operator) ?? null)(text) ?? null,
  };
}

/** No type has numbers with a larger exponent. */
const MAX_EXPONENT = 1000;

function parseNumber(text: string): FilterNumber | undefined {
  const [whole, sign, integer = "", fraction = "", exponent = "0"] =
    /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  if (whole === undefined || integer + fraction === "") return undefined;
  const digits = BigInt(integer + fraction);
  if (digits === 0n) return { text: "0", isNegative: false, digits, scale: 0, isExtreme: false };
  const isExtreme = Math.abs(Number(exponent)) > MAX_EXPONENT;
  return { text, isNegative: sign === "-", digits, scale: fraction.length - Number(exponent), isExtreme };
}

/** Whether a number that rounds to infinity or to zero in a type of floats is none of the type. */
export function isFloat({ text, digits }: FilterNumber, round: (number: number) => number): boolean {
  const number = round(Number(text));
  return Number.isFinite(number) && (number !== 0 || digits === 0n);
}

function parseBoolean(text: string): boolean | undefined {
  if (/^(true|t|yes|on|1)$/i.test(text)) return true;
  return /^(false|f|no|off|0)$/i.test(text) ? false : undefined;
}

function parseUuid(text: string): string | undefined {
  if (!/^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i.test(text)) return undefined;
  const digits = text.replaceAll("-", "").toLowerCase();
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function parseDate(text: string): FilterDate | undefined {
  const [whole, year = "", month, day] = /^(\d{4}|[+-]\d{6,7})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (whole === undefined || year === "-000000" || !isDayOf(Number(year), Number(month), Number(day)))
    return undefined;
  return { text, year: Number(year), monthAndDay: text.slice(year.length) };
}

const CLOCK = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:Z|([+-])(0\d|1[0-4]):([0-5]\d))?$/i;

/** RFC 3339; without an offset it is in UTC. */
function parseTime(text: string): FilterTime | undefined {
  const [day = "", clock = "", ...more] = text.split(/[Tt ]/);
  const date = parseDate(day);
  const [whole, hours, minutes, seconds, fraction = "", sign, zoneHours = "0", zoneMinutes = "0"] =
    CLOCK.exec(clock) ?? [];
  if (whole === undefined || date === undefined || more.length > 0) return undefined;
  const offset = (sign === "-" ? -60 : 60) * (Number(zoneHours) * 60 + Number(zoneMinutes));
  const ofDay = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) - offset;
  return { date, clock, seconds: ofDay, fraction: fraction.replace(/0+$/, "") };
}

function parseAddress(text: string): FilterAddress | undefined {
  const [, address = "", given] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  const all = family === 4 ? 32 : 128;
  const bits = Number(given ?? all);
  return (family === 4 || family === 6) && bits <= all ? { text, address, family, bits } : undefined;
}
