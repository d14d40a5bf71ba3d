import {
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { IncomingMessage } from "node:http";
import type { Trace } from "./headers.js";

/**
 * Spans by OpenTelemetry's API, with the names of its conventions for HTTP and databases. The operator loads an SDK
 * (runtime/docs/how-to/traces.md); without one they are nothing.
 */
const tracer = trace.getTracer("routewright");

/** The span of a request, while an SDK records it. */
export interface RequestSpan {
  readonly span: Span;
  /** As `traceparent` and the log name it. */
  readonly trace: Trace;
}

/** A part of a request, in milliseconds of `performance.now()`. */
export interface SpanPart {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Of a query: what the database's conventions ask for. */
  readonly attributes?: Readonly<Record<string, string | number>>;
}

/** Begins below the operator's instrumentation of HTTP, where there is one, else below the caller's span. */
export function startRequestSpan(
  request: IncomingMessage,
  pathOf: (request: IncomingMessage) => string,
): RequestSpan | null {
  const outer = trace.getActiveSpan();
  const parent = outer ? context.active() : propagation.extract(ROOT_CONTEXT, request.headers);
  const { method = "", httpVersion } = request;
  const span = tracer.startSpan(
    method,
    {
      kind: outer ? SpanKind.INTERNAL : SpanKind.SERVER,
      attributes: {
        "http.request.method": method,
        "url.scheme": "http",
        "network.protocol.version": httpVersion,
      },
    },
    parent,
  );
  if (!span.isRecording()) return null;
  span.setAttribute("url.path", pathOf(request));
  const { traceId, spanId, traceFlags } = span.spanContext();
  const parentId = trace.getSpanContext(parent)?.spanId ?? "";
  return { span, trace: { traceId, spanId, parentId, flags: traceFlags.toString(16).padStart(2, "0") } };
}

/** Ends a request's span, with the parts that it had. `route`: null for an unknown path. */
export function endRequestSpan({ span }: RequestSpan, { method, route, status, parts }: EndedRequest): void {
  if (route !== null) span.updateName(`${method} ${route}`).setAttribute("http.route", route);
  span.setAttribute("http.response.status_code", status);
  if (status >= 500) {
    span.setAttribute("error.type", String(status)).setStatus({ code: SpanStatusCode.ERROR });
  }
  const parent = trace.setSpan(ROOT_CONTEXT, span);
  for (const { name, from, to, attributes } of parts) {
    const kind = attributes === undefined ? SpanKind.INTERNAL : SpanKind.CLIENT;
    const startTime = timeOf(from);
    tracer.startSpan(name, { kind, startTime, attributes: { ...attributes } }, parent).end(timeOf(to));
  }
  span.end();
}

export interface EndedRequest {
  readonly method: string;
  readonly route: string | null;
  readonly status: number;
  readonly parts: readonly SpanPart[];
}

const timeOf = (milliseconds: number): number => performance.timeOrigin + milliseconds;
