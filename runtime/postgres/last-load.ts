import type { Relation } from "../core/model/endpoint.js";
import type { LastLoadSql } from "../core/model/freshness.js";
import { identifier, plan, projectParts, sql, statement, type Statement } from "../core/warehouse/sql.js";
import type { LastLoad } from "../core/warehouse/warehouse.js";
import { placeholder } from "./columns.js";

export const LAST_LOAD_MS = 10_000;

/** One text: the database's clock and the last load, in seconds since 1970. A time without zone is in UTC, as dbt has it. */
export function selectLastLoad(relation: Relation, { latest, filter }: LastLoadSql): Statement {
  const rows = sql`FROM ${identifier(...relation)}`;
  const read = filter === undefined ? rows : sql`${rows} WHERE ${projectParts([filter])}`;
  const body = sql`SELECT pg_catalog.concat_ws(' ', EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()), EXTRACT(EPOCH FROM ${projectParts([latest])})) ${read}`;
  return statement(plan(body, placeholder), undefined);
}

/** In the text of `selectLastLoad`. */
export function lastLoadIn(text: string | null): LastLoad {
  const [now = NaN, loadedAt = NaN] = (text ?? "").split(" ").map((seconds) => Number(seconds) * 1000);
  return { now, loadedAt: Number.isFinite(loadedAt) ? loadedAt : null };
}
