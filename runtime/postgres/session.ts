import type pg from "pg";

/** How long it may take to connect and to set a session up. */
const CONNECT_TIMEOUT_MS = 10_000;

/** What a new connection is. */
export interface Session {
  /** The database process that serves it; changes behind a pooler. */
  readonly pid: number;
  /** Whether a pooler stands between: then the next transaction may run in another session, without our settings. */
  readonly isPooled: boolean;
}

/** A query limit in the address would count for every query of the connection; each query has its own. */
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

/** Applies the settings. They are not sent at start-up, where poolers refuse unknown ones. */
export async function prepareSession(client: pg.ClientBase, statementTimeoutMs: number): Promise<Session> {
  const settings = sessionSettings(statementTimeoutMs).map((setting) => `SET ${setting}`);
  const config: pg.QueryConfig & { query_timeout: number } = {
    text: `${[...settings, CHECK_CLIENT_CONNECTION].join("; ")}; SELECT pg_backend_pid() AS pid`,
    // A database that hangs just then must not hold up all that wait.
    query_timeout: CONNECT_TIMEOUT_MS,
  };
  const results = (await client.query<{ pid: number }>(config)) as unknown as pg.QueryResult<{
    pid: number;
  }>[];
  const pid = results.at(-1)?.rows[0]?.pid ?? 0;
  const { processID = pid } = client as { readonly processID?: number | null };
  return { pid, isPooled: processID !== pid };
}

/** What a query behind a pooler sends first. The settings end with its transaction. */
export function transactionSettings(statementTimeoutMs: number): string {
  const settings = sessionSettings(statementTimeoutMs).map((setting) => `SET LOCAL ${setting}`);
  return ["BEGIN READ ONLY", ...settings].join("; ");
}

/** Values are written the same way whatever the database or the role has set. Read-only: nothing that is sent writes. */
function sessionSettings(statementTimeoutMs: number): string[] {
  return [
    "timezone = 'UTC'",
    "datestyle = 'ISO'",
    "intervalstyle = 'postgres'",
    "bytea_output = 'hex'",
    "extra_float_digits = 1",
    "default_transaction_read_only = on",
    "jit = off",
    `statement_timeout = ${String(Math.trunc(statementTimeoutMs))}`,
  ];
}

/** The database notices within this time that the client has closed the connection. Not every platform can. */
const CHECK_CLIENT_CONNECTION =
  "DO $$ BEGIN SET client_connection_check_interval = '500ms'; EXCEPTION WHEN OTHERS THEN NULL; END $$";
