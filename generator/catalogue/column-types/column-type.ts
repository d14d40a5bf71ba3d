import type { Column, Endpoint } from "@routewright/runtime/model";
import { type AnyType, type ColumnType, nullable, UNKNOWN } from "./json-type.js";
import { tokensOf, expressionOf, type Expression, type BracketGroup, type ExpressionItem } from "./parse.js";
import { isNumeric } from "./type-facts.js";
import { isWideNumber } from "./typescript.js";
import { BOTH, CLICKHOUSE, CLICKHOUSE_EXACT_CASE, POSTGRES, type TypeConstructor } from "./type-names.js";
export { type ColumnType, type JsonSchema, jsonSchemaOf, nullable } from "./json-type.js";
export { isZoneless } from "./type-facts.js";
export { isWide, isWideNumber, memberName, typeScriptOf } from "./typescript.js";

/** Longest type text: enough for an Enum16 with thousands of members. */
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
export function parseColumnType(text: string | null | undefined): ColumnType {
  if (text === null || text === undefined) return UNKNOWN;
  const type = known.get(text) ?? parseUncached(text);
  if (known.size < MAX_KNOWN && text.length < 100) known.set(text, type);
  return type;
}

/** A cache: thousands of columns share few types, and each is parsed for its interface and for OpenAPI. */
const known = new Map<string, ColumnType>();
const MAX_KNOWN = 1000;

/** The enum of these values for a string type; other types are unchanged. */
export function withAcceptedValues(
  type: ColumnType,
  values: readonly string[] | null | undefined,
): ColumnType {
  const isText = type.kind === "string" && type.format === undefined;
  return isText && values ? { kind: "enum", values, nullable: type.nullable } : type;
}

/**
 * Whether a column of the type can hold NaN and infinities, which are served as null: floats, and `numeric` in PostgreSQL.
 * Not for a type that is nullable already.
 */
export function canBeNaN(text: string, isPostgres: boolean): boolean {
  const type = parseColumnType(text);
  if (!("nullable" in type) || type.nullable) return false;
  const isNumber = type.kind === "decimal" || type.kind === "integer";
  return type.kind === "float" || (isPostgres && isNumber && isNumeric(text));
}

/** As it is served by default: its wide numbers are strings where the column, else its endpoint, says so. */
export function typeInResponse(
  type: ColumnType,
  column: Pick<Column, "numbers">,
  endpoint: Pick<Endpoint, "numbers">,
): ColumnType {
  return (column.numbers ?? endpoint.numbers) === "string" ? asString(type) : type;
}

/** The string type for a wide number type; other types are unchanged. */
function asString(type: ColumnType): ColumnType {
  return isWideNumber(type) && "nullable" in type ? { kind: "string", nullable: type.nullable } : type;
}

function parseUncached(text: string, leafOf: LeafOf = asParsed): ColumnType {
  const type = parseBareType(text.replace(/\s(not\s)?null\s*$/i, ""), leafOf);
  return /(?<!\snot)\snull\s*$/i.test(text) ? nullable(type) : type;
}

function parseBareType(text: string, leafOf: LeafOf): ColumnType {
  if (text.length > MAX_TYPE_TEXT) return leafOf(UNKNOWN, text.slice(0, MAX_TYPE_TEXT));
  const tokens = tokensOf(text);
  const expression = tokens && expressionOf(tokens);
  return expression === undefined ? leafOf(UNKNOWN, text) : parseType(expression, leafOf);
}

/** What stands for a type that is not known, or for JSON, also within another. */
type LeafOf = (type: AnyType, text: string) => ColumnType;

const asParsed: LeafOf = (type) => type;

/** As `parseColumnType`, for a comparison: each type that is not known has its name, or is what `meant` says that it is. */
export function parseNamedType(
  text: string | null,
  meant: (name: string) => ColumnType | undefined = () => undefined,
): ColumnType {
  if (text === null) return UNKNOWN;
  return parseUncached(text, (type, written) => {
    const name = written.toLowerCase().replaceAll(/\s+/g, " ").trim();
    return (type.kind === "unknown" ? meant(name) : undefined) ?? { ...type, name };
  });
}

const CONSTRUCTORS: ReadonlyMap<string, TypeConstructor> = new Map([...BOTH, ...CLICKHOUSE, ...POSTGRES]);
const EXACT_CASE: ReadonlyMap<string, TypeConstructor> = new Map(CLICKHOUSE_EXACT_CASE);

