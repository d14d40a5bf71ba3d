/**
 * The `data_type` of a dbt column, a ClickHouse or a PostgreSQL type or nothing (generator/README.md,
 * manifest), as a closed sum type, and that as a JSON Schema and as a TypeScript type.
 */
import { type ColumnType, nullable, UNKNOWN } from "./kinds.js";
import { tokensOf } from "./lexer.js";
import { readType } from "./read.js";
import { isWideNumber } from "./typescript.js";
import { expressionOf } from "./syntax.js";

export { type ColumnType, nullable } from "./kinds.js";
export { type JsonSchema, jsonSchemaOf } from "./schema.js";
export { isWide, isWideNumber, typeScriptOf } from "./typescript.js";

/** Room for an Enum16 of some thousand members; a longer text is not a type that anyone wrote. */
export const MAX_TYPE_TEXT = 65_536;

/**
 * Reads a column's type text, in any letter case. It never throws and takes time linear in the text: one that is
 * missing, malformed, too long or too deep is unknown.
 *
 *     parseColumnType("LowCardinality(Nullable(String))") // { kind: "string", nullable: true }
 *     parseColumnType("numeric(20,0)[]")                  // an array of integers of up to 20 digits
 *
 * Null is allowed only where the text says so: `Nullable(String)`, or `text null` as in a column definition.
 */
export function parseColumnType(text: string | undefined): ColumnType {
  if (text === undefined) return UNKNOWN;
  const type = known.get(text) ?? readColumnType(text);
  if (known.size < MAX_KNOWN && text.length < 100) known.set(text, type);
  return type;
}

/** Thousands of columns share few types, and each is read for its interface and for OpenAPI. */
const known = new Map<string, ColumnType>();
const MAX_KNOWN = 1000;

/** A type of texts that are among these values only; other types stay as they are. */
export function withAcceptedValues(
  type: ColumnType,
  values: readonly string[] | null | undefined,
): ColumnType {
  const isText = type.kind === "string" && type.format === undefined;
  return isText && values ? { kind: "enum", values, nullable: type.nullable } : type;
}

/** A number type as strings of its digits; other types stay as they are. */
export function asString(type: ColumnType): ColumnType {
  return isWideNumber(type) && "nullable" in type ? { kind: "string", nullable: type.nullable } : type;
}

function readColumnType(text: string): ColumnType {
  const type = parseBareType(text.replace(/\s(not\s)?null\s*$/i, ""));
  return /(?<!\snot)\snull\s*$/i.test(text) ? nullable(type) : type;
}

function parseBareType(text: string): ColumnType {
  if (text.length > MAX_TYPE_TEXT) return UNKNOWN;
  const tokens = tokensOf(text);
  const expression = tokens && expressionOf(tokens);
  return expression === undefined ? UNKNOWN : readType(expression);
}
