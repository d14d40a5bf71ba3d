import { failed, type Outcome, succeeded } from "@routewright/runtime/model";
import { sourceTypeOf } from "../../manifest/served-types/read-type.js";
import { servedType } from "../../manifest/served-types/served-type.js";
import type { SourceType } from "../../manifest/served-types/source-type.js";
import type { CopiedColumn } from "../copied-relation.js";
import { duckdbIdentifier as identifier, duckdbLiteral as literal } from "./duckdb.js";
import { jsonText, textOf } from "./texts.js";

/** A column of an export as DuckDB reads it. */
export interface DuckDbColumn {
  readonly name: string;
  readonly type: string;
}

/** A column of the copy, and the expression of DuckDB that gives its text. */
export interface TextColumn {
  readonly name: string;
  readonly type: string;
  readonly isNotNull: boolean;
  readonly text: string;
}

/** The text of a column of the copy, refused where the export's type could only be converted by guessing. */
export function textColumn(column: CopiedColumn, source: DuckDbColumn): Outcome<TextColumn> {
  const { name, isNotNull } = column;
  const from = sourceTypeOf("duckdb", source.type);
  const type = column.type ?? servedType("duckdb", "postgres", source.type, isNotNull);
  const to = type === null ? null : sourceTypeOf("postgres", type);
  const x = identifier(source.name);
  const text =
    from === null || to === null ? null : converted(x, from, to, `${name} does not fit ${String(type)}`);
  return text === null || type === null
    ? failed(
        `the export has ${source.type} and the copy ${type ?? "no such type"}: cast the column in the export, or correct its data_type`,
      )
    : succeeded({ name, type, isNotNull, text });
}

function converted(x: string, from: SourceType, to: SourceType, problem: string): string | null {
  if (to.kind === "json")
    return from.kind === "text" ? x : isNested(from) || from.kind === "json" ? jsonText(x, from) : null;
  if (to.kind === "array") return from.kind === "array" ? convertedArray(x, from.of, to.of, problem) : null;
  const cast = castOf(from, to);
  if (cast === null) return null;
  if (cast === "") return textOf(x, from);
  const value = cast === "utc" ? `make_timestamp(epoch_us(${x}))` : `TRY_CAST(${x} AS ${cast})`;
  // Of times with a zone the value is the same by the way it is made.
  const text = textOf(value, to);
  return cast === "utc" || text === null
    ? text
    : checked(`${value} IS NOT DISTINCT FROM ${x}`, text, problem);
}

const isNested = ({ kind }: SourceType): boolean => kind === "array" || kind === "map" || kind === "record";

const checked = (isExact: string, text: string, problem: string): string =>
  `CASE WHEN ${isExact} THEN ${text} ELSE error(${literal(`a value of ${problem}`)}) END`;

function convertedArray(x: string, from: SourceType, to: SourceType, problem: string): string | null {
  const cast = castOf(from, to);
  if (cast === null || cast === "utc") return null;
  if (cast === "") return textOf(x, { kind: "array", of: from });
  const value = `TRY_CAST(${x} AS ${cast}[])`;
  const text = textOf(value, { kind: "array", of: to });
  return text === null ? null : checked(`${value} IS NOT DISTINCT FROM ${x}`, text, problem);
}

/** The type of DuckDB that a value passes through on its way; empty where PostgreSQL's type holds every value; null where there is none. */
function castOf(from: SourceType, to: SourceType): string | null {
  switch (to.kind) {
    case "integer":
      return isExactType(from) ? integerCast(from, to) : null;
    case "decimal":
      return isExactType(from) ? decimalCast(from, to) : null;
    case "float":
      if (from.kind === "integer") return to.bits === 32 ? "FLOAT" : "DOUBLE";
      if (from.kind !== "float") return null;
      return from.bits === to.bits ? "" : to.bits === 32 ? "FLOAT" : "DOUBLE";
    case "text":
      return from.kind === "text" || from.kind === "uuid" || from.kind === "json" ? "" : null;
    case "uuid":
      return from.kind === "uuid" || from.kind === "text" ? "" : null;
    case "timestamp":
      return timestampCast(from, to.hasZone);
    case "date":
      return from.kind === "date" ? "" : from.kind === "timestamp" && !from.hasZone ? "DATE" : null;
    case "time":
    case "boolean":
    case "bytes":
      return from.kind === to.kind ? "" : null;
    default:
      return null;
  }
}

type ExactType = Extract<SourceType, { kind: "integer" | "decimal" }>;

const isExactType = (type: SourceType): type is ExactType =>
  type.kind === "integer" || type.kind === "decimal";

function integerCast(from: ExactType, to: Extract<SourceType, { kind: "integer" }>): string {
  const fits = from.kind === "integer" && from.isUnsigned !== true && from.bits <= to.bits;
  return fits ? "" : { 8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT", 128: "HUGEINT" }[to.bits];
}

/** Digits before the point of every value of a whole number's type. */
const DIGITS = { 8: 3, 16: 5, 32: 10, 64: 20, 128: 39 } as const;

/** DuckDB's widest decimal. */
const MAX_PRECISION = 38;

function decimalCast(from: ExactType, to: Extract<SourceType, { kind: "decimal" }>): string | null {
  const [whole, scale] =
    from.kind === "integer" ? [DIGITS[from.bits], 0] : [from.precision - from.scale, from.scale];
  const fits = to.precision === 0 || (whole <= to.precision - to.scale && scale <= to.scale);
  if (fits) return "";
  return to.precision > MAX_PRECISION ? null : `DECIMAL(${String(to.precision)}, ${String(to.scale)})`;
}

/** A time without a zone is one in UTC, as of the copy in ClickHouse. */
function timestampCast(from: SourceType, hasZone: boolean): string | null {
  if (from.kind === "date") return "TIMESTAMP";
  if (from.kind !== "timestamp") return null;
  if (from.precision > 6) return "TIMESTAMP";
  return from.hasZone && !hasZone ? "utc" : "";
}
