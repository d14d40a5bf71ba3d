import { QueryAbandoned, QueryTimeout } from "../query/warehouse.js";

/**
 * What a failure at a replica says:
 * - "server": it is down, starting, shutting down, or lets nobody in. It gets no more queries for now.
 * - "transient": it could not do this just now, and another server may.
 * - "lag": it does not have, or may not read, what the primary may have.
 * - "query": any server would fail, or the time for the query is spent.
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

/** What `pg` says of a connection that is gone or cannot be had; it has no codes for that. */
const LOST =
  /^(Connection terminated (unexpectedly|due to connection timeout)|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed)/;

/** Judges the error of a `Warehouse` that is a replica. */
export function failureScopeOf(error: unknown): FailureScope {
  if (error instanceof QueryTimeout || error instanceof QueryAbandoned) return "query";
  const { code, message = "" } = error as { code?: unknown; message?: string };
  // Codes of the operating system, such as ECONNRESET; no SQLSTATE begins with this letter.
  if ((typeof code === "string" && /^E[A-Z_]+$/.test(code)) || LOST.test(message)) return "server";
  // Without a code: a relation that is missing, or a connection whose state the next health check finds out.
  if (typeof code !== "string") return "lag";
  return BY_STATE[code] ?? BY_STATE[code.slice(0, 2)] ?? "query";
}

/** Conditions after which the database closes the connection: it is shutting down, or the session has ended. */
const SESSION_OVER = /^(08...|57P0.|25P03)$/;

/**
 * Whether the database refused a statement: the connection is as good as before. Its messages are in the language of its
 * server, so the code decides; codes of the operating system look different.
 */
export function isStatementError(error: unknown): boolean {
  if (error instanceof QueryTimeout) return error.cause !== undefined;
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^[0-9FHPX][0-9A-Z]{4}$/.test(code) && !SESSION_OVER.test(code);
}

/** Whether the server has no connection to give just now: too many clients, or too many of this role or database. */
export function isConnectionRefusal(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "53300" || code === "57P03" || code === "08P01";
}

/**
 * SQLSTATEs of a statement whose relation, or whose columns, are not what they were when it was made: dbt replaces tables
 * and drops the views above them while it runs (runtime/README.md, Caching and freshness).
 */
const RELATION_CHANGED: ReadonlySet<string> = new Set([
  "42P01", // undefined table
  "42703", // undefined column
  "42883", // undefined function or operator, for the new type
  "42846", // undefined cast, from the new type
  "22P02", // a literal is not a text of the new type
  "22007", // nor a date or time of it
  "0A000", // the cached plan must not change its result type
  "XX000", // the relation was dropped between planning and opening it
]);

export function isRelationChange(error: unknown): boolean {
  return error instanceof RelationMissing || RELATION_CHANGED.has((error as { code?: string }).code ?? "");
}

/** The database has no such relation. */
export class RelationMissing extends Error {
  constructor(name: string) {
    super(`The relation ${name} does not exist in the database, or has no columns.`);
  }
}
