import { type Column, type Endpoint, MAX_TYPE_TEXT, typeTextOf } from "@routewright/runtime/model";
import { Remembered } from "../../manifest/remembered.js";
import type { Dialect, TypeConstructor } from "./constructors.js";
import {
  type AnyType,
  type DataType,
  isAny,
  isKnown,
  isWideNumber,
  nullable,
  typeFrom,
  UNKNOWN,
} from "./data-type.js";
import { isPlainText } from "./json-schema.js";
import { SERVED } from "./served-names.js";
import { dialectOf } from "./warehouse-names.js";

/**
 * Reads the text of a column's type as the engines that serve have it, in any letter case. It never throws and takes time
 * linear in the text: one that is missing, malformed, too long or too deep is unknown.
 *
 *     dataTypeOf("LowCardinality(Nullable(String))") // a text, nullable
 *     dataTypeOf("numeric(20,0)[]")                  // an array of decimals of 20 digits
 *
 * Null is allowed only where the text says so: `Nullable(String)`, or `text null` as in a column definition.
 */
export function dataTypeOf(text: string | null | undefined): DataType {
  if (text === null || text === undefined) return UNKNOWN;
  const reading = (): DataType => read(text, SERVED, asRead);
  return text.length < 100 ? KNOWN.of(text, reading) : reading();
}

/** Thousands of columns share few types, and each is read for its interface and for OpenAPI. */
const KNOWN = new Remembered<DataType>(1000);

/** As `dataTypeOf`, for a comparison: each type that is not known has its name, or is what `meant` says that it is. */
export function namedTypeOf(
  text: string | null,
  meant: (name: string) => DataType | undefined = () => undefined,
): DataType {
  if (text === null) return UNKNOWN;
  return read(text, SERVED, (type, written) => {
    const identity = written.toLowerCase().replaceAll(/\s+/g, " ").trim();
    return (type.kind === "unknown" ? meant(identity) : undefined) ?? { ...type, identity };
  });
}

/** The type that an adapter's type text means; null for one that is not known, or holds one. */
export function warehouseTypeOf(adapter: string, text: string): DataType | null {
  const type = read(text, dialectOf(adapter), asRead);
  return isKnown(type) ? type : null;
}

/** What stands for a type that is not known, or for JSON, also within another. */
type LeafOf = (type: AnyType, written: string) => DataType;

const asRead: LeafOf = (type) => type;

const UNKNOWN_SHAPE = { kind: "unknown" } as const;

/** PostgreSQL's own limit, MAXDIM. */
const MAX_DIMENSIONS = 6;

/** Unsupported types are `unknown`, also within a supported one. */
function read(text: string, dialect: Dialect, leafOf: LeafOf): DataType {
  const found = text.length > MAX_TYPE_TEXT ? null : typeTextOf(text);
  if (found === null || (dialect.isServed && (found.isAngled || found.dimensions > MAX_DIMENSIONS)))
    return leafOf({ ...UNKNOWN, text: text.slice(0, MAX_TYPE_TEXT) }, text.slice(0, MAX_TYPE_TEXT));
  const { name, args, dimensions, isNull } = found;
  const written = args.length === 0 ? name : `${name}(${args.join(",")})`;
  const inner = (part: string): DataType => nullableFloat(read(part, dialect, leafOf));
  const shape = constructorOf(name, dialect)?.(args, inner) ?? UNKNOWN_SHAPE;
  const [first = ""] = args;
  const argument = /^\d+$/.test(first) ? Number(first) : null;
  const element = typeFrom({ name: name.toLowerCase(), argument, ...shape }, written);
  const leaf = isAny(element) && element.identity === undefined ? leafOf(element, written) : element;
  const type = arrayOf(leaf, dimensions);
  return { ...(isNull ? nullable(type) : type), text };
}

/** A float in a list, a map or a tuple: nothing in a project rules out that it is NaN. */
function nullableFloat(type: DataType): DataType {
  return type.kind === "float" ? nullable(type) : type;
}

function constructorOf(
  written: string,
  { names, exactCase, isServed }: Dialect,
): TypeConstructor | undefined {
  const name = written.toLowerCase();
  return exactCase?.get(written) ?? names.get(name) ?? (isServed ? postgresArray(name, names) : undefined);
}

/** `_int4` is PostgreSQL's internal name of `int4[]`. */
function postgresArray(name: string, names: Dialect["names"]): TypeConstructor | undefined {
  const element = name.startsWith("_") ? names.get(name.slice(1)) : undefined;
  return (
    element &&
    ((args, parse) => {
      return arrayOf(typeFrom({ ...(element(args, parse) ?? UNKNOWN_SHAPE), name }, name), 1);
    })
  );
}

/** An element of PostgreSQL's arrays may be null, whatever the column says; a row of a matrix may not. */
function arrayOf(element: DataType, dimensions: number): DataType {
  if (dimensions === 0) return element;
  const { name, argument, text } = element;
  const of = dimensions === 1 ? nullable(element) : arrayOf(element, dimensions - 1);
  return { kind: "array", of, name, argument, text: `${text}${"[]".repeat(dimensions)}`, nullable: false };
}

/** The enum of these values for a text type; other types are unchanged. */
export function withAcceptedValues(type: DataType, values: readonly string[] | null | undefined): DataType {
  if (!isPlainText(type) || !values) return type;
  const { text, name, argument } = type;
  return { kind: "enum", values, text, name, argument, nullable: type.nullable };
}

/** As it is served by default: its wide numbers are strings where the column, else its endpoint, says so. */
export function typeInResponse(
  type: DataType,
  column: Pick<Column, "numbers">,
  endpoint: Pick<Endpoint, "numbers">,
): DataType {
  if ((column.numbers ?? endpoint.numbers) !== "string" || !isWideNumber(type)) return type;
  const { text, name, argument } = type;
  return { kind: "text", text, name, argument, nullable: type.nullable };
}
