import pg from "./connection/pg.js";
import {
  type ColumnChange,
  Overloaded,
  QueryTimeout,
  QueryTooLarge,
  TypeChanged,
} from "../core/warehouse/query-errors.js";

/**
 * What PostgreSQL reports. Messages are localized, and a SQLSTATE is whatever the code that raises it chooses: the severity
 * (`wire.ts`) says whether the session ends, the source file and the function in it say who reports.
 */
const reported = (error: unknown): pg.DatabaseError | null =>
  error instanceof pg.DatabaseError ? error : null;

const isFatal = ({ severity }: pg.DatabaseError): boolean => severity === "FATAL" || severity === "PANIC";

/** Whether it is `asTooLarge` of what PostgreSQL has reported, or of a limit of Routewright's own: then without a cause. */
const isOfLimits = (error: unknown): error is QueryTooLarge | Overloaded =>
  error instanceof QueryTooLarge || error instanceof Overloaded;

/** Whether only the statement failed and the connection is still usable. */
export function isStatementError(error: unknown): boolean {
  if (isOfLimits(error)) return error.cause !== undefined;
  const report = reported(error);
  return report !== null && !isFatal(report);
}

/** Whether the server ends the session, such as one that was idle for too long. */
export function isSessionEnd(error: unknown): boolean {
  const report = reported(error);
  return report !== null && isFatal(report);
}

/** Messages of `pg` for a connection that is lost or cannot be made: these errors have no code. */
const LOST =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout)/;

/** Whether the connection failed rather than the query: the server is down, starting or stopping, or cannot be reached. */
export function isConnectionFailure(error: unknown): boolean {
  if (reported(error) !== null) return isSessionEnd(error);
  const { code, message = "" } = error as { readonly code?: unknown; readonly message?: string };
  // Codes of the operating system.
  return typeof code === "string" ? /^E[A-Z_]+$/.test(code) : LOST.test(message);
}

/** Classes of errors with which PostgreSQL refuses a statement: not supported, no such statement, schema, or part of a statement. */
const REFUSALS = /^(0A|26|3F|42)/;

/** Whether the database refuses a plan: what it was made of has changed, or the session does not have it. */
export function isPlanRefusal(error: unknown): boolean {
  return isStatementError(error) && REFUSALS.test(reported(error)?.code ?? "");
}

/** Whether a session does not know a statement: it has lost its settings with it, since it was discarded, or is another one. */
export function isSessionLost(error: unknown): boolean {
  return reported(error)?.code === "26000";
}

/** Whether the server refuses further connections for now: too many clients, of this role or of this database. */
export function isConnectionRefusal(error: unknown): boolean {
  return /^(53300|57P03|08P01)$/.test(reported(error)?.code ?? "");
}

/** SQLSTATE query_canceled: the query exceeded `statement_timeout`, or its operator has cancelled it. */
const CANCELED = "57014";

/** SQLSTATE configuration_limit_exceeded: of `temp_file_limit`. */
const LIMIT_EXCEEDED = "53400";

/** SQLSTATE out_of_memory: also of the memory that all sessions share, such as the table of locks. */
const OUT_OF_MEMORY = "53200";

/** Source files that report the session's own memory, and that which it shares with its parallel workers. */
const OWN_MEMORY = /(^|\/)(mcxt|aset|generation|slab|bump|alignedalloc|dsa)\.c$/;

/** A piece that the system refuses although sessions mostly ask for less: a smaller one may be refused because of others. */
const LARGE_BYTES = 1024 * 1024;

/** Whether the statement itself needs more memory than it gets. The details are localized too, except for the size. */
function isLargeRequest({ file = "", detail = "" }: pg.DatabaseError): boolean {
  return OWN_MEMORY.test(file) && Number(/\d+/.exec(detail)?.[0] ?? 0) >= LARGE_BYTES;
}

/** A time limit, a lock for longer than `lock_timeout`, a deadlock, and a conflict with other transactions or with recovery. */
const INTERRUPTIONS = new Set([CANCELED, "55P03", "40P01", "40001"]);

/** Source files of PostgreSQL that report interruptions of the session's own statement. */
const OWN_FILES =
  /(^|\/)(postgres|proc|procsignal|procarray|standby|deadlock|lock|lmgr|predicate|heapam|heapam_handler)\.c$/;

/** A lost connection, an operator's intervention, and errors of foreign data: of the session itself the first two are fatal. */
const OTHERS_FAILURES = /^(08|57P|HV)/;

/** Functions of extensions that pass on what another server reports. */
const PASSED_ON = /^(pgfdw|dblink)_/;

/** Whether something that the database reads from failed: a foreign table, a linked server, or a function that raises such an error. */
export function isSourceFailure(error: unknown): boolean {
  const report = reported(error);
  if (report === null || isFatal(report)) return false;
  const { code = "", file = "", routine = "" } = report;
  if (PASSED_ON.test(routine) || OTHERS_FAILURES.test(code)) return true;
  return INTERRUPTIONS.has(code) && !OWN_FILES.test(file);
}

/**
 * The error as every engine reports it where the statement needs more than it may have, or than others leave it. `hasUsedItsTime`:
 * it has run for its time limit.
 */
export function asTooLarge(error: Error, hasUsedItsTime: boolean): Error {
  const report = reported(error);
  if (report === null || isFatal(report) || isSourceFailure(error)) return error;
  if (report.code === CANCELED) return hasUsedItsTime ? new QueryTimeout(error) : error;
  if (report.code === LIMIT_EXCEEDED) return new QueryTooLarge("disk space", error);
  if (report.code !== OUT_OF_MEMORY) return error;
  return isLargeRequest(report) ? new QueryTooLarge("memory", error) : new Overloaded("memory", error);
}

/** A stream was ended because another session waits for its lock. What has not been sent is queried again. */
export class StreamBlocksLock extends Error {
  constructor() {
    super("The stream was ended: another session waits to change its table.");
  }
}

/** Whether another session of the database was in the way: a lock for longer than `lock_timeout`, a deadlock with dbt's renames, or recovery. */
export function isConflict(error: unknown): boolean {
  if (error instanceof StreamBlocksLock) return true;
  const { code = "" } = reported(error) ?? {};
  return INTERRUPTIONS.has(code) && code !== CANCELED && !isSourceFailure(error);
}

/** Whether a replica cancelled the query, since it removes rows that the query may read. */
export function isRecoveryConflict(error: unknown): boolean {
  return isConflict(error) && reported(error)?.code === "40001";
}

/** What a statement that was refused says of the relation and columns that it was built for. */
export function changeIn(error: unknown): ColumnChange {
  if (error instanceof TypeChanged) return "certain";
  const isOwn = isStatementError(error) && !isOfLimits(error) && !isSourceFailure(error);
  return isOwn ? "possible" : "none";
}

/** Whether a statement names a relation or a schema that the database does not have. */
export function isRelationMissing(error: unknown): boolean {
  return /^(42P01|3F000)$/.test(reported(error)?.code ?? "") && !isSourceFailure(error);
}
