import type * as Api from "@opentelemetry/api";
import type { IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import type { Trace } from "./headers.js";

/**
 * Spans by OpenTelemetry's API, with the names of its conventions for HTTP and databases. The operator loads an SDK
 * (runtime/docs/how-to/traces.md); without one they are nothing, and the API, 28 ms and 9 MB, is not loaded.
 */
interface Tracing {
  readonly api: typeof Api;
  readonly tracer: Api.Tracer;
}

/** Where SDKs register with version 1 of the API, which all copies of it in a process share. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
let tracing: Tracing | null = null;

/** At once, since the first request of an SDK that starts late has spans too. */
function loadTracing(): Tracing {
  const api = createRequire(import.meta.url)("@opentelemetry/api") as typeof Api;
  return { api, tracer: api.trace.getTracer("routewright") };
}

/** The span of a request, while an SDK records it. */
export interface RequestSpan {
  readonly span: Api.Span;
  readonly tracing: Tracing;
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
  if (tracing === null && !(REGISTERED in globalThis)) return null;
  tracing ??= loadTracing();
  const { context, propagation, ROOT_CONTEXT, SpanKind, trace } = tracing.api;
  const outer = trace.getActiveSpan();
  const parent = outer ? context.active() : propagation.extract(ROOT_CONTEXT, request.headers);
  const { method = "", httpVersion } = request;
  const span = tracing.tracer.startSpan(
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
  return {
    span,
    tracing,
    trace: { traceId, spanId, parentId, flags: traceFlags.toString(16).padStart(2, "0") },
  };
}

/** Ends a request's span, with the parts that it had. `route`: null for an unknown path. */
export function endRequestSpan(
  { span, tracing: { api, tracer } }: RequestSpan,
  { method, route, status, parts }: EndedRequest,
): void {
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
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
