import { randomUUID } from "node:crypto";
import type { UsageRow } from "./usage-row.js";
import { KEEP_SHAPES } from "./usage-shapes.js";

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
  CREATE TABLE IF NOT EXISTS routewright.usage_writers (
    writer text PRIMARY KEY,
    batch bigint NOT NULL,
    written_at timestamptz NOT NULL
  );
END $$`;

/** Which rows of a writer: later ones have a larger number. */
export interface BatchNumber {
  readonly writer: string;
  readonly batch: number;
}

const onlyBatch = (): BatchNumber => ({ writer: randomUUID(), batch: 1 });

/**
 * Notes that a batch is written, first in its transaction. Of one that was written before the number would be null, which the table
 * refuses: nothing is added. Writers of which nothing came for a week are forgotten.
 */
const BEGIN_BATCH = `WITH forgotten AS (
  DELETE FROM routewright.usage_writers WHERE writer IN (
    SELECT writer FROM routewright.usage_writers WHERE written_at < now() - interval '7 days' FOR UPDATE SKIP LOCKED
  )
)
INSERT INTO routewright.usage_writers AS known (writer, batch, written_at)
SELECT writer, batch, now() FROM json_to_recordset($1) AS r(writer text, batch bigint) LIMIT 1
ON CONFLICT (writer) DO UPDATE SET
  batch = CASE WHEN known.batch < excluded.batch THEN excluded.batch END, written_at = excluded.written_at`;

/** Whether the batch was written before: `not_null_violation` of its number. */
function isWritten(error: unknown): boolean {
  return (
    (error as { readonly table?: unknown } | null)?.table === "usage_writers" && codeOf(error) === "23502"
  );
}

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

/** Statements of one transaction, and what ends with it. */
interface Transactions {
  run<Row extends object>(
    statements: readonly string[],
    values: readonly unknown[],
    lock?: number,
  ): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** Short, so that an unresponsive database does not delay the shutdown for long. */
const QUERY_TIMEOUT_MS = 5000;

/** The table `routewright.usage`. Has its own connection, so that it and the queries do not wait for each other. */
export class UsageTable {
  readonly #transactions: Transactions;

  private constructor(transactions: Transactions) {
    this.#transactions = transactions;
  }

  /** Loads PostgreSQL's client, but does not connect. `queryTimeoutMs`: 0 for none. */
  static async open(url: string, queryTimeoutMs = QUERY_TIMEOUT_MS): Promise<UsageTable> {
    const { OwnTables } = await import("../../postgres/own-tables.js");
    return new UsageTable(new OwnTables(url, { name: "routewright usage", queryTimeoutMs }));
  }

  /** Adds rows at once, unless the batch is there already. Creates the tables if they do not exist. Rejects when the database fails. */
  async add(rows: readonly UsageRow[], number: BatchNumber = onlyBatch()): Promise<void> {
    const { writer, batch } = number;
    const values = [JSON.stringify(rows.map((row) => ({ ...storable(row), writer, batch })))];
    const hasShapes = rows.some(({ shapes = [] }) => shapes.length > 0);
    // Two replicas would both keep the shapes for which there is room once.
    const write = async (): Promise<unknown> =>
      hasShapes
        ? this.#transactions.run([BEGIN_BATCH, ADD, ...KEEP_SHAPES], values, LOCK)
        : this.#transactions.run([BEGIN_BATCH, ADD], values);
    try {
      await write();
    } catch (error) {
      if (isWritten(error)) return;
      if (!isMissing(error)) throw error;
      await this.query(CREATE, []);
      await write();
    }
  }

  /** Rows of a statement. Rejects when the database fails. */
  query<Row extends object>(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#transactions.run<Row>([text], values);
  }

  /** The role of the connection, as an SQL identifier; `<role>` where the database does not say it. */
  async role(): Promise<string> {
    const rows = this.query<{ readonly role: string }>("SELECT quote_ident(current_user) AS role", []);
    return rows.then(([row]) => row?.role ?? "<role>").catch(() => "<role>");
  }

  close(): Promise<void> {
    return this.#transactions.close();
  }
}

/** PostgreSQL stores neither U+0000 nor lone surrogates: one such name would refuse all rows. */
function storable(row: UsageRow): object {
  const plain = (text: string): string => text.replaceAll("\0", "").toWellFormed();
  const parameters = [...row.parameters].map(([name, requests]) => ({ name: plain(name), requests }));
  const shapes = (row.shapes ?? []).map(({ name, requests }) => ({ name: plain(name), requests }));
  return { ...row, user: plain(row.user), org: plain(row.org), parameters, shapes };
}

/** Whether the table or its schema does not exist. */
export const isMissing = (error: unknown): boolean => /^(42P01|3F000)$/.test(codeOf(error));

/** Whether the role lacks a privilege, or the database is read-only. */
export const isDenied = (error: unknown): boolean => /^(42501|25006)$/.test(codeOf(error));

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);
