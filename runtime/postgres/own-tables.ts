import pg from "pg";
import { PostgresClient } from "./connection/postgres-client.js";

/** Short, so that an unresponsive database does not delay the shutdown for long. */
const CONNECT_TIMEOUT_MS = 3000;

/** One connection for tables of our own beside what is served. It is made when it is first used. */
export class OwnTables {
  readonly #pool: pg.Pool;

  /** `name`: what the database shows of the connection; `queryTimeoutMs`: 0 for none. */
  constructor(
    url: string,
    { name, queryTimeoutMs }: { readonly name: string; readonly queryTimeoutMs: number },
  ) {
    this.#pool = new pg.Pool({
      connectionString: url,
      Client: PostgresClient,
      max: 1,
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

  /**
   * Runs statements in one transaction, each with the same values, and returns the rows of the last. Names are PostgreSQL's own,
   * whatever the role's `search_path` is: a pooler gives the session to others. `lock`: the advisory lock that is held
   * meanwhile. Rejects when the database fails.
   */
  async run<Row extends object>(
    statements: readonly string[],
    values: readonly unknown[],
    lock?: number,
  ): Promise<readonly Row[]> {
    const client = await this.#pool.connect();
    try {
      const locked = lock === undefined ? "" : `; SELECT pg_advisory_xact_lock(${String(lock)})`;
      await client.query(`BEGIN; SET LOCAL search_path = pg_catalog${locked}`);
      let rows: readonly Row[] = [];
      for (const statement of statements) ({ rows } = await client.query<Row>(statement, [...values]));
      await client.query("COMMIT");
      client.release();
      return rows;
    } catch (error) {
      const isUsable = error instanceof pg.DatabaseError && (await isRolledBack(client));
      client.release(!isUsable);
      throw error;
    }
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
