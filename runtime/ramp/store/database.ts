import pg from "pg";
import { StatementNames } from "../../warehouse/statement-names.js";
import type { ProjectId } from "../project/project.js";

/** Connections of one process; a request holds one only while its short transaction runs. */
const MAX_CONNECTIONS = 20;

/** A statement of the ramp touches few rows by key: one that runs longer waits for a lock that nobody frees. */
const STATEMENT_TIMEOUT_MS = 15_000;

const SESSION_SETTINGS = `SET timezone = 'UTC'; SET jit = off; SET statement_timeout = ${String(STATEMENT_TIMEOUT_MS)}`;

/** The role that row-level security binds (migrations/0001_base.sql). */
const PROJECT_ROLE = "routewright_ramp_project";

/** A row as the driver gives it: `numeric` and `bigint` as text, `timestamptz` as `Date`. */
export type Row = Readonly<Record<string, unknown>>;

/** A result of work whose writes are not wanted: expected, so a value. */
export class Undone<T> {
  readonly value: T;

  constructor(value: T) {
    this.value = value;
  }
}

interface Transaction {
  /** Runs one statement; values go in as bind parameters only. */
  rows<R extends object = Row>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** The only row, or null. */
  row<R extends object = Row>(text: string, values?: readonly unknown[]): Promise<R | null>;
}

declare const scope: unique symbol;

/** A transaction that sees and writes the rows of one project and no others. */
export interface ProjectTransaction extends Transaction {
  readonly [scope]: "project";
  readonly projectId: ProjectId;
}

/** A transaction across projects: set-up, sign-in, sweeps. */
export interface OperatorTransaction extends Transaction {
  readonly [scope]: "operator";
}

/** The ramp's database. It has two doors, and no query gets past them: the work of one project, and the operator's. */
export interface RampDatabase {
  /** Commits what `work` wrote, or nothing of it when it throws or returns something undone. */
  inProject<T>(projectId: ProjectId, work: (tx: ProjectTransaction) => Promise<T>): Promise<T>;
  asOperator<T>(work: (tx: OperatorTransaction) => Promise<T>): Promise<T>;
  isReachable(): Promise<boolean>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly onIdleError: (error: Error) => void;
  readonly maxConnections?: number;
}

/** Opens the database; it must have been migrated. */
export async function openDatabase(options: DatabaseOptions): Promise<RampDatabase> {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.maxConnections ?? MAX_CONNECTIONS,
    connectionTimeoutMillis: 10_000,
    application_name: "routewright-ramp",
    // The pool waits for it before it gives the connection out, though its type does not say so.
    onConnect: (client) => client.query(SESSION_SETTINGS) as unknown as undefined,
  });
  pool.on("error", options.onIdleError);
  try {
    return new PooledDatabase(pool, await stepsDown(pool));
  } catch (error) {
    await pool.end();
    throw error;
  }
}

/** Whether our own account is above row-level security, so that a project's work must take the lesser role. */
async function stepsDown(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ above: boolean }>(
    "SELECT rolsuper OR rolbypassrls AS above FROM pg_roles WHERE rolname = current_user",
  );
  return rows[0]?.above ?? true;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

class PooledDatabase implements RampDatabase {
  readonly #pool: pg.Pool;
  readonly #role: string;
  readonly #names = new StatementNames();

  constructor(pool: pg.Pool, stepsDown: boolean) {
    this.#pool = pool;
    this.#role = stepsDown ? `SET LOCAL ROLE ${PROJECT_ROLE}; ` : "";
  }

  inProject<T>(projectId: ProjectId, work: (tx: ProjectTransaction) => Promise<T>): Promise<T> {
    if (!UUID.test(projectId)) throw new Error("Not a project id.");
    const begin = `BEGIN; ${this.#role}SET LOCAL ramp.project_id = '${projectId}'`;
    return this.#run(begin, (tx) => work({ ...tx, projectId } as ProjectTransaction));
  }

  asOperator<T>(work: (tx: OperatorTransaction) => Promise<T>): Promise<T> {
    return this.#run("BEGIN; SET LOCAL ramp.operator = 'on'", (tx) => work(tx as OperatorTransaction));
  }

  async #run<T>(begin: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    try {
      await client.query(begin);
      const result = await work(this.#transaction(client));
      await client.query(result instanceof Undone ? "ROLLBACK" : "COMMIT");
      return result;
    } catch (error) {
      // A connection that cannot even roll back is not given to the next request.
      await client.query("ROLLBACK").catch((lost: Error) => (broken = lost));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  #transaction(client: pg.PoolClient): Transaction {
    const rows = async <R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> => {
      const name = this.#names.of(text);
      const result = await client.query<R>({ ...(name === null ? {} : { name }), text, values: [...values] });
      return result.rows;
    };
    return { rows, row: async (text, values) => (await rows<never>(text, values))[0] ?? null };
  }

  async isReachable(): Promise<boolean> {
    return this.#pool.query("SELECT 1").then(
      () => true,
      () => false,
    );
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}
