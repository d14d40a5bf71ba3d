import type { Json } from "@routewright/runtime/model";
import { boundsOf, type DataType, isInteger } from "./data-type.js";

/** A column, as far as its example depends on it. */
export interface ExampleColumn {
  readonly name: string;
  readonly acceptedValues?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusive?: true;
}

/** Whether a value may be one of a type; null is no example. */
export function isOfType(type: DataType, value: unknown): value is Json {
  switch (type.kind) {
    case "integer":
    case "decimal":
    case "float":
      return isInteger(type)
        ? Number.isSafeInteger(value) && isWithin(boundsOf(type), BigInt(value as number))
        : typeof value === "number";
    case "text":
      return typeof value === "string" && value.length <= (type.maxLength ?? Infinity);
    case "time":
    case "uuid":
    case "bytes":
      return typeof value === "string";
    case "enum":
      return type.values.some((each) => each === value);
    case "date":
      return typeof value === "string" && /^\d{4}-\d{2}-\d{2}$/.test(value);
    case "timestamp":
      return typeof value === "string" && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/.test(value);
    case "boolean":
      return typeof value === "boolean";
    case "array":
    case "tuple":
      return Array.isArray(value);
    case "map":
    case "record":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "json":
    case "unknown":
      return value !== null && value !== undefined;
  }
}

function isWithin([min, max]: readonly [bigint, bigint], value: bigint): boolean {
  return value >= min && value <= max;
}

/** A believable value of a column, always the same: by its accepted values, its type, its name and its range. */
export function exampleOf(type: DataType, column: ExampleColumn): Json {
  const [accepted] = column.acceptedValues ?? [];
  switch (type.kind) {
    case "integer":
    case "decimal":
    case "float":
      if (!isInteger(type)) return inRange(numberFor(column.name, 12.5), rangeOf(type), column);
      return accepted !== undefined && Number.isSafeInteger(Number(accepted))
        ? Number(accepted)
        : inRange(numberFor(column.name, 42), rangeOf(type), column);
    case "text":
      return FORMATS[type.format ?? ""] ?? accepted ?? textFor(column.name).slice(0, type.maxLength);
    case "uuid":
      return UUID;
    case "enum":
      return type.values[0] ?? "";
    case "boolean":
      return true;
    case "date":
      return "2026-01-15";
    case "timestamp":
      return "2026-01-15T09:30:00Z";
    case "array":
      return [exampleOf(type.of, column)];
    case "map":
      return { key: exampleOf(type.value, column) };
    case "tuple":
      return type.of.map((each) => exampleOf(each, column));
    case "record":
      return Object.fromEntries<Json>(type.fields.map((field) => [field.name, exampleOf(field.type, field)]));
    case "json":
      return { key: "value" };
    case "time":
    case "bytes":
    case "unknown":
      return accepted ?? textFor(column.name);
  }
}

const UUID = "3f2b8c1e-9d4a-4c6b-8f1e-2a7d5b9c0e41";
const FORMATS: Readonly<Record<string, string>> = {
  ipv4: "192.0.2.10",
  ipv6: "2001:db8::10",
};

interface NumberRange {
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Of a decimal: what its digits before the point hold. */
function rangeOf(type: DataType): NumberRange {
  if (isInteger(type)) {
    const [minimum, maximum] = boundsOf(type);
    return { minimum: Number(minimum), maximum: Number(maximum) };
  }
  if (type.kind !== "decimal" || type.precision === undefined) return {};
  const bound = 10 ** (type.precision - (type.scale ?? 0)) - 1;
  return { minimum: -bound, maximum: bound };
}

/** The value, or one in the middle of the range that the type and the tests leave. */
function inRange(value: number, own: NumberRange, { minimum, maximum, exclusive }: ExampleColumn): number {
  const low = Math.max(own.minimum ?? -Infinity, minimum ?? -Infinity);
  const high = Math.min(own.maximum ?? Infinity, maximum ?? Infinity);
  const isInside = exclusive ? value > low && value < high : value >= low && value <= high;
  if (isInside) return value;
  if (!Number.isFinite(low)) return high - 1;
  if (!Number.isFinite(high)) return low + 1;
  const middle = (low + high) / 2;
  return Number.isInteger(value) && Math.ceil(middle) <= high ? Math.ceil(middle) : middle;
}

/** Numbers by the words of a name; the first that fits. */
const NUMBERS: readonly (readonly [RegExp, number])[] = [
  [/(^|_)(year)(_|$)/, 2026],
  [/(^|_)(month|quarter)(_|$)/, 3],
  [/(^|_)(lat|latitude)(_|$)/, 52.52],
  [/(^|_)(lon|lng|longitude)(_|$)/, 13.405],
  [/(pct|percent|change)/, 4.2],
  [/(ratio|share|rate|fraction)/, 0.25],
  [/(price|fee|cost)/, 19.99],
  [/(amount|volume|revenue|value|usd|eur|total|balance)/, 1250.75],
];

function numberFor(name: string, otherwise: number): number {
  const [, number = otherwise] = NUMBERS.find(([words]) => words.test(name.toLowerCase())) ?? [];
  return Number.isInteger(otherwise) ? Math.round(number) : number;
}

/** Texts by the words of a name; the first that fits. */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/e?mail/, "ada@example.com"],
  [/(url|link|website)/, "https://example.com"],
  [/(hash|tx)(_|$)/, `0x${"3f2b8c1e9d4a4c6b8f1e2a7d5b9c0e41".repeat(2)}`],
  [/(address|wallet|contract)/, `0x${"3f2b8c1e9d4a4c6b8f1e".repeat(2)}`],
  [/country/, "DE"],
  [/(city|town)/, "Berlin"],
  [/currency/, "EUR"],
  [/(symbol|token|asset)/, "ETH"],
  [/(status|state)/, "active"],
  [/month/, "2026-01"],
  [/(date|day)(_|$)/, "2026-01-15"],
  [/(^|_)(at|time|timestamp)$/, "2026-01-15T09:30:00Z"],
  [/(^|_)(id|key|code)$/, "a1b2c3"],
];

/** Without a word that is known: the words of the name. */
function textFor(name: string): string {
  const [, text] = TEXTS.find(([words]) => words.test(name.toLowerCase())) ?? [];
  return text ?? `Example ${name.replace(/[_\W]+/g, " ").trim()}`.trim();
}
