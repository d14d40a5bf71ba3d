import { QueryTimeout } from "../warehouse.js";
import { TypeChanged } from "./times.js";

/** SQLSTATEs after which the database closes the connection: shutdown, or end of the session. */
const SESSION_OVER = /^(08...|57P0.|25P0[34])$/;

/**
 * Whether only the statement failed and the connection is still usable. Decided by SQLSTATE, since messages are localized;
 * error codes of the operating system have another form.
 */
export function isStatementError(error: unknown): boolean {
  if (error instanceof QueryTimeout) return error.cause !== undefined;
  // The rest of the rows is not read: the connection is closed.
  if (error instanceof TypeChanged) return false;
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^[0-9FHPX][0-9A-Z]{4}$/.test(code) && !SESSION_OVER.test(code);
}

/** Classes of errors with which PostgreSQL refuses a statement: not supported, no such statement, schema, or part of a statement. */
const REFUSALS = /^(0A|26|3F|42)/;

/** Whether the database refuses a plan: what it was made of has changed, or the session does not have it. */
export function isPlanRefusal(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && REFUSALS.test(code);
}

/** Whether a session has lost its prepared statements, and its settings with them: it was discarded, or is another one. */
export function isSessionLost(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === "26000";
}

/** Messages of `pg` for a connection that is lost or cannot be made: these errors have no code. */
const LOST =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout)/;

/** Whether the connection failed rather than the query: the server is down, starting or stopping, or cannot be reached. */
export function isConnectionFailure(error: unknown): boolean {
  const { code, message = "" } = error as { readonly code?: unknown; readonly message?: string };
  if (typeof code !== "string") return LOST.test(message);
  // No SQLSTATE begins with E, as the codes of the operating system do.
  return /^(E[A-Z_]+|08...|57P0[1-3])$/.test(code);
}

/** Whether the server refuses further connections for now: too many clients, of this role or of this database. */
export function isConnectionRefusal(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "53300" || code === "57P03" || code === "08P01";
}

/** Whether something else was in the way: a lock for longer than `lock_timeout`, a deadlock with dbt's renames, or recovery. */
export function isConflict(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "55P03" || code === "40P01" || isRecoveryConflict(error);
}

/** Whether a replica cancelled the query, since it removes rows that the query may read. */
export function isRecoveryConflict(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === "40001";
}

/** Whether the database refused a statement: its relation or columns may have changed since it was built. */
export function mayHaveChanged(error: unknown): boolean {
  return error instanceof TypeChanged || (isStatementError(error) && !(error instanceof QueryTimeout));
}

/** Whether a statement names a relation or a schema that the database does not have. */
export function isRelationMissing(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "42P01" || code === "3F000";
}
