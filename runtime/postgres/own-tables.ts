import pg from "./connection/pg.js";
import { PostgresClient } from "./connection/postgres-client.js";

/** Short, so that an unresponsive database does not delay the shutdown for long. */
const CONNECT_TIMEOUT_MS = 3000;

/** Runs a statement of a transaction. */
export type RunInTransaction = <Row extends object>(
  text: string,
  values?: readonly unknown[],
) => Promise<readonly Row[]>;

/** Runs statements, each with the same values, and returns the rows of the last. */
export interface Statements {
  run<Row extends object>(statements: readonly string[], values: readonly unknown[]): Promise<readonly Row[]>;
  /** Absent within a transaction. */
  close?(): Promise<void>;
}

interface OwnTablesOptions {
  /** What the database shows of the connections. */
  readonly name: string;
  /** 0 for none. */
  readonly queryTimeoutMs: number;
  /** At a time. Default 1. */
  readonly connections?: number;
}

/** Connections for tables of our own beside what is served. They are made when they are first used. */
export class OwnTables {
  readonly #pool: pg.Pool;

  constructor(url: string, { name, queryTimeoutMs, connections = 1 }: OwnTablesOptions) {
    this.#pool = new pg.Pool({
      connectionString: url,
      Client: PostgresClient,
      max: connections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: queryTimeoutMs,
      idleTimeoutMillis: 60_000,
      // A frozen database never closes its end: the process does not wait for that.
      allowExitOnIdle: true,
      application_name: name,
    });
    // The next use replaces a connection that breaks while idle.
    this.#pool.on("error", () => undefined);
  }

  /** Runs statements in one transaction, each with the same values, and returns the rows of the last. `lock`: the advisory lock that is held meanwhile. Rejects when the database fails. */
  run<Row extends object>(
    statements: readonly string[],
    values: readonly unknown[],
    lock?: number,
  ): Promise<readonly Row[]> {
    return this.transaction((run) => runAll<Row>(run, statements, values), lock);
  }

  /** As `transaction`, for what runs several statements with the same values. It is undone where `work` rejects. */
  inTransaction<Value>(work: (tables: Statements) => Promise<Value>): Promise<Value> {
    return this.transaction((run) =>
      work({
        run: <Row extends object>(statements: readonly string[], values: readonly unknown[]) =>
          runAll<Row>(run, statements, values),
      }),
    );
  }

  /**
   * Runs a transaction. Names are PostgreSQL's own, whatever the role's `search_path` is: a pooler gives the session to others.
   * Rejects when the database fails.
   */
  async transaction<Value>(work: (run: RunInTransaction) => Promise<Value>, lock?: number): Promise<Value> {
    const client = await this.#pool.connect();
    try {
      const locked = lock === undefined ? "" : `; SELECT pg_advisory_xact_lock(${String(lock)})`;
      await client.query(`BEGIN; SET LOCAL search_path = pg_catalog${locked}`);
      const value = await work(async <Row extends object>(text: string, values: readonly unknown[] = []) => {
        const { rows } = await client.query<Row>(text, [...values]);
        return rows;
      });
      await client.query("COMMIT");
      client.release();
      return value;
    } catch (error) {
      const isUsable = error instanceof pg.DatabaseError && (await isRolledBack(client));
      client.release(!isUsable);
      throw error;
    }
  }

  /** Runs one statement whose names are all qualified: one way to the database and back. Rejects when the database fails. */
  async ask<Row extends object>(statement: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.#pool.query<Row>(statement, [...values])).rows;
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

async function runAll<Row extends object>(
  run: RunInTransaction,
  statements: readonly string[],
  values: readonly unknown[],
): Promise<readonly Row[]> {
  let rows: readonly Row[] = [];
  for (const statement of statements) rows = await run<Row>(statement, values);
  return rows;
}

const isRolledBack = (client: pg.PoolClient): Promise<boolean> =>
  client.query("ROLLBACK").then(
    () => true,
    () => false,
  );
