import { failed, type Outcome, succeeded } from "@routewright/runtime/model";
import { dataTypeOf, warehouseTypeOf } from "../../catalogue/types/read-type.js";
import { clickhouseIdentifier } from "../../verify/clickhouse-relations.js";
import type { ColumnSource, ExportColumn } from "../paired-columns.js";
import type { LogicalType } from "../export-files.js";
import { folderPattern, folderTextOf, NULL_FOLDER, type PartitionFolder } from "../partition-folders.js";
import type { ValueCheck } from "../value-check.js";
import { bareType, type ValueConversion, conversionOf } from "./conversions.js";
import { clickhouseLiteral as literal } from "./literal.js";

/** A column as the engine reads it from an export. */
export interface ClickhouseColumn extends ExportColumn {
  readonly logical: LogicalType | null;
}

/** How a column of the export becomes one of the copy. */
export interface LoadedColumn {
  readonly name: string;
  readonly type: string;
  /** The value. */
  readonly value: string;
  /** Null where every value fits. */
  readonly check: ValueCheck | null;
  /** The column of the files that has dates; null of other types. */
  readonly dates: string | null;
  /** True where the files have the type that the value was made for; null of a folder. */
  readonly hasType: string | null;
}

/** A type on one line, as it is declared. */
export const onOneLine = (type: string): string => type.replace(/\s+/g, " ").replaceAll("( ", "(");

/** The type of a column that the project does not declare. */
export const undeclaredType = (source: ColumnSource<ClickhouseColumn>): string =>
  source.kind === "folder"
    ? "Nullable(String)"
    : source.column.logical === "time" || source.column.logical === "time in nanoseconds"
      ? "Nullable(String)"
      : onOneLine(source.column.type);

/** The value of a column of the copy, refused where the export's type could only be converted by guessing. */
export function loadedColumn(
  { name, type }: { readonly name: string; readonly type: string },
  source: ColumnSource<ClickhouseColumn>,
): Outcome<LoadedColumn> {
  const [x, from] = valueOf(source);
  const conversion =
    source.kind === "folder" ? folderConversion(x, type) : columnConversion(x, source.column, type);
  if (conversion === null)
    return failed(
      `the export has ${source.kind === "column" && source.column.logical !== null ? `${from} (${source.column.logical})` : from} and the copy ${type}: cast the column in the export, or correct its data_type`,
    );
  const conditions = [
    ...(isNullable(type) ? [] : [`isNotNull(${x})`]),
    ...(conversion.isExact === null ? [] : [`(isNull(${x}) OR ifNull(${conversion.isExact}, false))`]),
  ];
  const isExact = conditions.join(" AND ");
  const check = isExact === "" ? null : { column: name, from, to: type, isExact, value: x };
  const hasType = source.kind === "folder" ? null : `toTypeName(${x}) = ${literal(source.column.type)}`;
  const dates =
    source.kind === "column" && bareType(onOneLine(source.column.type)) === "Date32"
      ? source.column.name
      : null;
  return succeeded({ name, type, value: conversion.value, check, dates, hasType });
}

/** Lists, maps and tuples have no null: of a file that has one ClickHouse reads an empty one. */
const isNullable = (type: string): boolean =>
  /^(?:LowCardinality\()?Nullable\(|^(?:Array|Map|Tuple|Nested|JSON|Object|Variant|Dynamic)\b/.test(type);

function valueOf(source: ColumnSource<ClickhouseColumn>): readonly [x: string, type: string] {
  // Qualified: in ClickHouse a bare name may be an alias of the statement.
  return source.kind === "column"
    ? [`export.${clickhouseIdentifier(source.column.name)}`, onOneLine(source.column.type)]
    : [folderText(source), "the name of a folder"];
}

/** The decoded text of a folder. */
export function folderText({ name, isInAddress }: PartitionFolder): string {
  const text = `extract(export._path, ${literal(folderPattern(name))})`;
  return `decodeURLComponent(nullIf(${isInAddress ? `decodeURLComponent(${text})` : text}, ${literal(NULL_FOLDER)}))`;
}

function folderConversion(x: string, type: string): ValueConversion | null {
  const to = warehouseTypeOf("clickhouse", type);
  const pattern = to === null ? null : folderTextOf(to);
  if (pattern === null) return null;
  const holds = `match(${x}, ${literal(`^(?:${pattern})$`)})`;
  if (to?.kind === "text") return { value: `CAST(${x}, ${literal(type)})`, isExact: null };
  const cast = `accurateCastOrNull(${x}, ${literal(bareType(type))})`;
  return {
    value: isNullable(type) ? cast : `assumeNotNull(${cast})`,
    isExact: `${holds} AND isNotNull(${cast})`,
  };
}

function columnConversion(
  x: string,
  { type, logical }: ClickhouseColumn,
  to: string,
): ValueConversion | null {
  switch (logical) {
    case "null":
      return isNullable(to)
        ? {
            value: `CAST(${NO_VALUE[bareType(to).split("(")[0] ?? ""] ?? "NULL"}, ${literal(to)})`,
            isExact: null,
          }
        : { value: `CAST(${x}, ${literal(to)})`, isExact: null };
    case "interval":
      return null;
    case "time":
    case "time in nanoseconds":
      return bareType(to) === "String" ? timeText(x, to) : null;
    case null:
      return conversionOf(x, dataTypeOf(onOneLine(type)), dataTypeOf(to));
  }
}

/** What a column of nulls is where its type has none. */
const NO_VALUE: Readonly<Record<string, string>> = { Array: "[]", Map: "map()", Tuple: "()" };

/** ClickHouse reads a time of day as a time of 1970-01-01. */
const timeText = (x: string, to: string): ValueConversion => ({
  value: `CAST(replaceOne(toString(${x}), '1970-01-01 ', ''), ${literal(to)})`,
  isExact: `startsWith(toString(${x}), '1970-01-01 ')`,
});
