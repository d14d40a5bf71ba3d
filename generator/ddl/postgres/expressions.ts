import { failed, type Outcome, succeeded } from "@routewright/runtime/model";
import { type DataType, typeFrom } from "../../catalogue/types/data-type.js";
import { warehouseTypeOf } from "../../catalogue/types/read-type.js";
import { typeInCopy } from "../../catalogue/types/type-in-copy.js";
import type { ColumnSource, ExportColumn } from "../paired-columns.js";
import type { CopiedColumn } from "../copied-relation.js";
import type { FileColumn, LogicalType } from "../export-files.js";
import { folderPattern, folderTextOf, NULL_FOLDER, type PartitionFolder } from "../partition-folders.js";
import type { ValueCheck } from "../value-check.js";
import { type TextConversion, conversionOf, INTEGERS } from "./conversions.js";
import { duckdbIdentifier as identifier, duckdbLiteral as literal, FILE_COLUMN } from "./duckdb.js";

/** A column of an export as DuckDB reads it. */
export interface DuckDbColumn extends ExportColumn {
  /** DuckDB's own name: it adds numbers to names that differ in letter case only. */
  readonly readAs: string;
  readonly logical: LogicalType | null;
  readonly nanoseconds: FileColumn["nanoseconds"];
}

/** A column of the copy, and the expression of DuckDB that gives its text. */
export interface TextColumn {
  readonly name: string;
  readonly type: string;
  readonly isNotNull: boolean;
  readonly text: string;
  /** Null where every value fits. */
  readonly check: ValueCheck | null;
  /** True where the files have the type that the text was made for; null of a folder. */
  readonly hasType: string | null;
}

/** PostgreSQL's type of a column that the project does not declare. */
export const undeclaredType = (source: ColumnSource<DuckDbColumn>): string | null =>
  source.kind === "folder" ? "text" : typeInCopy("duckdb", "postgres", source.column.type, false);

/** The text of a column of the copy, refused where the export's type could only be converted by guessing. */
export function textColumn(
  { name, type, isNotNull }: CopiedColumn & { readonly type: string },
  source: ColumnSource<DuckDbColumn>,
): Outcome<TextColumn> {
  const to = warehouseTypeOf("postgres", type);
  const [x, from] = valueOf(source);
  const conversion =
    to === null ? null : source.kind === "folder" ? folderConversion(x, to) : columnConversion(x, source, to);
  if (conversion === null) return failed(refusal(from, type, source));
  const conditions = [
    ...(isNotNull ? [`${x} IS NOT NULL`] : []),
    ...(conversion.isExact === null ? [] : [`(${x} IS NULL OR coalesce(${conversion.isExact}, false))`]),
  ];
  const isExact = conditions.join(" AND ");
  const check =
    isExact === "" ? null : { column: name, from, to: type, isExact, value: `CAST(${x} AS VARCHAR)` };
  const text =
    check === null
      ? conversion.text
      : `CASE WHEN ${isExact} THEN ${conversion.text} ELSE error(${literal(`a value of ${name} does not fit ${type}`)}) END`;
  // DuckDB replaces a column that has only nulls by NULL.
  const hasType =
    source.kind === "folder"
      ? null
      : `typeof(${x}) IN (${literal(source.column.type)}, ${literal('"NULL"')})`;
  return succeeded({ name, type, isNotNull, text, check, hasType });
}

function valueOf(source: ColumnSource<DuckDbColumn>): readonly [x: string, type: string] {
  return source.kind === "column"
    ? [identifier(source.column.readAs), source.column.type]
    : [folderText(source), "the name of a folder"];
}

/** The decoded text of a folder. */
export function folderText({ name, isInAddress }: PartitionFolder): string {
  const text = `regexp_extract(${FILE_COLUMN}, ${literal(folderPattern(name))}, 1)`;
  return `url_decode(nullif(${isInAddress ? `url_decode(${text})` : text}, ${literal(NULL_FOLDER)}))`;
}

function folderConversion(x: string, to: DataType): TextConversion | null {
  const pattern = folderTextOf(to);
  if (pattern === null) return null;
  const holds = `regexp_full_match(${x}, ${literal(pattern)})`;
  const cast = FOLDER_CASTS[to.kind];
  if (cast === undefined) return { text: x, isExact: holds };
  const type = to.kind === "integer" ? INTEGERS[to.bits] : cast;
  return { text: x, isExact: `${holds} AND TRY_CAST(${x} AS ${type}) IS NOT NULL` };
}

const FOLDER_CASTS: Readonly<Partial<Record<DataType["kind"], string>>> = {
  integer: "BIGINT",
  date: "DATE",
  timestamp: "TIMESTAMP",
  float: "DOUBLE",
};

function columnConversion(
  x: string,
  { column }: Extract<ColumnSource<DuckDbColumn>, { kind: "column" }>,
  to: DataType,
): TextConversion | null {
  if (column.logical === "null") return { text: "CAST(NULL AS VARCHAR)", isExact: null };
  if (isCut(column)) return null;
  const isTime = column.logical === "time" || column.logical === "time in nanoseconds";
  const type = isTime ? typeFrom({ kind: "time" }) : warehouseTypeOf("duckdb", column.type);
  const from = type && { ...type, text: column.type };
  return from === null ? null : conversionOf(x, from, to);
}

/** Times of day that DuckDB reads as microseconds. */
const isCut = ({ nanoseconds, type }: DuckDbColumn): boolean =>
  nanoseconds === "time" && !type.includes("TIME_NS");

function refusal(from: string, to: string, source: ColumnSource<DuckDbColumn>): string {
  const reason =
    source.kind === "column" && isCut(source.column)
      ? "the export has times of day in nanoseconds, which DuckDB 1.5.6 and later read: update it, or write microseconds"
      : `the export has ${from} and the copy ${to}: cast the column in the export, or correct its data_type`;
  return reason;
}
