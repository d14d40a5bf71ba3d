import { type PerTier, type Tier, TIERS } from "../../model/tier.js";
import { constant, EMPTY, join, sql, type Statement } from "../sql.js";
import { type ResultColumns, TooManyRows } from "../warehouse.js";
import { finished } from "./parameters.js";

/** Processors of the server for one query: the queries of higher tiers are fewer. */
const MAX_THREADS: PerTier<number> = { tier0: 1, tier1: 2, tier2: 4, tier3: 4 };

/**
 * How often a server of a `Distributed` table reports the rows that it has read, in microseconds: those of a `Memory` or `Log` table
 * there are limited by these reports only. At a limit of 100,000 it read 10 M rows of
 * 10 M with the default of 100 ms, 0.6 to 7.5 M with 1 ms.
 */
const REPORT_US = "1000";

/** What a query may use of the server. */
export interface ClickhouseLimits {
  readonly tier: Tier;
  /** For the server, which counts the time in which the client does not read too; 0: no limit. */
  readonly timeoutMs: number;
  /** Rows that it may read; 0: no limit. */
  readonly maxRows?: number;
}

export function limitSettings({
  tier,
  timeoutMs,
  maxRows = 0,
}: ClickhouseLimits): Readonly<Record<string, string>> {
  return {
    max_threads: String(MAX_THREADS[tier]),
    max_execution_time: String(timeoutMs / 1000),
    ...(maxRows > 0 && {
      max_rows_to_read: String(maxRows),
      max_rows_to_read_leaf: String(maxRows),
      interactive_delay: REPORT_US,
    }),
  };
}

/** Fails where a constraint of the role's profile refuses the limits of a tier: each of its queries would fail. */
export function checkLimits(limitsOf: (tier: Tier) => readonly ClickhouseLimits[]): Statement {
  const checks = TIERS.flatMap(limitsOf).map(({ tier, timeoutMs, maxRows = 0 }) => {
    const rows = constant(maxRows);
    const read = maxRows > 0 ? sql`, max_rows_to_read = ${rows}, max_rows_to_read_leaf = ${rows}` : EMPTY;
    return sql`SELECT 1 SETTINGS max_threads = ${constant(MAX_THREADS[tier])}, max_execution_time = ${constant(timeoutMs / 1000)}${read}`;
  });
  return finished(join(checks, " UNION ALL "));
}

/**
 * Rejects with `TooManyRows` when each query of a relation reads more rows than `limit`. ClickHouse itself refuses to read more of
 * tables with parts (`max_rows_to_read`), but lets a query read all of a `Memory` or `Log` table: 1,000,000 rows at a limit of
 * 100,000. Those have no index, so that each query reads them whole; their rows are known before. Of a table function that may read
 * any table (`merge`, `url`) they are not, and count as too many.
 */
export function requireAtMost(limit: number, [column]: ResultColumns): void {
  if (limit > 0 && (column?.scannedRows ?? 0) > limit) throw new TooManyRows(limit, []);
}
