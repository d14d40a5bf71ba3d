import { DEFAULT_MAX_LENGTH } from "./limits.js";

/** Kinds of values that filters compare, as plain data. What parses one stands in `warehouse/filter-values.ts`. */

/** What the values of a column are. */
interface ValueFacts {
  /** What a filter's value must be, in an error. */
  readonly text: string;
  /** Whether `gt`, `gte`, `lt` and `lte` compare them. */
  readonly ordered: boolean;
  /** Schema of a filter's value in OpenAPI. */
  readonly schema: Readonly<Record<string, string | number | readonly string[]>>;
  /** Type of a filter's value in TypeScript. */
  readonly typescript: string;
}

const written = (text: string, schema: ValueFacts["schema"] = {}): ValueFacts => ({
  text,
  ordered: true,
  schema: { type: "string", ...schema },
  typescript: "string",
});

export const VALUES = {
  integer: {
    text: "an integer",
    ordered: true,
    schema: { type: ["integer", "string"], pattern: "^[+-]?\\d+$" },
    typescript: "number | string",
  },
  number: {
    text: "a number",
    ordered: true,
    schema: { type: ["number", "string"], pattern: "^[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?$" },
    typescript: "number | string",
  },
  date: written("a date in YYYY-MM-DD format", { format: "date" }),
  "date-time": written("a date-time", { format: "date-time" }),
  text: written("a text", { maxLength: DEFAULT_MAX_LENGTH }),
  boolean: { text: "a boolean", ordered: false, schema: { type: "boolean" }, typescript: "boolean" },
  uuid: { ...written("a UUID", { format: "uuid" }), ordered: false },
  time: written("a time of day such as 12:30:00"),
  interval: written("a duration such as P1DT2H or 1 day 02:00:00"),
  address: written("an IP address"),
  mac: written("a MAC address"),
  bits: written("digits 0 and 1", { pattern: "^[01]*$" }),
  bytes: written("bytes such as \\x00ff", { pattern: "^\\\\x([0-9A-Fa-f]{2})*$" }),
  range: written("a range such as [1,5)"),
  other: { ...written("a text", { maxLength: DEFAULT_MAX_LENGTH }), ordered: false },
} as const satisfies Readonly<Record<string, ValueFacts>>;

export type ValueKind = keyof typeof VALUES;

export const VALUE_KINDS = Object.keys(VALUES) as readonly ValueKind[];
