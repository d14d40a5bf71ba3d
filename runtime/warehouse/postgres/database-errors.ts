import { QueryAbandoned, QueryTimeout, RelationMissing } from "../warehouse.js";

/**
 * What a failure at a replica affects:
 * - "server": the replica is down, starting, shutting down, or refuses connections. It gets no more queries for now.
 * - "transient": the replica failed temporarily; another server may succeed.
 * - "lag": the replica lacks an object or a privilege that the primary may have.
 * - "query": every server would fail, or the query's time limit is reached.
 */
export type FailureScope = "server" | "transient" | "lag" | "query";

/** By SQLSTATE, else by its class, the first two characters. */
const BY_STATE: Readonly<Record<string, FailureScope>> = {
  "08": "server", // connection exception
  "28": "server", // no such user, wrong password
  "3D": "server", // no such database
  "57P01": "server", // shut down by its operator
  "57P02": "server", // shut down by a crash
  "57P03": "server", // starting, recovering or shutting down
  "57P04": "server", // the database was dropped
  "57P05": "transient", // a session idle for too long
  "40": "transient", // conflicts with what comes from the primary
  "53": "transient", // out of connections, memory or disk
  "55": "transient", // locked, or not in this state of the server
  "58": "transient", // an error of its system
  XX: "transient", // an internal error, or damaged data
  "0A000": "lag", // a relation that is never replicated
  "3F000": "lag", // a schema, relation, column, function, type or grant that dbt has just made
  "42P01": "lag",
  "42703": "lag",
  "42883": "lag",
  "42704": "lag",
  "42501": "lag",
};

/** Messages of `pg` for a connection that is lost or cannot be made: these errors have no code. */
const LOST =
  /^(Connection terminated (unexpectedly|due to connection timeout)|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed)/;

/** Classifies the error of a replica. */
export function failureScopeOf(error: unknown): FailureScope {
  if (error instanceof QueryTimeout || error instanceof QueryAbandoned) return "query";
  const { code, message = "" } = error as { code?: unknown; message?: string };
  // Error codes of the operating system, such as ECONNRESET; no SQLSTATE begins with E.
  if ((typeof code === "string" && /^E[A-Z_]+$/.test(code)) || LOST.test(message)) return "server";
  // Without a code: a missing relation, or a connection that the next health check will test.
  if (typeof code !== "string") return "lag";
  return BY_STATE[code] ?? BY_STATE[code.slice(0, 2)] ?? "query";
}

/** SQLSTATEs after which the database closes the connection: shutdown, or end of the session. */
const SESSION_OVER = /^(08...|57P0.|25P0[34])$/;

/**
 * Whether only the statement failed and the connection is still usable. Decided by SQLSTATE, since messages are localized;
 * error codes of the operating system have another form.
 */
export function isStatementError(error: unknown): boolean {
  if (error instanceof QueryTimeout) return error.cause !== undefined;
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^[0-9FHPX][0-9A-Z]{4}$/.test(code) && !SESSION_OVER.test(code);
}

/** Whether the server refuses further connections for now: too many clients, of this role or of this database. */
export function isConnectionRefusal(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "53300" || code === "57P03" || code === "08P01";
}

/** Whether another session's lock was in the way: for longer than `lock_timeout`, or in a deadlock with dbt's renames. */
export function isLockConflict(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "55P03" || code === "40P01";
}

/**
 * SQLSTATEs of a statement whose relation or columns have changed since it was built: dbt replaces tables and drops the
 * views that depend on them while it runs (runtime/README.md, Caching and freshness).
 */
const RELATION_CHANGED: ReadonlySet<string> = new Set([
  "42P01", // undefined table
  "42703", // undefined column
  "42883", // undefined function or operator, for the new type
  "42846", // undefined cast, from the new type
  "42804", // a column is not of the type that the statement expects
  "22P02", // a literal is not a text of the new type
  "22007", // nor a date or time of it
  "0A000", // the cached plan must not change its result type
  "XX000", // the relation was dropped between planning and opening it
]);

export function isRelationChange(error: unknown): boolean {
  return error instanceof RelationMissing || RELATION_CHANGED.has((error as { code?: string }).code ?? "");
}
