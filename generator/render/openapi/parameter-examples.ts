import {
  FILTER_OPERATORS,
  type FilterOperator,
  type Json,
  operatorOf,
  type ValueKind,
} from "@routewright/runtime/model";
import type { CatalogueEntry, DescribedColumn, DescribedParameter } from "../../catalogue/catalogue.js";
import { exampleOf } from "../../catalogue/types/example.js";
import { dataTypeOf, withAcceptedValues } from "../../catalogue/types/read-type.js";
import { databaseTypeOf } from "../../catalogue/types/type-facts.js";

/** Values of kinds that rows show as texts: a made-up text is none of them. */
const BY_KIND: Readonly<Partial<Record<ValueKind, string>>> = {
  date: "2026-01-15",
  "date-time": "2026-01-15T09:30:00Z",
  time: "12:30:00",
  interval: "P1DT2H",
  address: "192.0.2.10",
  mac: "08:00:2b:01:02:03",
  bits: "101",
  bytes: "\\x00ff",
};

/** A range of each kind of bounds. */
const RANGES: readonly (readonly [RegExp, string])[] = [
  [/^date/, "[2026-01-01,2026-02-01)"],
  [/^timestamp/, "[2026-01-01T00:00:00Z,2026-02-01T00:00:00Z)"],
  [/./, "[1,5)"],
];

/**
 * A value that a filter on a column takes, always the same. What no filter compares by its type is compared as a text. Undefined
 * for a type of the project's own, of which nothing is known.
 */
function valueOf(
  { columns, aggregate }: CatalogueEntry,
  name: string,
  kind?: ValueKind,
): string | number | boolean | undefined {
  const known = [...columns, ...(aggregate?.columns ?? [])];
  const column: DescribedColumn = known.find((each) => each.name === name) ?? { name, type: null };
  const type = column.baseType ?? column.type;
  const parsed = dataTypeOf(type);
  const stored = databaseTypeOf(parsed);
  const shown = kind ?? stored?.value;
  // An `oid` is a text in rows.
  if (shown === "integer" && parsed.kind === "text") return 42;
  const accepted = column.acceptedValues ?? column.labels;
  // Counts are integers, and all numbers are compared with one.
  if (aggregate?.measures.some((measure) => measure.name === name) && kind === "number") return 10;
  if (stored === null && parsed.kind === "unknown" && accepted === undefined) return undefined;
  if (shown === "range") return RANGES.find(([bounds]) => bounds.test(stored?.bounds ?? "int"))?.[1] ?? "";
  const ofKind = shown === undefined ? undefined : BY_KIND[shown];
  if (ofKind !== undefined) return ofKind;
  const value = column.example ?? exampleOf(withAcceptedValues(parsed, accepted), column);
  return typeof value === "object" ? JSON.stringify(value) : value;
}

/** What a parameter of `meta.api` may be given; undefined where that cannot be known. */
export function exampleOfParameter(entry: CatalogueEntry, parameter: DescribedParameter): Json | undefined {
  if (parameter.type === "date") return "2026-01-15";
  const { values = [], maxLength, column, operator } = parameter;
  const kind = operatorOf(operator).value === "pattern" ? "text" : undefined;
  const text = values[0] ?? valueOf(entry, column, kind)?.toString().slice(0, maxLength);
  if (text === undefined) return undefined;
  return parameter.type === "string_list" ? [text] : text;
}

/** What an operator of a filtered column may be given. */
export function exampleOfFilter(
  entry: CatalogueEntry,
  { column, type }: { readonly column: string; readonly type: ValueKind },
  filter: FilterOperator,
): Json | undefined {
  const { value, parameter } = operatorOf(FILTER_OPERATORS.get(filter) ?? "=");
  if (value === "flag") return false;
  const example = valueOf(entry, column, type);
  if (parameter?.type !== "string_list" || example === undefined) return example;
  // In a query a comma separates values.
  return [type === "range" ? "empty" : example];
}
