import { connectionConfig } from "./connect.js";
import { PostgresClient } from "./connection/postgres-client.js";
import { SessionSetup } from "./session.js";

/** PostgreSQL's own schema first; the others of the path decide which types are printed without their schema. */
const OWN_PATH =
  "SELECT pg_catalog.set_config('search_path', pg_catalog.concat('pg_catalog, ', pg_catalog.current_setting('search_path')), true)";

/** Runs one SQL statement and returns its rows. */
export type RunInSession = (text: string, values?: readonly unknown[]) => Promise<readonly unknown[]>;

/**
 * Calls `work` with a session that is set up as those that serve: where the server or its pooler refuses these, so does it.
 * Behind a pooler each statement has a transaction of its own. `lookUp` runs statements that read PostgreSQL's catalog, in which
 * a name means what PostgreSQL has, whatever the role's path is.
 */
export async function withServingSession<Value>(
  url: string,
  timeoutMs: number,
  work: (run: RunInSession, lookUp: RunInSession) => Promise<Value>,
): Promise<Value> {
  const client = new PostgresClient({ ...connectionConfig(url), query_timeout: timeoutMs });
  try {
    await client.connect();
    const setup = new SessionSetup(timeoutMs);
    const { isPooled } = await setup.prepare(client);
    const run: RunInSession = async (text, values = []) =>
      (await client.query(text, [...values])).rows as readonly unknown[];
    const inTransaction = isPooled ? [setup.transactionText(false)] : [];
    return await work(
      isPooled ? inTransactions(run, inTransaction) : run,
      inTransactions(run, [...inTransaction, OWN_PATH]),
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

function inTransactions(run: RunInSession, before: readonly string[]): RunInSession {
  return async (text, values) => {
    await run("BEGIN");
    try {
      for (const each of before) await run(each);
      return await run(text, values);
    } finally {
      await run("ROLLBACK");
    }
  };
}
