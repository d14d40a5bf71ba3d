import { randomUUID } from "node:crypto";
import pg from "pg";
import { messageOf } from "../model/error-message.js";
import { failed, type Outcome, succeeded } from "../model/outcome.js";

/** Short, so that an unresponsive database does not delay the shutdown for long. */
const CONNECT_TIMEOUT_MS = 3000;
const QUERY_TIMEOUT_MS = 5000;

/** Requests of one key to one route on one day. */
export interface UsageRow {
  /** In UTC, as `2026-01-31`. */
  readonly day: string;
  /** Id of the key; `none` without one, `other` where keys were merged. */
  readonly key: string;
  /** The endpoint's path; `none` for other paths, `other` where routes were merged. */
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

/** Rows to be added in one statement. */
export interface Batch {
  /** Sequence number of the writer: the database skips a batch that it already has. */
  readonly number: number;
  readonly rows: readonly UsageRow[];
}

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
  CREATE TABLE IF NOT EXISTS routewright.usage_writer (
    id uuid PRIMARY KEY,
    batch bigint NOT NULL,
    written_at timestamptz NOT NULL DEFAULT now()
  );
END $$`;

/**
 * Adds a batch once: a batch that is sent again because its acknowledgement was lost has a known number. Sorted by key, so
 * that replicas that write the same rows cannot deadlock.
 */
const ADD = `WITH fresh AS (
  INSERT INTO routewright.usage_writer AS writer (id, batch) VALUES ($1, $2)
  ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, written_at = now() WHERE writer.batch < excluded.batch
  RETURNING id
)
INSERT INTO routewright.usage AS known
  (day, key, route, user_name, org, tier, requests, refused, errors, rows, bytes, last_seen)
SELECT day, key, route, "user", org, tier, requests, refused, errors, rows, bytes, to_timestamp("lastSeen" / 1000.0)
FROM json_to_recordset($3) AS r(day date, key text, route text, "user" text, org text, tier text, requests bigint,
  refused bigint, errors bigint, rows bigint, bytes bigint, "lastSeen" bigint)
WHERE EXISTS (SELECT FROM fresh)
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

/** Deletes this writer, and those of killed processes. */
const DELETE_WRITERS =
  "DELETE FROM routewright.usage_writer WHERE id = $1 OR written_at < now() - interval '7 days'";

/** SQLSTATEs: undefined table, undefined schema. */
const MISSING: ReadonlySet<unknown> = new Set(["42P01", "3F000"]);

/** SQLSTATEs: insufficient privilege, read-only database. */
const DENIED: ReadonlySet<unknown> = new Set(["42501", "25006"]);

/** Whether the table does not exist. */
function isMissing(error: unknown): boolean {
  return MISSING.has(codeOf(error));
}

/** Whether the role lacks a privilege: retrying does not help. */
export function isDenied(error: unknown): boolean {
  return DENIED.has(codeOf(error));
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** Statements with which the database's owner lets the role of a `postgres://` address write usage. */
export function writeGrantFor(url: string): string {
  const role = roleOf(url);
  return [
    "CREATE SCHEMA IF NOT EXISTS routewright",
    `GRANT ALL ON SCHEMA routewright TO ${role}`,
    `GRANT ALL ON ALL TABLES IN SCHEMA routewright TO ${role}`,
  ].join("; ");
}

/** Statements with which the database's owner lets the role read usage. */
function readGrantFor(url: string): string {
  const role = roleOf(url);
  return `GRANT USAGE ON SCHEMA routewright TO ${role}; GRANT SELECT ON routewright.usage TO ${role}`;
}

function roleOf(url: string): string {
  const name = decodeURIComponent(new URL(url).username);
  return name === "" ? "<role>" : `"${name.replaceAll('"', '""')}"`;
}

/** The table `routewright.usage`. Has its own connection, so that it and the queries do not wait for each other. */
export class UsageTable {
  readonly #writer = randomUUID();
  readonly #pool: pg.Pool;

  constructor(url: string) {
    this.#pool = new pg.Pool({
      connectionString: url,
      max: 1,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      idleTimeoutMillis: 60_000,
      application_name: "routewright usage",
    });
    // The next flush replaces a connection that breaks while idle.
    this.#pool.on("error", () => undefined);
  }

  /** Adds a batch; idempotent. Creates the table if it does not exist. Rejects when the database fails. */
  async add({ number, rows }: Batch): Promise<void> {
    const values = [this.#writer, number, JSON.stringify(rows.map(storable))];
    try {
      await this.#pool.query(ADD, values);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.#pool.query(CREATE);
      await this.#pool.query(ADD, values);
    }
  }

  /** Sums by day of one key, or of callers without one. No lines where the table does not exist yet. */
  async daysOf(key: string, since: string): Promise<readonly UsageLine[]> {
    const found = await this.#pool
      .query<UsageLine>(statement("day"), [since, key])
      .catch((error: unknown) => {
        if (!isMissing(error)) throw error;
        return { rows: [] };
      });
    return found.rows;
  }

  /** Closes the connection. `isDone`: no batch will be sent again. */
  async close(isDone: boolean): Promise<void> {
    if (isDone) await this.#pool.query(DELETE_WRITERS, [this.#writer]).catch(() => undefined);
    await this.#pool.end();
  }
}

/** PostgreSQL stores neither U+0000 nor lone surrogates. */
function storable(row: UsageRow): UsageRow {
  return { ...row, user: plain(row.user), org: plain(row.org) };
}

function plain(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

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
export async function readUsage(
  url: string,
  { by, since, key }: UsageQuery,
): Promise<Outcome<readonly UsageLine[]>> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: "routewright usage report",
  });
  // A lost connection rejects the query; without a listener the process would end.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<UsageLine>(statement(by), [since, key ?? ""]);
    return succeeded(rows);
  } catch (error) {
    return isMissing(error) ? succeeded([]) : failed(problemOf(error, url));
  } finally {
    await client.end().catch(() => undefined);
  }
}

function problemOf(error: unknown, url: string): string {
  if (isDenied(error))
    return `The role of DATABASE_URL may not read usage: let the database's owner run ${readGrantFor(url)}.`;
  return `Usage cannot be read from the database: ${messageOf(error)}.`;
}
