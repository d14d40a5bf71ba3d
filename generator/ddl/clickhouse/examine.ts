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
  { metadata, parameters }: TableFunction,
): Promise<Misfit | null> {
  if (metadata === null) return null;
  for (const { text, paths, columns } of parts) {
    const checks = columns.flatMap(({ check }) => check ?? []);
    if (checks.length === 0) continue;
    const which = checks.map(({ isExact }, at) => `NOT (${isExact}), ${String(at)}`).join(", ");
    const value = checks.map((check, at) => `__check = ${String(at)}, ${check.value}`).join(", ");
    const where = paths === null ? "" : ` AND ${isOneOf(paths)}`;
    const lines = await run(
      `SELECT export._path, export._row_number, multiIf(${which}, -1) AS __check, multiIf(${value}, NULL) FROM ${text} AS export WHERE __check >= 0${where} ORDER BY 1, 2 LIMIT 1 ${SETTINGS} FORMAT JSONCompactEachRow`,
      parameters,
    );
    if (lines.trim() === "") continue;
    const [path, row, at, shown] = JSON.parse(lines) as [string, number | string, number, string | null];
    const check = checks[at];
    if (check === undefined) continue;
    const groups = await run(
      `SELECT arrayMap(g -> g.num_rows, row_groups) FROM ${metadata} WHERE _path = ${literal(path)} ${SETTINGS} FORMAT JSONCompactEachRow`,
      parameters,
    );
    const [rows] = JSON.parse(groups) as [readonly (number | string)[]];
    const place = { path, row: Number(row), rowGroup: rowGroupOf(Number(row), rows.map(Number)) };
    return { ...place, check, value: shown };
  }
  return null;
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
