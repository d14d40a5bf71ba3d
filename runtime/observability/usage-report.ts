import pg from "pg";
import { isDenied, isMissing, readGrantFor } from "./usage-table.js";

export const GROUPINGS = ["key", "route", "day"] as const;

/** What the lines of a report are about. */
export type Grouping = (typeof GROUPINGS)[number];

export interface UsageQuestion {
  readonly by: Grouping;
  /** First day, in UTC, as `2026-01-31`; null: from the beginning. */
  readonly since: string | null;
  /** Id of a key, or its beginning, or `none` for callers without one; null: everybody. */
  readonly key: string | null;
}

/** One key, route or day with its sums, in the order in which the columns are shown. */
export type UsageLine = Readonly<Record<string, string | number>>;

export type UsageReading =
  | { readonly ok: true; readonly lines: readonly UsageLine[] }
  | { readonly ok: false; readonly problem: string };

/** What tells the lines apart, and what else is said of them; all callers without a key count as one. */
const SUBJECTS: Readonly<Record<Grouping, string>> = {
  key: `key, ${latest("user_name")} AS "user", ${latest("org")} AS org, ${latest("tier")} AS tier`,
  route: "route, count(DISTINCT key)::float8 AS keys",
  day: "to_char(day, 'YYYY-MM-DD') AS day, count(DISTINCT key)::float8 AS keys",
};

/** A key's owner may have changed. */
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

/** Reads what the servers have written. A table that nobody has made yet has no lines. */
export async function readUsage(url: string, { by, since, key }: UsageQuestion): Promise<UsageReading> {
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
    return `The role of DATABASE_URL may not read usage: let its owner run ${readGrantFor(url)}.`;
  // A host with several addresses fails with several errors, and no message of its own.
  const { message, code } = error as { readonly message?: string; readonly code?: string };
  return `Usage cannot be read from the database: ${message || (code ?? "no connection")}.`;
}
