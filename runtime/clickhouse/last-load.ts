import type { Relation } from "../core/model/endpoint.js";
import type { LastLoadSql } from "../core/model/freshness.js";
import { escapedIdentifier, projectParts, sql } from "../core/warehouse/sql.js";
import type { LastLoad } from "../core/warehouse/warehouse.js";
import { finished } from "./parameters.js";
import type { ReadRows } from "./scanned-rows.js";

export const LAST_LOAD_MS = 10_000;

/** The database's clock and the last load. A day is its start in UTC; of no rows it is 1970 where the column takes no null. */
export async function readLastLoad(
  read: ReadRows,
  relation: Relation,
  { latest, filter }: LastLoadSql,
): Promise<LastLoad> {
  const rows = sql`FROM ${escapedIdentifier(...relation)}`;
  const source = filter === undefined ? rows : sql`${rows} WHERE ${projectParts([filter])}`;
  const milliseconds = sql`toInt64(toUnixTimestamp64Milli(toDateTime64(${projectParts([latest])}, 3, 'UTC')))`;
  const [row] = await read<{ readonly now: string | number; readonly loaded: string | number | null }>(
    finished(
      sql`SELECT toUnixTimestamp64Milli(now64(3)) AS now, ${milliseconds} AS loaded ${source} FORMAT JSONEachRow`,
    ),
  );
  const { now = NaN, loaded = null } = row ?? {};
  return { now: Number(now), loadedAt: loaded === null ? null : Number(loaded) };
}
