import type { Trace } from "../http/trace.js";
import type { Observation } from "./gateway.js";

/** The log line of a request. Of the key it has the id; of what the caller wrote, what is fit for a log. */
export function requestLine(observation: Observation): object {
  const { requestId, method, route, status, rows, bytes, owner, tier } = observation;
  const milliseconds = toMicroseconds(observation.milliseconds);
  const databaseMs = observation.databaseMs === null ? null : toMicroseconds(observation.databaseMs);
  const key = owner?.id ?? null;
  const line = { requestId, method, route, status, milliseconds, rows, bytes, databaseMs, key, tier };
  return observation.trace === null ? line : { ...line, ...traceFields(observation.trace) };
}

/** Clocks tell more digits than there is meaning in. */
function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}

/** By the names that OpenTelemetry gives to fields of a log. */
export function traceFields({ traceId, spanId, parentId }: Trace): object {
  return { trace_id: traceId, span_id: spanId, parent_id: parentId };
}
