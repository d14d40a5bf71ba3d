import pg from "pg";
import { PostgresClient } from "../../postgres/connection/postgres-client.js";

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
  /** Requests by the name of a parameter, and of a chosen column as `fields=<column>`. */
  readonly parameters: Map<string, number>;
  /** Requests that succeeded by their shape, where shapes are recorded. */
  shapes?: Map<string, number>;
}

/**
 * The row that says that requests of a day were recorded: of no key and no route. Its requests are those whose counts were
 * lost.
 */
export function recordedDay(day: string, lost = 0): UsageRow {
  const sums = { requests: lost, refused: 0, errors: 0, rows: 0, bytes: 0 };
  return {
    day,
    key: "",
    route: "",
    user: "",
    org: "",
    tier: "",
    ...sums,
    lastSeen: 0,
    parameters: new Map(),
  };
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
  CREATE TABLE IF NOT EXISTS routewright.usage_parameters (
    day date NOT NULL,
    key text NOT NULL,
    route text NOT NULL,
    parameter text NOT NULL,
    requests bigint NOT NULL,
    PRIMARY KEY (route, day, key, parameter)
  );
  CREATE TABLE IF NOT EXISTS routewright.usage_shapes (
    day date NOT NULL,
    key text NOT NULL,
    route text NOT NULL,
    shape text NOT NULL,
    requests bigint NOT NULL,
    last_seen timestamptz NOT NULL,
    PRIMARY KEY (route, day, shape, key)
  );
END $$`;

/** Shapes of one endpoint on one day, and keys of one shape. A flood of shapes without a key replaces none of a key. */
const MAX_STORED_SHAPES = 500;
const MAX_SHAPE_KEYS = 50;

/** In the transaction of `ADD`: what succeeded and has no shape is the rest. */
const ADD_SHAPES = `INSERT INTO routewright.usage_shapes AS known (day, key, route, shape, requests, last_seen)
  SELECT day, key, route, name, sum(formed.requests), max(to_timestamp("lastSeen" / 1000.0))
  FROM json_to_recordset($1) AS r(day date, key text, route text, "lastSeen" bigint, shapes json),
    json_to_recordset(shapes) AS formed(name text, requests bigint)
  GROUP BY day, key, route, name
  ORDER BY route, day, name, key
  ON CONFLICT (route, day, shape, key) DO UPDATE SET
    requests = known.requests + excluded.requests, last_seen = greatest(known.last_seen, excluded.last_seen)`;

const GIVEN = `(route, day) IN (SELECT route, day FROM json_to_recordset($1) AS r(day date, route text, shapes json)
  WHERE json_array_length(shapes) > 0)`;

const FORGET_SHAPES = `WITH ranked AS (
  SELECT route, day, shape, row_number() OVER (
    PARTITION BY route, day ORDER BY bool_or(key <> 'none') DESC, sum(requests) DESC, shape) AS place
  FROM routewright.usage_shapes WHERE ${GIVEN} GROUP BY route, day, shape
)
DELETE FROM routewright.usage_shapes known USING ranked
WHERE place > ${MAX_STORED_SHAPES} AND (known.route, known.day, known.shape) = (ranked.route, ranked.day, ranked.shape)`;

/** The requests of further keys are those of `*`. */
const FORGET_KEYS = `WITH ranked AS (
  SELECT route, day, shape, key, count(*) OVER (PARTITION BY route, day, shape) AS keys,
    row_number() OVER (PARTITION BY route, day, shape ORDER BY key = '*' DESC, requests DESC, key) AS place
  FROM routewright.usage_shapes WHERE ${GIVEN}
), gone AS (
  DELETE FROM routewright.usage_shapes known USING ranked
  WHERE place >= ${MAX_SHAPE_KEYS} AND ranked.key <> '*'
    AND keys > ${MAX_SHAPE_KEYS}
    AND (known.route, known.day, known.shape, known.key) = (ranked.route, ranked.day, ranked.shape, ranked.key)
  RETURNING known.*
)
INSERT INTO routewright.usage_shapes AS known (day, key, route, shape, requests, last_seen)
SELECT day, '*', route, shape, sum(requests), max(last_seen) FROM gone GROUP BY day, route, shape
ON CONFLICT (route, day, shape, key) DO UPDATE SET
  requests = known.requests + excluded.requests, last_seen = greatest(known.last_seen, excluded.last_seen)`;

/** Adds rows. Sorted by key, so that replicas that write the same rows cannot deadlock. */
const ADD = `WITH given AS (
  SELECT * FROM json_to_recordset($1) AS r(day date, key text, route text, "user" text, org text, tier text,
    requests bigint, refused bigint, errors bigint, rows bigint, bytes bigint, "lastSeen" bigint, parameters json)
), named AS (
  INSERT INTO routewright.usage_parameters AS known (day, key, route, parameter, requests)
  SELECT day, key, route, name, sum(named.requests)
  FROM given, json_to_recordset(parameters) AS named(name text, requests bigint)
  GROUP BY day, key, route, name
  ORDER BY route, day, key, name
  ON CONFLICT (route, day, key, parameter) DO UPDATE SET requests = known.requests + excluded.requests
)
INSERT INTO routewright.usage AS known
  (day, key, route, user_name, org, tier, requests, refused, errors, rows, bytes, last_seen)
SELECT day, key, route, "user", org, tier, requests, refused, errors, rows, bytes, to_timestamp("lastSeen" / 1000.0)
FROM given
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

/** The table `routewright.usage`. Has its own connection, so that it and the queries do not wait for each other. */
export class UsageTable {
  readonly #pool: pg.Pool;

  /** `queryTimeoutMs`: 0 for none. */
  constructor(url: string, queryTimeoutMs = QUERY_TIMEOUT_MS) {
    this.#pool = new pg.Pool({
      connectionString: url,
      Client: PostgresClient,
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

  /** Adds rows at once. Creates the tables if they do not exist. Rejects when the database fails. */
  async add(rows: readonly UsageRow[]): Promise<void> {
    const values = [JSON.stringify(rows.map(storable))];
    const write = rows.some(({ shapes }) => shapes !== undefined)
      ? () => this.#addShapes(values)
      : () => this.query(ADD, values);
    try {
      await write();
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.query(CREATE, []);
      await write();
    }
  }

  async #addShapes(values: readonly string[]): Promise<void> {
    const client = await this.#pool.connect();
    try {
      // As in `query`. Two replicas would both keep the shapes for which there is room once.
      await client.query(
        `BEGIN; SET LOCAL search_path = pg_catalog; SELECT pg_advisory_xact_lock(${String(LOCK)})`,
      );
      for (const statement of [ADD, ADD_SHAPES, FORGET_SHAPES, FORGET_KEYS])
        await client.query(statement, [...values]);
      await client.query("COMMIT");
      client.release();
    } catch (error) {
      const isUsable = error instanceof pg.DatabaseError && (await isRolledBack(client));
      client.release(!isUsable);
      throw error;
    }
  }

  /**
   * Rows of a statement, in a transaction in which its names are PostgreSQL's own, whatever the role's `search_path` is: a pooler
   * gives the session to others. Rejects when the database fails.
   */
  async query<Row extends object>(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const client = await this.#pool.connect();
    try {
      await client.query("BEGIN; SET LOCAL search_path = pg_catalog");
      const { rows } = await client.query<Row>(text, [...values]);
      await client.query("COMMIT");
      client.release();
      return rows;
    } catch (error) {
      const isUsable = error instanceof pg.DatabaseError && (await isRolledBack(client));
      client.release(!isUsable);
      throw error;
    }
  }

  /** The role of the connection, as an SQL identifier; `<role>` where the database does not say it. */
  async role(): Promise<string> {
    const rows = this.query<{ readonly role: string }>("SELECT quote_ident(current_user) AS role", []);
    return rows.then(([row]) => row?.role ?? "<role>").catch(() => "<role>");
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

const isRolledBack = (client: pg.PoolClient): Promise<boolean> =>
  client.query("ROLLBACK").then(
    () => true,
    () => false,
  );

/** PostgreSQL stores neither U+0000 nor lone surrogates: one such name would refuse all rows. */
function storable(row: UsageRow): object {
  const plain = (text: string): string => text.replaceAll("\0", "").toWellFormed();
  const parameters = [...row.parameters].map(([name, requests]) => ({ name: plain(name), requests }));
  const shapes = [...(row.shapes ?? [])].map(([name, requests]) => ({ name: plain(name), requests }));
  return { ...row, user: plain(row.user), org: plain(row.org), parameters, shapes };
}

/** Whether the table or its schema does not exist. */
export const isMissing = (error: unknown): boolean => /^(42P01|3F000)$/.test(codeOf(error));

/** Whether the role lacks a privilege, or the database is read-only. */
export const isDenied = (error: unknown): boolean => /^(42501|25006)$/.test(codeOf(error));

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);
