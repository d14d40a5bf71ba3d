import type { Trace } from "../http/trace.js";
import type { RequestRecord } from "../data-api/gateway.js";

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
