import type pg from "pg";

/** Time limit for connecting, and for setting up the session. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Properties of a new session. */
export interface Session {
  /** Process id of its backend; changes behind a pooler. */
  readonly pid: number;
  /** Whether it is behind a pooler: the next transaction may then run in another session, without these settings. */
  readonly isPooled: boolean;
}

/** Removes `query_timeout` from the address: each query has its own time limit. */
export function connectionConfig(url: string): pg.PoolConfig {
  const address = new URL(url);
  address.searchParams.delete("query_timeout");
  return {
    connectionString: address.href,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "routewright",
  };
}

/** Applies the settings, with SET: poolers reject unknown settings in the startup packet. */
export async function prepareSession(client: pg.ClientBase, statementTimeoutMs: number): Promise<Session> {
  const settings = sessionSettings(statementTimeoutMs).map((setting) => `SET ${setting}`);
  const config: pg.QueryConfig & { query_timeout: number } = {
    text: `${[...settings, CHECK_CLIENT_CONNECTION].join("; ")}; SELECT pg_backend_pid() AS pid`,
    // A database that hangs now must not block all waiting queries.
    query_timeout: CONNECT_TIMEOUT_MS,
  };
  const results = (await client.query<{ pid: number }>(config)) as unknown as pg.QueryResult<{
    pid: number;
  }>[];
  const pid = results.at(-1)?.rows[0]?.pid ?? 0;
  const { processID = pid } = client as { readonly processID?: number | null };
  return { pid, isPooled: processID !== pid };
}

/** Begins a transaction behind a pooler. The settings end with it. */
export function transactionSettings(statementTimeoutMs: number): string {
  const settings = sessionSettings(statementTimeoutMs).map((setting) => `SET LOCAL ${setting}`);
  return ["BEGIN READ ONLY", ...settings].join("; ");
}

/** Fixes the output format of values, whatever the database or the role has set, and makes the session read-only. */
function sessionSettings(statementTimeoutMs: number): string[] {
  return [
    "timezone = 'UTC'",
    "datestyle = 'ISO'",
    "intervalstyle = 'postgres'",
    "bytea_output = 'hex'",
    "extra_float_digits = 1",
    "default_transaction_read_only = on",
    "jit = off",
    // One costly query would else take as many processors as the database has (runtime/README.md, Limits).
    "max_parallel_workers_per_gather = 0",
    `statement_timeout = ${String(Math.trunc(statementTimeoutMs))}`,
  ];
}

/** Makes the database detect a closed connection during a query. Some platforms do not support it. */
const CHECK_CLIENT_CONNECTION =
  "DO $$ BEGIN SET client_connection_check_interval = '500ms'; EXCEPTION WHEN OTHERS THEN NULL; END $$";
