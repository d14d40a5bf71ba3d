import pg from "pg";
import { failed, messageOf, type Outcome, succeeded } from "../model/outcome.js";

/** What is summed, in the order in which reports show it. */
export const SUMS = ["requests", "refused", "errors", "rows", "bytes"] as const;

/** Requests of one key to one route on one day. */
export interface UsageRow {
  /** In UTC, as `2026-01-31`. */
  readonly day: string;
  /** Id of the key; `none` without one. */
  readonly key: string;
  /** The endpoint's path; `none` for other paths. */
  readonly route: string;
  /** Empty without a key, as `org` is. */
  readonly user: string;
  readonly org: string;
  readonly tier: string;
  requests: number;
  /** Responses with status 401, 403 or 429. */
  refused: number;
  /** Responses with any other status from 400 up. */
  errors: number;
  rows: number;
  /** Bytes of the response bodies. */
  bytes: number;
  /** In milliseconds since 1970. */
  lastSeen: number;
}

/** Short, so that an unresponsive database does not delay the shutdown for long. */
const CONNECT_TIMEOUT_MS = 3000;
const QUERY_TIMEOUT_MS = 5000;

/** Advisory lock for creating the tables, as several replicas may start together. An arbitrary constant. */
const LOCK = 7_262_002;

/** `CREATE SCHEMA IF NOT EXISTS` requires the CREATE privilege even when the schema exists. */
const CREATE = `DO $$ BEGIN
  PERFORM pg_advisory_xact_lock(${LOCK});
  IF to_regnamespace('routewright') IS NULL THEN
    CREATE SCHEMA routewright;
  END IF;
  CREATE TABLE IF NOT EXISTS routewright.usage (
    day date NOT NULL,
    key text NOT NULL,
    route text NOT NULL,
    user_name text NOT NULL,
    org text NOT NULL,
    tier text NOT NULL,
    requests bigint NOT NULL,
    refused bigint NOT NULL,
    errors bigint NOT NULL,
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    last_seen timestamptz NOT NULL,
    PRIMARY KEY (day, key, route)
  );
END $$`;

/** Adds rows. Sorted by key, so that replicas that write the same rows cannot deadlock. */
const ADD = `INSERT INTO routewright.usage AS known
  (day, key, route, user_name, org, tier, requests, refused, errors, rows, bytes, last_seen)
SELECT day, key, route, "user", org, tier, requests, refused, errors, rows, bytes, to_timestamp("lastSeen" / 1000.0)
FROM json_to_recordset($1) AS r(day date, key text, route text, "user" text, org text, tier text, requests bigint,
  refused bigint, errors bigint, rows bigint, bytes bigint, "lastSeen" bigint)
ORDER BY day, key, route
ON CONFLICT (day, key, route) DO UPDATE SET
  user_name = excluded.user_name,
  org = excluded.org,
  tier = excluded.tier,
  requests = known.requests + excluded.requests,
  refused = known.refused + excluded.refused,
  errors = known.errors + excluded.errors,
  rows = known.rows + excluded.rows,
  bytes = known.bytes + excluded.bytes,
  last_seen = greatest(known.last_seen, excluded.last_seen)`;

/** What a line of the report sums up. */
export type Grouping = "key" | "route" | "day";

export interface UsageQuery {
  readonly by: Grouping;
  /** First day, in UTC, as `2026-01-31`; null: from the beginning. */
  readonly since: string | null;
  /** Id of a key, or a prefix of it, or `none` for callers without a key; null: all. */
  readonly key: string | null;
}

/** One key, route or day with its sums, in the order in which the columns are shown. */
export type UsageLine = Readonly<Record<string, string | number>>;

/** The columns that describe a line, and the order of lines. All callers without a key count as one. */
const REPORTS: Readonly<Record<Grouping, readonly [columns: string, order: string]>> = {
  key: [
    `key, ${latest("user_name")} AS "user", ${latest("org")} AS org, ${latest("tier")} AS tier`,
    "requests DESC, usage.key",
  ],
  route: ["route, count(DISTINCT key)::float8 AS keys", "requests DESC, usage.route"],
  day: ["to_char(day, 'YYYY-MM-DD') AS day, count(DISTINCT key)::float8 AS keys", "usage.day"],
};

/** The latest value: a key's owner may have changed. */
function latest(column: string): string {
  return `(array_agg(${column} ORDER BY last_seen DESC))[1]`;
}

function statement(by: Grouping): string {
  const [columns, order] = REPORTS[by];
  const sums = SUMS.map((column) => `sum(${column})::float8 AS ${column}`).join(", ");
  return `SELECT ${columns}, ${sums},
    to_char(max(last_seen) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "lastSeen"
  FROM routewright.usage
  WHERE day >= coalesce($1::date, '-infinity') AND starts_with(key, $2)
  GROUP BY usage.${by}
  ORDER BY ${order}`;
}

/** The table `routewright.usage`. Has its own connection, so that it and the queries do not wait for each other. */
export class UsageTable {
  readonly #pool: pg.Pool;

  /** `queryTimeoutMs`: 0 for none. */
  constructor(url: string, queryTimeoutMs = QUERY_TIMEOUT_MS) {
    this.#pool = new pg.Pool({
      connectionString: url,
      max: 1,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: queryTimeoutMs,
      idleTimeoutMillis: 60_000,
      // A frozen database never closes its end: the process does not wait for that.
      allowExitOnIdle: true,
      application_name: "routewright usage",
    });
    // The next flush replaces a connection that breaks while idle.
    this.#pool.on("error", () => undefined);
  }

  /** Adds rows in one statement. Creates the table if it does not exist. Rejects when the database fails. */
  async add(rows: readonly UsageRow[]): Promise<void> {
    const values = [JSON.stringify(rows.map(storable))];
    try {
      await this.#pool.query(ADD, values);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.#pool.query(CREATE);
      await this.#pool.query(ADD, values);
    }
  }

  /** Sums of what the servers have written. No lines where the table does not exist yet. */
  async read({ by, since, key }: UsageQuery): Promise<readonly UsageLine[]> {
    try {
      return (await this.#pool.query<UsageLine>(statement(by), [since, key ?? ""])).rows;
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

/** PostgreSQL stores neither U+0000 nor lone surrogates: one such name would refuse all rows. */
function storable(row: UsageRow): UsageRow {
  const plain = (text: string): string => text.replaceAll("\0", "").toWellFormed();
  return { ...row, user: plain(row.user), org: plain(row.org) };
}

/** Whether the table or its schema does not exist. */
const isMissing = (error: unknown): boolean => /^(42P01|3F000)$/.test(codeOf(error));

/** Whether the role lacks a privilege, or the database is read-only. */
export const isDenied = (error: unknown): boolean => /^(42501|25006)$/.test(codeOf(error));

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);

/** Reads the usage that the servers have written, for a report. */
export async function readUsage(url: string, query: UsageQuery): Promise<Outcome<readonly UsageLine[]>> {
  const table = new UsageTable(url, 0);
  try {
    return succeeded(await table.read(query));
  } catch (error) {
    const grant = isDenied(error) ? ` Let the database's owner run ${READ_GRANT}.` : "";
    return failed(`Usage cannot be read from the database: ${messageOf(error)}.${grant}`);
  } finally {
    await table.close();
  }
}

const READ_GRANT = "GRANT USAGE ON SCHEMA routewright TO <role>; GRANT SELECT ON routewright.usage TO <role>";
