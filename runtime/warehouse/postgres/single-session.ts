import { connectionConfig } from "./connect.js";
import { PostgresClient } from "../../connection/postgres-client.js";
import { SessionSetup } from "./session.js";

/** Runs one SQL statement and returns its rows. */
export type RunInSession = (text: string, values?: readonly unknown[]) => Promise<readonly unknown[]>;

/**
 * Calls `work` with a session that is set up as those that serve: where the server or its pooler refuses these, so does it.
 * Behind a pooler each statement has a transaction of its own.
 */
export async function withServingSession<Value>(
  url: string,
  timeoutMs: number,
  work: (run: RunInSession) => Promise<Value>,
): Promise<Value> {
  const client = new PostgresClient({ ...connectionConfig(url), query_timeout: timeoutMs });
  try {
    await client.connect();
    const setup = new SessionSetup(timeoutMs);
    const { isPooled } = await setup.prepare(client);
    const run: RunInSession = async (text, values = []) =>
      (await client.query(text, [...values])).rows as readonly unknown[];
    return await work(isPooled ? inTransactions(run, setup) : run);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function inTransactions(run: RunInSession, setup: SessionSetup): RunInSession {
  return async (text, values) => {
    await run("BEGIN");
    try {
      await run(setup.transactionText(false));
      return await run(text, values);
    } finally {
      await run("ROLLBACK");
    }
  };
}
