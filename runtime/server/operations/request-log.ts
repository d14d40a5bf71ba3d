import type { RequestRecord } from "../../core/handler/request-record.js";

/**
 * The fields of a request's log line. Keys appear by id, callers without one by their network address; a refusal has the
 * error's code and the parameter's name, never its value; the trace fields have OpenTelemetry's names.
 */
export function requestFields(record: RequestRecord): object {
  const { requestId, method, route, status, rows, bytes, caller, trace, error, path } = record;
  const { milliseconds, databaseMs } = record;
  return {
    requestId,
    method,
    route,
    ...(path !== null && { path }),
    status,
    ...(error !== null && { error: error.code, parameter: error.parameter ?? undefined }),
    milliseconds: toMicroseconds(milliseconds),
    rows,
    bytes,
    databaseMs: databaseMs === null ? null : toMicroseconds(databaseMs),
    key: caller.key?.id ?? null,
    caller: caller.id,
    tier: caller.tier,
    ...(trace !== null && {
      trace_id: trace.traceId,
      span_id: trace.spanId,
      parent_id: trace.parentId || undefined,
    }),
  };
}

/** Rounds to microseconds: further digits of the clock are noise. */
function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