/** The type of an expression. Unsupported types are `unknown`, also within a supported one. */
function parseType(expression: Expression, leafOf: LeafOf): ColumnType {
  const signature = signatureOf(expression);
  if (signature === undefined) return leafOf(UNKNOWN, textOf(expression));
  const { name, args, dimensions } = signature;
  const parsed = constructorOf(name)?.(args, (element) => parseElement(element, leafOf)) ?? UNKNOWN;
  const isOwn = "nullable" in parsed || parsed.name !== undefined;
  const type = isOwn ? parsed : leafOf(parsed, textOf([{ kind: "word", text: name }, ...groupOf(args)]));
  return dimensions === 0 ? type : arrayOf(type, dimensions);
}

function groupOf(parts: readonly Expression[]): Expression {
  return parts.length === 0 ? [] : [{ kind: "group", open: "(", parts }];
}

/** The text of an expression, the same whatever its white space. */
function textOf(expression: Expression): string {
  return expression
    .map((item) => {
      if (item.kind === "group") return `${item.open}${item.parts.map(textOf).join(",")}`;
      return item.kind === "sign" ? item.sign : item.kind === "number" ? String(item.value) : item.text;
    })
    .join(" ")
    .replace(SYSTEM_SCHEMA, "");
}

/** The type of the values in a list, a map or a tuple: nothing in a project rules out that one of them is NaN. */
function parseElement(expression: Expression, leafOf: LeafOf): ColumnType {
  const type = parseType(expression, leafOf);
  return type.kind === "float" ? nullable(type) : type;
}

function constructorOf(written: string): TypeConstructor | undefined {
  const name = written.toLowerCase();
  return EXACT_CASE.get(written) ?? CONSTRUCTORS.get(name) ?? postgresArray(name);
}

/** `_int4` is PostgreSQL's internal name of `int4[]`. */
function postgresArray(name: string): TypeConstructor | undefined {
  const element = name.startsWith("_") ? CONSTRUCTORS.get(name.slice(1)) : undefined;
  return element && ((args, parse) => arrayOf(element(args, parse) ?? UNKNOWN, 1));
}

/** An element of PostgreSQL's arrays may be null, whatever the column says; a row of a matrix may not. */
function arrayOf(element: ColumnType, dimensions: number): ColumnType {
  const of = dimensions === 1 ? nullable(element) : arrayOf(element, dimensions - 1);
  return { kind: "array", of, nullable: false };
}

/** A parsed type name: `character varying(10)[]`, `timestamp(3) with time zone`, `Map(String, UInt64)`. */
interface Signature {
  /** The words around the parentheses, one space between them, in the letter case written. */
  readonly name: string;
  readonly args: readonly Expression[];
  /** Number of array suffixes: `[]`, `[3]` or `ARRAY`. */
  readonly dimensions: number;
}

/** PostgreSQL's own limit, MAXDIM. */
const MAX_DIMENSIONS = 6;

/** The signature of an expression; undefined if it is not a type, such as `'a' = 1`. */
function signatureOf(expression: Expression): Signature | undefined {
  const brackets = trailingBrackets(expression);
  const isSqlArray = endsInArrayWord(expression, brackets);
  const dimensions = isSqlArray ? Math.max(1, brackets) : brackets;
  const type = expression.slice(0, expression.length - brackets - (isSqlArray ? 1 : 0));
  const name = nameOf(type);
  const [group, ...others] = type.filter(isGroup);
  if (name === undefined || others.length > 0 || group?.open === "[") return undefined;
  return dimensions > MAX_DIMENSIONS ? undefined : { name, args: group?.parts ?? [], dimensions };
}

function nameOf(type: Expression): string | undefined {
  const words = type.filter((item) => !isGroup(item)).map(wordOf);
  if (isGroup(type[0]) || words.length === 0 || words.includes(undefined)) return undefined;
  return words.join(" ").replace(SYSTEM_SCHEMA, "");
}

/** Schemas of PostgreSQL's own types, and of extensions such as citext. */
const SYSTEM_SCHEMA = /^(?:pg_catalog|public) \. /iu;

function trailingBrackets(expression: Expression): number {
  const before = expression.findLastIndex((item) => !isBracket(item));
  return expression.length - 1 - before;
}

function isBracket(item: ExpressionItem): boolean {
  return (
    isGroup(item) && item.open === "[" && (item.parts.length === 0 || item.parts[0]?.[0]?.kind === "number")
  );
}

/** `text ARRAY`, but neither `Array(String)` nor the field `tags Array(String)`. */
function endsInArrayWord(expression: Expression, brackets: number): boolean {
  const last = expression.length - brackets - 1;
  const item = expression[last];
  return last > 0 && item?.kind === "word" && item.text.toLowerCase() === "array";
}

function isGroup(item: ExpressionItem | undefined): item is BracketGroup {
  return item?.kind === "group";
}

function wordOf(item: ExpressionItem): string | undefined {
  if (item.kind === "word") return item.text;
  return item.kind === "sign" && item.sign === "." ? "." : undefined;
}
