import { BUSY_RETRY_SECONDS } from "../http/headers.js";
import { type HttpError, httpError } from "../model/errors.js";
import { Overloaded, QueryTooLarge } from "../warehouse/query-errors.js";
import type { Gateway } from "./gateway.js";

/** The error of a query that is too large, or that the database has no room for: the log has the database's words. Null for any other. */
export function limitError(log: Gateway["log"], failure: object, error: unknown): HttpError | null {
  if (error instanceof Overloaded) {
    if (error.cause !== undefined) log.warn(failure, "database overloaded");
    return httpError("overloaded", { n: BUSY_RETRY_SECONDS });
  }
  if (!(error instanceof QueryTooLarge)) return null;
  const { need } = error;
  log.warn({ ...failure, need }, "query too large");
  return httpError("queryTooLarge", { need });
}
