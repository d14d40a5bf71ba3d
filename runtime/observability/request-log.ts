import type { Trace } from "../http/headers.js";
import type { KeyOwner } from "../access/authorize.js";
import type { Tier } from "../model/tier.js";

/** What is recorded of a request. Contains no secrets. */
export interface RequestRecord {
  readonly requestId: string;
  readonly method: string;
  /** The endpoint's path, not the path as sent: it labels metrics. Null when no endpoint has the path. */
  readonly route: string | null;
  readonly status: number;
  /** From the arrival of the request to the end of its response. */
  readonly milliseconds: number;
  /** Rows sent; null for a response without rows. */
  readonly rows: number | null;
  /** Bytes of the body, as sent. */
  readonly bytes: number;
  /** Milliseconds that the database took; null when this request ran no query. */
  readonly databaseMs: number | null;
  /** Null without a key. */
  readonly owner: KeyOwner | null;
  readonly tier: Tier;
  /** Null where the caller sent none. */
  readonly trace: Trace | null;
}

/** The fields of a request's log line. Keys appear by id; the trace fields have OpenTelemetry's names. */
export function requestFields(record: RequestRecord): object {
  const { requestId, method, route, status, milliseconds, rows, bytes, databaseMs, owner, tier, trace } =
    record;
  const fields = {
    requestId,
    method,
    route,
    status,
    milliseconds: toMicroseconds(milliseconds),
    rows,
    bytes,
    databaseMs: databaseMs === null ? null : toMicroseconds(databaseMs),
    key: owner?.id ?? null,
    tier,
  };
  if (trace === null) return fields;
  return { ...fields, trace_id: trace.traceId, span_id: trace.spanId, parent_id: trace.parentId };
}

/** Rounds to microseconds: further digits of the clock are noise. */
function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
