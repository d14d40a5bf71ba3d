import type { Relation } from "../core/model/endpoint.js";
import {
  bind,
  escapedIdentifier,
  join,
  plan,
  sql,
  type Sql,
  statement,
  type Statement,
  typeName,
} from "../core/warehouse/sql.js";

/** ClickHouse refuses a field of a form, or a parameter, of more than 128 KiB. A character has four bytes at most, escapes included. */
export const MAX_PARAMETER_LENGTH = 30_000;

/** A value in the text form of its type. A long text is sent in parts. */
export function parameter(value: string, type: string): Sql {
  if (type !== "String") return placeholder(value, type);
  const parts = partsOf(value).map((part) => placeholder(escaped(part), type));
  return parts.length === 1 ? join(parts, ", ") : sql`concat(${join(parts, ", ")})`;
}

function placeholder(value: string, type: string): Sql {
  return sql`{${bind(() => value)}:${typeName(type)}}`;
}

/** A text in parts of this length. Does not cut between the two halves of a character. */
export function partsOf(text: string): readonly string[] {
  if (text.length <= MAX_PARAMETER_LENGTH) return [text];
  return text.match(new RegExp(`.{1,${String(MAX_PARAMETER_LENGTH)}}`, "gsu")) ?? [];
}

const ESCAPES: Readonly<Record<string, string>> = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** A text as a parameter of a query has it. */
export function escaped(text: string): string {
  return text.replace(/[\\'\t\n\r]/g, (character) => ESCAPES[character] ?? `\\${character}`);
}

/** The condition for the row of a relation in a table of `system`. */
export const isNamed = ([database, table]: Relation, column: "name" | "table" = "name"): Sql =>
  sql`database = ${parameter(database, "String")} AND ${escapedIdentifier(column)} = ${parameter(table, "String")}`;

/** The statement with its parameters. */
export function finished(body: Sql): Statement {
  return statement(
    plan(body, (position) => `p${String(position)}`),
    undefined,
  );
}
