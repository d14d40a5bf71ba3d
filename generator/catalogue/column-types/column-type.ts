import { type Column, type Endpoint, MAX_TYPE_TEXT, typeTextOf } from "@routewright/runtime/model";
import { type AnyType, type ColumnType, nullable, UNKNOWN } from "./json-type.js";
import { isNumeric } from "./type-facts.js";
import { isWideNumber } from "./typescript.js";
import { BOTH, CLICKHOUSE, CLICKHOUSE_EXACT_CASE, POSTGRES, type TypeConstructor } from "./type-names.js";
export { type ColumnType, type JsonSchema, jsonSchemaOf, nullable } from "./json-type.js";
export { isZoneless } from "./type-facts.js";
export { isWide, isWideNumber, memberName, typeScriptOf } from "./typescript.js";

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
  if (text.length > MAX_TYPE_TEXT) return leafOf(UNKNOWN, text.slice(0, MAX_TYPE_TEXT));
  return parseType(text, leafOf);
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

/** PostgreSQL's own limit, MAXDIM. */
const MAX_DIMENSIONS = 6;

/** The type of a text. Unsupported types are `unknown`, also within a supported one. */
function parseType(text: string, leafOf: LeafOf): ColumnType {
  const found = typeTextOf(text);
  if (found === null || found.isAngled || found.dimensions > MAX_DIMENSIONS) return leafOf(UNKNOWN, text);
  const { name, args, dimensions, isNull } = found;
  const parsed = constructorOf(name)?.(args, (element) => parseElement(element, leafOf)) ?? UNKNOWN;
  const isOwn = "nullable" in parsed || parsed.name !== undefined;
  const element = isOwn ? parsed : leafOf(parsed, args.length === 0 ? name : `${name}(${args.join(",")})`);
  const type = dimensions === 0 ? element : arrayOf(element, dimensions);
  return isNull ? nullable(type) : type;
}

/** The type of the values in a list, a map or a tuple: nothing in a project rules out that one of them is NaN. */
function parseElement(text: string, leafOf: LeafOf): ColumnType {
  const type = parseType(text, leafOf);
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
