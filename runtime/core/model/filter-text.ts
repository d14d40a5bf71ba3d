import { type ValueKind, VALUES } from "./column-types.js";

/** What the grammar of the parameter `filter` has literals for (runtime/docs/filter.md). */
export type LiteralKind =
  "text" | "null" | "boolean" | "uuid" | "date-time" | "date" | "time" | "integer" | "number";

/** The literals that a column is compared with; a text in quotes for the other kinds. */
export const LITERALS: Partial<Record<ValueKind, readonly LiteralKind[]>> = {
  integer: ["integer"],
  number: ["integer", "number"],
  boolean: ["boolean"],
  uuid: ["uuid"],
  date: ["date"],
  "date-time": ["date-time"],
  time: ["time"],
};

/** A value as the parameter `filter` has it. */
export function filterLiteral(kind: ValueKind, text: string): string {
  return LITERALS[kind] === undefined ? `'${text.replaceAll("'", "''")}'` : text;
}

/** The name of a column as the parameter `filter` has it. */
export function filterName(column: string): string {
  const isPlain = /^[\p{L}_][\p{L}\p{N}_.]*$/u.test(column) && !/^(?:and|or|not)$/i.test(column);
  return isPlain ? column : `"${column.replaceAll('"', '""')}"`;
}

/** The operators and functions that the parameter `filter` has for a column. */
export function expressionOperators(kind: ValueKind): readonly string[] {
  const isTime = kind === "date" || kind === "date-time";
  return [
    ...["eq", "ne"],
    ...(VALUES[kind].ordered ? ["gt", "ge", "lt", "le"] : []),
    "in",
    ...(kind === "text" ? ["contains", "startswith", "endswith"] : []),
    ...(isTime ? ["year", "month", "day", "date"] : []),
  ];
}
