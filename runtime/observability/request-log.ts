<<<<<<< HEAD
import type { Trace } from "../http/request-context.js";
import type { KeyOwner } from "../access/keyring.js";
import type { Tier } from "../model/tier.js";

/** What is recorded of a request; nothing in it is secret. */
export interface RequestRecord {
  readonly requestId: string;
  readonly method: string;
  /** The endpoint's path, never the caller's own text: it labels metrics. Null when no endpoint has the path. */
  readonly route: string | null;
  readonly status: number;
  /** From the request's arrival to the end of its response, streamed or not. */
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
=======
import type { Trace } from "../http/request-context.js";
import type { RequestRecord } from "../data-api/gateway.js";
>>>>>>> c68ad69 (wip)

/**
 * The log line of a request, as the JSON between its braces. Of the key it has the id; of what the caller wrote, what is
 * fit for a log: nothing in it needs an escape (`requestIdOf`, a method that Node knows, a path of the catalogue).
 */
export function requestFields(observation: RequestRecord): string {
  const { requestId, method, route, status, rows, bytes, databaseMs, owner, tier, trace } = observation;
  return (
    `"requestId":"${requestId}","method":"${method}","route":${quoted(route)},"status":${status}` +
    `,"milliseconds":${toMicroseconds(observation.milliseconds)},"rows":${rows},"bytes":${bytes}` +
    `,"databaseMs":${databaseMs === null ? null : toMicroseconds(databaseMs)}` +
    `,"key":${quoted(owner?.id ?? null)},"tier":"${tier}"${trace === null ? "" : traceFields(trace)}`
  );
}

function quoted(text: string | null): string {
  return text === null ? "null" : `"${text}"`;
}

/** Clocks tell more digits than there is meaning in. */
function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}

/** By the names that OpenTelemetry gives to fields of a log. */
function traceFields({ traceId, spanId, parentId }: Trace): string {
  return `,"trace_id":"${traceId}","span_id":"${spanId}","parent_id":"${parentId}"`;
}
