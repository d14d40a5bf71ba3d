import pg from "pg";
import { isDenied, isMissing, readGrantFor } from "./usage-table.js";

export const GROUPINGS = ["key", "route", "day"] as const;

/** What a line of the report sums up. */
export type Grouping = (typeof GROUPINGS)[number];

export interface UsageQuery {
  readonly by: Grouping;
  /** First day, in UTC, as `2026-01-31`; null: from the beginning. */
  readonly since: string | null;
  /** Id of a key, or a prefix of it, or `none` for callers without a key; null: all. */
  readonly key: string | null;
}

/** One key, route or day with its sums, in the order in which the columns are shown. */
export type UsageLine = Readonly<Record<string, string | number>>;

export type UsageResult =
  | { readonly ok: true; readonly lines: readonly UsageLine[] }
  | { readonly ok: false; readonly problem: string };

/** Columns that identify a line and describe it. All callers without a key count as one. */
const SUBJECTS: Readonly<Record<Grouping, string>> = {
  key: `key, ${latest("user_name")} AS "user", ${latest("org")} AS org, ${latest("tier")} AS tier`,
  route: "route, count(DISTINCT key)::float8 AS keys",
  day: "to_char(day, 'YYYY-MM-DD') AS day, count(DISTINCT key)::float8 AS keys",
};

/** The latest value: a key's owner may have changed. */
function latest(column: string): string {
  return `(array_agg(${column} ORDER BY last_seen DESC))[1]`;
}

const ORDERS: Readonly<Record<Grouping, string>> = {
  key: "requests DESC, usage.key",
  route: "requests DESC, usage.route",
  day: "usage.day",
};

const SUMS = ["requests", "refused", "errors", "rows", "bytes"].map(
  (column) => `sum(${column})::float8 AS ${column}`,
);

function statement(by: Grouping): string {
  return `SELECT ${SUBJECTS[by]}, ${SUMS.join(", ")},
    to_char(max(last_seen) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "lastSeen"
  FROM routewright.usage
  WHERE day >= coalesce($1::date, '-infinity') AND starts_with(key, $2)
  GROUP BY usage.${by}
  ORDER BY ${ORDERS[by]}`;
}

/** Reads the usage that the servers have written. No lines where the table does not exist yet. */
export async function readUsage(url: string, { by, since, key }: UsageQuery): Promise<UsageResult> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: "routewright usage report",
  });
  try {
    await client.connect();
    const { rows } = await client.query<UsageLine>(statement(by), [since, key ?? ""]);
    return { ok: true, lines: rows };
  } catch (error) {
    return isMissing(error) ? { ok: true, lines: [] } : { ok: false, problem: problemOf(error, url) };
  } finally {
    await client.end().catch(() => undefined);
  }
}

function problemOf(error: unknown, url: string): string {
  if (isDenied(error))
    return `The role of DATABASE_URL may not read usage: let the database's owner run ${readGrantFor(url)}.`;
  // For a host with several addresses `pg` reports an AggregateError without a message.
  const { message, code } = error as { readonly message?: string; readonly code?: string };
  return `Usage cannot be read from the database: ${message || (code ?? "no connection")}.`;
}
