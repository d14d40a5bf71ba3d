import pg from "pg";

export interface PoolOptions {
  /** A `postgres://` address. */
  readonly url: string;
  /** Connections held at most. */
  readonly max: number;
  /** The longest that any statement may run; 0: no limit. */
  readonly statementTimeoutMs: number;
  /** Told of a connection that broke while nobody used it. */
  readonly onIdleError: (error: Error) => void;
}

/** How long it may take to connect. */
const CONNECT_TIMEOUT_MS = 10_000;

/** A pool whose connections all write values the same way, whatever the database or the role has set. */
export function openPool({ url, max, statementTimeoutMs, onIdleError }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "routewright",
    // Awaited, though the type does not say so. Settings are not sent at start-up, where poolers refuse unknown ones.
    onConnect: (client) => prepare(client, statementTimeoutMs) as never,
  });
  pool.on("error", (error) => onIdleError(withoutClient(error)));
  return pool;
}

/** A pool of one connection that waits no longer than it is told, for health checks. */
export function openPingPool(url: string, timeoutMs: number, onIdleError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    // Regular checks would keep a process alive that has nothing else to do.
    allowExitOnIdle: true,
    application_name: "routewright health",
  });
  pool.on("error", (error) => onIdleError(withoutClient(error)));
  return pool;
}

/** A database that hangs just then must not hold up all who wait. */
async function prepare(client: pg.ClientBase, statementTimeoutMs: number): Promise<void> {
  const settings: pg.QueryConfig & { query_timeout: number } = {
    text: sessionSettings(statementTimeoutMs),
    query_timeout: CONNECT_TIMEOUT_MS,
  };
  await client.query(settings);
  // Each question has a limit of its own; one in the address would count for all of them.
  (client as pg.ClientBase & Parameterised).connectionParameters.query_timeout = 0;
}

interface Parameterised {
  readonly connectionParameters: { query_timeout: number };
}

/** Read-only is a second wall: nothing that this program sends writes. */
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
  return [...settings.map((setting) => `SET ${setting}`), NOTICE_THE_CLIENT_GO].join("; ");
}

/**
 * A query is cancelled by closing its connection, which the database then notices within this time. Not every platform
 * that it runs on can; there the query runs to its end.
 */
const NOTICE_THE_CLIENT_GO =
  "DO $$ BEGIN SET client_connection_check_interval = '500ms'; EXCEPTION WHEN OTHERS THEN NULL; END $$";

/** The pool hangs the whole client on the error, which is nothing for a log. */
function withoutClient(error: Error & { client?: unknown }): Error {
  delete error.client;
  return error;
}
