import { type HttpError, httpError } from "../model/errors.js";
import { Overloaded, QueryTooLarge } from "../warehouse/query-errors.js";
import type { Gateway } from "./gateway.js";

/** `Retry-After` of an overloaded server, or of one without its database, in seconds. */
export const RETRY_SECONDS = 1;

/** The error of a query that is too large, or that the database has no room for: the log has the database's words. Null for any other. */
export function limitError(log: Gateway["log"], failure: object, error: unknown): HttpError | null {
  if (error instanceof Overloaded) {
    if (error.cause !== undefined) log.warn(failure, "database overloaded");
    return httpError("overloaded", { n: RETRY_SECONDS });
  }
  if (!(error instanceof QueryTooLarge)) return null;
  const { need } = error;
  log.warn({ ...failure, need }, "query too large");
  return httpError("queryTooLarge", { need });
}
