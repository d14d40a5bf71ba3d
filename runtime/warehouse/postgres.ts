import pg from "pg";
import type { Relation } from "../endpoint/endpoint.js";
import { postgresDialect } from "../query/postgres.js";
import type { Selection } from "../query/selection.js";
import { ShapeCache } from "./shape-cache.js";
import { StatementNames } from "./statement-names.js";
import type { Rows, Warehouse } from "./warehouse.js";
import type { RealColumn, RelationShape } from "../query/dialect.js";

/** Queries that may wait for a connection; beyond it a caller is told to come back. */
const MAX_WAITING = 1000;

/** Connections held at most: more than the cores of an ordinary database server only adds switching. */
const MAX_CONNECTIONS = 20;

/** How long a health check waits for the database. */
const PING_TIMEOUT_MS = 2000;

/** SQLSTATEs that a statement gives whose relation has other columns, or columns of other types, than when it was made. */
const SHAPE_CHANGED: ReadonlySet<string> = new Set([
  "42703", // undefined column
  "42P01", // undefined table
  "42883", // undefined function or operator, for the new type
  "22P02", // a literal is no text of the new type
  "22007", // nor a date or time of it
]);

export interface PostgresOptions {
  readonly url: string;
  /** A query that runs longer is cancelled. */
  readonly statementTimeoutMs: number;
  /** Told of a connection that broke while nobody used it. */
  readonly onIdleError: (error: Error) => void;
}

/** The PostgreSQL warehouse: JSON is made by the database, so that no digit is lost and no row is printed twice. */
export function openPostgres(options: PostgresOptions): Warehouse {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: 10_000,
    application_name: "routewright",
    // Awaited, though the type does not say so. Settings are not sent at start-up, where poolers refuse unknown ones.
    onConnect: (client) => client.query(sessionSettings(options.statementTimeoutMs)) as never,
  });
  // A health check must not wait behind the queries: a database that is busy is not out of reach.
  const pings = new pg.Pool({
    connectionString: options.url,
    max: 1,
    connectionTimeoutMillis: PING_TIMEOUT_MS,
    query_timeout: PING_TIMEOUT_MS,
    application_name: "routewright health",
  });
  for (const each of [pool, pings]) each.on("error", (error) => options.onIdleError(withoutClient(error)));
  return new PostgresWarehouse(pool, pings);
}

/**
 * Fixes what decides how a value is written, whatever the database or the role has set. Read-only is a second wall:
 * nothing that this program sends writes.
 */
function sessionSettings(statementTimeoutMs: number): string {
  const settings = [
    "timezone = 'UTC'",
    "datestyle = 'ISO'",
    "intervalstyle = 'postgres'",
    "bytea_output = 'hex'",
    "extra_float_digits = 1",
    "default_transaction_read_only = on",
    "jit = off",
    `statement_timeout = ${Math.trunc(statementTimeoutMs)}`,
  ];
  return settings.map((setting) => `SET ${setting}`).join("; ");
}

/** The pool hangs the whole client on the error, which is nothing for a log. */
function withoutClient(error: Error & { client?: unknown }): Error {
  delete error.client;
  return error;
}

class PostgresWarehouse implements Warehouse {
  readonly #pool: pg.Pool;
  readonly #pings: pg.Pool;
  readonly #names = new StatementNames();
  readonly #shapes = new ShapeCache((relation) => this.#describe(relation));

  constructor(pool: pg.Pool, pings: pg.Pool) {
    this.#pool = pool;
    this.#pings = pings;
  }

  async rows(relation: Relation, selection: Selection): Promise<Rows | "overloaded"> {
    if (this.#pool.waitingCount >= MAX_WAITING) return "overloaded";
    const known = this.#shapes.get(relation);
    try {
      return await this.#select(relation, known instanceof Promise ? await known : known, selection);
    } catch (error) {
      if (this.#isFull(error)) return "overloaded";
      if (!SHAPE_CHANGED.has((error as pg.DatabaseError).code ?? "")) throw error;
      return this.#select(relation, await this.#shapes.renew(relation), selection);
    }
  }

  /** Whether a query has waited in vain for one of the connections, all of which were at work. */
  #isFull(error: unknown): boolean {
    const { totalCount, idleCount } = this.#pool;
    const isTimeout = error instanceof Error && /timeout exceeded when trying to connect/.test(error.message);
    return isTimeout && totalCount >= MAX_CONNECTIONS && idleCount === 0;
  }

  async #select(relation: Relation, shape: RelationShape, selection: Selection): Promise<Rows> {
    const { text, values } = postgresDialect.select(relation, shape, selection);
    const name = this.#names.of(text);
    const query = name === null ? { text, values } : { name, text, values };
    const result = await this.#pool.query<{ rows: string | null; found: number }>(query as pg.QueryConfig);
    const { rows = null, found = 0 } = result.rows[0] ?? {};
    const limit = selection.page?.limit ?? found;
    return { json: rows ?? "", returned: Math.min(found, limit), hasMore: found > limit };
  }

  async #describe(relation: Relation): Promise<RelationShape> {
    const { text, values } = postgresDialect.describe(relation);
    const { rows } = await this.#pool.query<RealColumn>({ text, values: values as unknown[] });
    if (rows.length > 0) return rows;
    throw new Error(`The relation ${relation.join(".")} does not exist in the database, or has no columns.`);
  }

  async isReachable(): Promise<boolean> {
    const late = new Promise<false>((resolve) => setTimeout(resolve, PING_TIMEOUT_MS, false).unref());
    const answer = this.#pings.query("SELECT 1").then(
      () => true,
      () => false,
    );
    return Promise.race([answer, late]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.end(), this.#pings.end()]);
  }
}
