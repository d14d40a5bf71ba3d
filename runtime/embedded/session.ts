import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";

import pg from "pg";

import { SUPERUSER, type Cluster } from "./cluster.js";

/** A session of ours on the server, apart from the application's. */
export interface Session {
  readonly client: pg.Client;
  readonly socket: Socket;
}

/** A listener that isn't PostgreSQL would let us wait for ever. */
const ANSWER_MS = 5_000;

/**
 * A session waits as long as it must and outlives its client (`watch.ts`), whatever a role or the configuration sets
 * for others. That it's cut off at each shutdown is nothing for the server's log.
 */
const SETTINGS = [
  ...["statement_timeout=0", "lock_timeout=0", "transaction_timeout=0", "idle_session_timeout=0"],
  ...["client_connection_check_interval=0", "log_min_messages=panic"],
];

/**
 * Opens a session in the database `postgres`, so that neither our locks nor our presence are in the way of what is
 * done to the application's database.
 */
export async function openSession(cluster: Cluster, port: number, purpose: string): Promise<Session> {
  const socket = new Socket();
  const client = new pg.Client({
    host: "127.0.0.1",
    port,
    user: SUPERUSER,
    password: cluster.password,
    database: "postgres",
    ssl: false,
    application_name: `routewright: ${purpose}`,
    options: SETTINGS.map((setting) => `-c ${setting}`).join(" "),
    connectionTimeoutMillis: ANSWER_MS,
    stream: () => socket,
  });
  client.on("error", () => {});
  await client.connect().catch((error: unknown) => {
    socket.destroy();
    throw error;
  });
  return { client, socket };
}

/**
 * Whether the session's server is the one on our data directory: it sees there what we put there. Port and
 * process id could be another's after a crash, and the password too when somebody has copied the directory. An empty
 * file can be made on a full disk as well.
 */
export async function isOurs(cluster: Cluster, { client }: Session): Promise<boolean> {
  const probe = `routewright-${randomUUID()}`;
  const file = join(cluster.data, probe);
  try {
    await writeFile(file, "", { mode: 0o600 });
    const { rows } = await client.query<{ seen: boolean }>(
      "SELECT (pg_stat_file($1, true)).size IS NOT NULL AS seen",
      [probe],
    );
    return rows[0]?.seen === true;
  } finally {
    await rm(file, { force: true });
  }
}
