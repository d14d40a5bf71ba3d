import { BUSY_RETRY_SECONDS } from "../http/headers.js";
import type { RequestContext } from "../model/caller.js";
import type { Endpoint } from "../model/endpoint.js";
import { type HttpError, httpError } from "../model/errors.js";
import { conditionError } from "../request/resolve-query.js";
import { SortKeyTooLong } from "../response/cursors.js";
import {
  DatabaseUnreachable,
  Overloaded,
  QueryAbandoned,
  QueryTooLarge,
  SourceFailed,
  TooManyDigits,
  TooManyRows,
  ValueRefused,
} from "../warehouse/query-errors.js";
import type { Gateway } from "./gateway.js";

/** The error of a query that failed, which is logged where the caller cannot help it; null when nobody needs its rows. A caller who has not left has an answer. */
export function errorOf(
  { log }: Gateway,
  endpoint: Endpoint,
  { id: requestId, caller: { tier }, isStillNeeded }: Pick<RequestContext, "id" | "caller" | "isStillNeeded">,
  error: unknown,
): HttpError | null {
  if (error instanceof QueryAbandoned)
    return isStillNeeded() ? httpError("overloaded", { n: BUSY_RETRY_SECONDS }) : null;
  if (error instanceof ValueRefused) return conditionError(error.refusal);
  if (error instanceof TooManyRows) return httpError("tooManyRows", { tier, max: error.limit });
  if (error instanceof SortKeyTooLong) return httpError("sortKeyTooLong");
  const failure = { requestId, route: endpoint.path, err: error };
  const limited = limitError(log, failure, error);
  if (limited !== null) return limited;
  log.error(failure, "query failed");
  if (error instanceof SourceFailed) return httpError("sourceFailed");
  if (error instanceof TooManyDigits) return httpError("tooManyDigits", { name: error.column });
  return error instanceof DatabaseUnreachable
    ? httpError("unreachable", { n: BUSY_RETRY_SECONDS })
    : httpError("queryFailed");
}

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
