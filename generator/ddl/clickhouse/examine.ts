import { clickhouseIdentifier as identifier } from "../../verify/clickhouse-relations.js";
import { type Misfit, rowGroupOf } from "../value-check.js";
import { bareType } from "./conversions.js";
import type { ClickhouseExport } from "./export.js";
import { folderText, onOneLine } from "./expressions.js";
import { clickhouseLiteral as literal } from "./literal.js";
import type { RunSql } from "./session.js";
import type { TableFunction } from "./source.js";
import { AS_FILES, isOneOf, type LoadedPart, NULLABLE } from "./statements.js";

const SETTINGS = `SETTINGS ${NULLABLE}, ${AS_FILES.map((name) => `${name} = 0`).join(", ")}`;

/** The first value of the files that the copy does not hold; null where all fit, or the format has no places of rows. */
export async function misfitIn(
  run: RunSql,
  parts: readonly LoadedPart[],
  source: TableFunction,
): Promise<Misfit | null> {
  for (const part of parts) {
    const found = (await dateMisfit(run, part, source)) ?? (await valueMisfit(run, part, source));
    if (found !== null) return found;
  }
  return null;
}

async function valueMisfit(
  run: RunSql,
  { text, paths, columns }: LoadedPart,
  source: TableFunction,
): Promise<Misfit | null> {
  const checks = columns.flatMap(({ check }) => check ?? []);
  const misfits = checks.map(({ isExact }) => `NOT (${isExact})`);
  const values = checks.map(({ value }) => value);
  const [at, place, value] = (await firstRow(run, source, { text, paths, misfits, values })) ?? [];
  const check = checks[at ?? -1];
  return check === undefined || place === undefined ? null : { ...place, check, value: value ?? null };
}

/** The days that ClickHouse reads as a `Date32`: 1900-01-01 to 2300-01-01, by days from 1970-01-01. Others it refuses without a place. */
const DATES = { first: -25567, last: 120530 };
const DAY_MS = 86_400_000;

async function dateMisfit(
  run: RunSql,
  { paths, columns }: LoadedPart,
  source: TableFunction,
): Promise<Misfit | null> {
  const dates = columns.flatMap(({ name, type, dates: file }) =>
    file === null ? [] : [{ file, check: { column: name, from: "Nullable(Date32)", to: type } }],
  );
  const text = source.withColumns(dates.map(({ file }) => `${identifier(file)} Nullable(Int32)`).join(", "));
  const values = dates.map(({ file }) => `export.${identifier(file)}`);
  const misfits = values.map((x) => `${x} NOT BETWEEN ${String(DATES.first)} AND ${String(DATES.last)}`);
  const [at, place, days] = (await firstRow(run, source, { text, paths, misfits, values })) ?? [];
  const date = dates[at ?? -1];
  if (date === undefined || place === undefined) return null;
  const value = new Date(Number(days) * DAY_MS).toISOString().replace(/T.*/, "");
  return { ...place, check: date.check, value };
}

interface Examined {
  readonly text: string;
  readonly paths: readonly string[] | null;
  /** Conditions, and what is shown of a row that meets one, in the same order. */
  readonly misfits: readonly string[];
  readonly values: readonly string[];
}

/** The first row that meets a condition: which one, where it is, and what is shown. */
async function firstRow(
  run: RunSql,
  { metadata, parameters }: TableFunction,
  { text, paths, misfits, values }: Examined,
): Promise<
  readonly [at: number, place: Pick<Misfit, "path" | "row" | "rowGroup">, value: string | null] | null
> {
  if (metadata === null || misfits.length === 0) return null;
  const which = misfits.map((condition, at) => `${condition}, ${String(at)}`).join(", ");
  const value = values.map((x, at) => `__check = ${String(at)}, toString(${x})`).join(", ");
  const where = paths === null ? "" : ` AND ${isOneOf(paths)}`;
  const lines = await run(
    `SELECT export._path, export._row_number, multiIf(${which}, -1) AS __check, multiIf(${value}, NULL) FROM ${text} AS export WHERE __check >= 0${where} ORDER BY 1, 2 LIMIT 1 ${SETTINGS} FORMAT JSONCompactEachRow`,
    parameters,
  );
  if (lines.trim() === "") return null;
  const [path, row, at, shown] = JSON.parse(lines) as [string, number | string, number, string | null];
  const groups = await run(
    `SELECT arrayMap(g -> g.num_rows, row_groups) FROM ${metadata} WHERE _path = ${literal(path)} ${SETTINGS} FORMAT JSONCompactEachRow`,
    parameters,
  );
  const [rows] = JSON.parse(groups) as [readonly (number | string)[]];
  return [at, { path, row: Number(row), rowGroup: rowGroupOf(Number(row), rows.map(Number)) }, shown];
}

/** A file whose column differs from the folder of the same name: the column's values are loaded. */
export async function folderConflict(
  run: RunSql,
  { files }: ClickhouseExport,
  { isAddress, parameters }: TableFunction,
  name: string,
): Promise<string | null> {
  for (const { text, paths, columns } of files) {
    const column = columns.find((each) => each.name.toLowerCase() === name.toLowerCase());
    if (column === undefined) continue;
    const x = `export.${identifier(column.name)}`;
    const type = bareType(onOneLine(column.type));
    const folder = folderText({ name, isInAddress: isAddress });
    const value = type === "String" ? folder : `accurateCastOrNull(${folder}, ${literal(type)})`;
    const where = files.length > 1 ? ` AND ${isOneOf(paths)}` : "";
    const lines = await run(
      `SELECT export._path, toString(${x}) FROM ${text} AS export WHERE ${value} IS DISTINCT FROM ${x}${where} LIMIT 1 ${SETTINGS} FORMAT JSONCompactEachRow`,
      parameters,
    );
    if (lines.trim() === "") continue;
    const [path, shown] = JSON.parse(lines) as [string, string | null];
    return `${path}: the column ${column.name} has ${shown ?? "a null"}, another value than the folder: the column is loaded`;
  }
  return null;
}
