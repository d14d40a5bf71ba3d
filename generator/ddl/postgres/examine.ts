import type { Misfit, ValueCheck } from "../value-check.js";
import { rowGroupOf } from "../value-check.js";
import { type DuckDb, duckdbIdentifier, duckdbRowGroups, FILE_COLUMN, withPlaces } from "./duckdb.js";
import type { DuckDbExport, TextPart } from "./export.js";
import type { PartitionFolder } from "../partition-folders.js";
import { folderText } from "./expressions.js";

/** The first value of the files that the copy does not hold; null where all fit, or the format has no places of rows. */
export async function misfitIn(duckdb: DuckDb, parts: readonly TextPart[]): Promise<Misfit | null> {
  for (const { source, columns } of parts) {
    const checks = columns.flatMap(({ check }) => check ?? []);
    if (checks.length === 0 || withPlaces(source) === source) continue;
    const which = checks.map(({ isExact }, at) => `WHEN NOT (${isExact}) THEN ${String(at)}`).join(" ");
    const value = checks.map((check, at) => `WHEN ${String(at)} THEN ${check.value}`).join(" ");
    const [found] = await duckdb.rows(
      `SELECT * FROM (SELECT ${FILE_COLUMN}, file_row_number, CASE ${which} END AS "check", CASE CASE ${which} END ${value} END FROM ${withPlaces(source)}) WHERE "check" IS NOT NULL ORDER BY 1, 2 LIMIT 1`,
    );
    const check = checks[Number(found?.[2])];
    if (found !== undefined && check !== undefined) return placed(duckdb, found, check);
  }
  return null;
}

async function placed(duckdb: DuckDb, found: readonly unknown[], check: ValueCheck): Promise<Misfit> {
  const [path, row, , value] = found as [string, number | string, number, string | null];
  const groups = await duckdb.rows(duckdbRowGroups(path));
  const rowGroup = rowGroupOf(
    Number(row),
    groups.map(([rows]) => Number(rows)),
  );
  const place = { path, row: Number(row), rowGroup };
  return { ...place, check, value };
}

/** A file whose column differs from the folder of the same name: the column's values are loaded. */
export async function folderConflict(
  duckdb: DuckDb,
  { files }: DuckDbExport,
  partition: PartitionFolder,
): Promise<string | null> {
  for (const { source, columns } of files) {
    const column = columns.find((each) => each.name.toLowerCase() === partition.name.toLowerCase());
    if (column === undefined) continue;
    const [x, folder] = [duckdbIdentifier(column.readAs), folderText(partition)];
    const [found] = await duckdb.rows(
      `SELECT ${FILE_COLUMN}, CAST(${x} AS VARCHAR) FROM ${withPlaces(source)} WHERE TRY_CAST(${folder} AS ${column.type}) IS DISTINCT FROM ${x} LIMIT 1`,
    );
    if (found === undefined) continue;
    const [path, value] = found as [string, string | null];
    return `${path}: the column ${column.name} has ${value ?? "a null"}, another value than the folder: the column is loaded`;
  }
  return null;
}
