import type pg from "pg";
import { isStatementError } from "./errors.js";

/** Time limit for setting up the session. */
const TIMEOUT_MS = 10_000;

/** How long a query keeps its connection while it waits for another session's lock (runtime/docs/limits.md). */
const LOCK_TIMEOUT_MS = 50;

/** Begins a notice with the process id of the backend. */
export const BACKEND_NOTICE = "routewright backend ";

/** The name of a statement that lifts `statement_timeout` to the end of the transaction. */
export const UNLIMITED = "rw_unlimited";

/** It has no row. As a `DO` block it took PostgreSQL 60 to 70 µs with each query of an endpoint without a limit. */
const PREPARE_UNLIMITED = `PREPARE ${UNLIMITED} AS SELECT WHERE pg_catalog.set_config('statement_timeout', '0', true) IS NULL`;

/** Names the backend of the transaction, whatever notices the role gets. */
const NAME_BACKEND = `RAISE INFO '${BACKEND_NOTICE}%', pg_catalog.pg_backend_pid();`;

/** Values of PostgreSQL's settings. */
type SessionSettings = Readonly<Record<string, string>>;

/** Properties of a new session. */
export interface Session {
  /** Process id of its backend; changes behind a pooler. */
  readonly pid: number;
  /** Whether it is behind a pooler: its statements then run in different sessions of the database. */
  readonly isPooled: boolean;
}

/**
 * What is left out where a server or a pooler refuses it: none changes a result. A query that waits for a lock keeps its
 * connection for 50 ms, and takes one processor: a costly one would else take as many as the database has
 * (runtime/docs/limits.md). The database detects a client that has closed its connection.
 */
const OPTIONAL: SessionSettings = {
  lock_timeout: String(LOCK_TIMEOUT_MS),
  jit: "off",
  max_parallel_workers_per_gather: "0",
  client_connection_check_interval: "500ms",
};

/** The names of the optional parts: these settings, and behind a pooler the notice that names the backend. */
type SetupPart = string;
const BACKEND: SetupPart = "DO";

/**
 * Sets sessions up: read-only, with a time limit, and where the server takes it with what saves its resources. Nothing that an
 * expression of a view depends on is set: those are the role's own settings.
 */
export class SessionSetup {
  readonly #statementTimeoutMs: number;
  readonly #onRefused: (part: SetupPart, error: Error) => void;
  /** Bounded by the parts of the set-up. */
  readonly #refused = new Set<SetupPart>();

  constructor(
    statementTimeoutMs: number,
    onRefused: (part: SetupPart, error: Error) => void = () => undefined,
  ) {
    this.#statementTimeoutMs = Math.trunc(statementTimeoutMs);
    this.#onRefused = onRefused;
  }

  /** Behind a pooler sessions are shared with others: nothing is set beyond a transaction. */
  async prepare(client: pg.ClientBase): Promise<Session> {
    const [row] = await run<{ pid: number }>(client, "SELECT pg_catalog.pg_backend_pid() AS pid");
    const pid = row?.pid ?? 0;
    const { processID = pid } = client as { readonly processID?: number | null };
    const isPooled = processID !== pid;
    const parts = [...Object.keys(OPTIONAL), ...(isPooled ? [BACKEND] : [])];
    const setUp = (some: readonly SetupPart[]): Promise<unknown> =>
      run(client, isPooled ? this.#transactionText(some, false) : this.#sessionText(some));
    await setUp(this.#accepted(parts)).catch(async (error: unknown) => {
      if (!isStatementError(error)) throw error;
      await setUp([]);
      for (const part of this.#accepted(parts))
        await this.#try(part, () =>
          isPooled ? setUp([part]) : run(client, assignments(chosen([part])).join()),
        );
    });
    return { pid, isPooled };
  }

  /** Sets up the transaction of a query behind a pooler. `isUnlimited`: without a time limit. */
  transactionText(isUnlimited: boolean): string {
    return this.#transactionText(this.#accepted([...Object.keys(OPTIONAL), BACKEND]), isUnlimited);
  }

  get #required(): SessionSettings {
    return {
      default_transaction_read_only: "on",
      statement_timeout: String(this.#statementTimeoutMs),
    };
  }

  #accepted(parts: readonly SetupPart[]): readonly SetupPart[] {
    return parts.filter((part) => !this.#refused.has(part));
  }

  async #try(part: SetupPart, set: () => Promise<unknown>): Promise<void> {
    await set().catch((error: unknown) => {
      if (!isStatementError(error)) throw error;
      this.#refused.add(part);
      this.#onRefused(part, error as Error);
    });
  }

  #sessionText(parts: readonly SetupPart[]): string {
    return [...assignments({ ...this.#required, ...chosen(parts) }), PREPARE_UNLIMITED].join("; ");
  }

  /** `SET LOCAL` logs a warning in an implicit transaction. Neither form has a row. */
  #transactionText(parts: readonly SetupPart[], isUnlimited: boolean): string {
    const settings = {
      ...this.#required,
      ...(isUnlimited && { statement_timeout: "0" }),
      transaction_read_only: "on",
      ...chosen(parts),
    };
    const calls = Object.entries(settings).map(
      ([name, value]) => `pg_catalog.set_config('${name}', '${value}', true)`,
    );
    return parts.includes(BACKEND)
      ? `DO $$ BEGIN ${calls.map((call) => `PERFORM ${call};`).join(" ")} ${NAME_BACKEND} END $$`
      : `SELECT WHERE ${calls.map((call) => `${call} IS NULL`).join(" OR ")}`;
  }
}

const chosen = (parts: readonly SetupPart[]): SessionSettings =>
  Object.fromEntries(Object.entries(OPTIONAL).filter(([name]) => parts.includes(name)));

function assignments(settings: SessionSettings): readonly string[] {
  return Object.entries(settings).map(([name, value]) => `SET ${name} = '${value}'`);
}

async function run<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  text: string,
): Promise<readonly Row[]> {
  // A database that hangs now must not block all waiting queries.
  const config: pg.QueryConfig & { query_timeout: number } = { text, query_timeout: TIMEOUT_MS };
  return (await client.query<Row>(config)).rows;
}
