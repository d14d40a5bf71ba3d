/**
 * What a failure at a replica says:
 * - "server": it is down, starting, shutting down, or lets nobody in. Nothing more is asked of it for now.
 * - "moment": it could not do this just now, and another server may.
 * - "lag": it does not have, or may not read, what the primary may have.
 * - "question": any server would fail, or the time for it is spent.
 */
export type FailureScope = "server" | "moment" | "lag" | "question";

/** By SQLSTATE, else by its class, the first two characters. */
const BY_STATE: Readonly<Record<string, FailureScope>> = {
  "08": "server", // connection exception
  "28": "server", // no such user, wrong password
  "3D": "server", // no such database
  "57P01": "server", // shut down by its operator
  "57P02": "server", // shut down by a crash
  "57P03": "server", // starting, recovering or shutting down
  "57P04": "server", // the database was dropped
  "57P05": "moment", // a session idle for too long
  "40": "moment", // in the way of what comes from the primary
  "53": "moment", // out of connections, memory or disk
  "55": "moment", // locked, or not in this state of the server
  "58": "moment", // an error of its system
  XX: "moment", // an error of its own, or damaged data
  "0A000": "lag", // a relation that is never replicated
  "3F000": "lag", // a schema, relation, column, function, type or grant that dbt has just made
  "42P01": "lag",
  "42703": "lag",
  "42883": "lag",
  "42704": "lag",
  "42501": "lag",
};

/** What `pg` says of a connection that is gone or cannot be had; it has no codes for that. */
const LOST =
  /^(Connection terminated (unexpectedly|due to connection timeout)|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed)/;

/** Its own end of a connection that took too long, or whose answer nobody wants any more. */
const ENDED = "Connection terminated";

/** Judges the error of a `Warehouse` that is a replica. */
export function failureScopeOf(error: unknown): FailureScope {
  const { code, message = "" } = error as { code?: unknown; message?: string };
  // Codes of the operating system, such as ECONNRESET; no SQLSTATE begins with this letter.
  if ((typeof code === "string" && /^E[A-Z_]+$/.test(code)) || LOST.test(message)) return "server";
  if (message === ENDED) return "question";
  // Without a code: a relation that is not there, or a connection of which the next health check tells.
  if (typeof code !== "string") return "lag";
  return BY_STATE[code] ?? BY_STATE[code.slice(0, 2)] ?? "question";
}
