import { randomUUID } from "node:crypto";
import pg from "pg";
import type { UsageRow } from "./usage-counter.js";

/** A database that does not answer must not hold up the end of the process for long. */
const CONNECT_TIMEOUT_MS = 3000;
const QUERY_TIMEOUT_MS = 5000;

/** Rows to be added in one statement. */
export interface Batch {
  /** Counted up by the writer: by it the database knows what it has already. */
  readonly number: number;
  readonly rows: readonly UsageRow[];
}

/** Held while the tables are made: of several replicas that start together one makes them. Any constant will do. */
const LOCK = 7_262_002;

/** `IF NOT EXISTS` alone would ask for the right to make a schema that is there already. */
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
 * Adds a batch, once: one that is sent again because its answer was lost finds its number taken. In the order of the key,
 * so that replicas that write the same rows wait for each other and never in a circle.
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

/** Ours, which has written its last, and those of processes that were killed. */
const FORGET = "DELETE FROM routewright.usage_writer WHERE id = $1 OR written_at < now() - interval '7 days'";

/** SQLSTATEs of a table or a schema that is not there. */
const MISSING: ReadonlySet<unknown> = new Set(["42P01", "3F000"]);

/** SQLSTATEs of a role that may not, and of a database that takes no writes. */
const DENIED: ReadonlySet<unknown> = new Set(["42501", "25006"]);

/** Whether the table has not been made yet. */
export function isMissing(error: unknown): boolean {
  return MISSING.has(codeOf(error));
}

/** Whether waiting will not help: somebody has to grant something. */
export function isDenied(error: unknown): boolean {
  return DENIED.has(codeOf(error));
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** What lets the role of a `postgres://` address write usage, for the owner of the database to run. */
export function writeGrantFor(url: string): string {
  const role = roleOf(url);
  return [
    "CREATE SCHEMA IF NOT EXISTS routewright",
    `GRANT ALL ON SCHEMA routewright TO ${role}`,
    `GRANT ALL ON ALL TABLES IN SCHEMA routewright TO ${role}`,
  ].join("; ");
}

/** The same for reading it. */
export function readGrantFor(url: string): string {
  const role = roleOf(url);
  return `GRANT USAGE ON SCHEMA routewright TO ${role}; GRANT SELECT ON routewright.usage TO ${role}`;
}

function roleOf(url: string): string {
  const name = decodeURIComponent(new URL(url).username);
  return name === "" ? "<role>" : `"${name.replaceAll('"', '""')}"`;
}

/** The table `routewright.usage`, over a connection of its own: nothing here waits for the queries, or they for it. */
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
    // A connection that breaks between two flushes is replaced at the next one.
    this.#pool.on("error", () => undefined);
  }

  /** Adds a batch, once, however often it is sent. Makes the table where there is none. Rejects when the database fails. */
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

  /** Ends the connection. `isDone`: nothing will be sent again. */
  async close(isDone: boolean): Promise<void> {
    if (isDone) await this.#pool.query(FORGET, [this.#writer]).catch(() => undefined);
    await this.#pool.end();
  }
}

/** PostgreSQL holds neither U+0000 nor halves of characters. */
function storable(row: UsageRow): UsageRow {
  return { ...row, user: plain(row.user), org: plain(row.org) };
}

function plain(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}
