/** Spans, with OpenTelemetry's own SDK in this process. */
import { context, propagation, SpanKind, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SamplingDecision,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { IncomingMessage } from "node:http";
import { setTimeout } from "node:timers/promises";
import { beforeEach, expect, it } from "vitest";
import { StepTimes } from "../../../runtime/core/handler/record-request.js";
import { startRequestSpan } from "../../../runtime/core/http/tracing.js";
import { atEnd } from "../../support/at-end.js";
import { post, sendRequest } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";
import { KEYS } from "../../support/service.js";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const traced = { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } };

const exporter = new InMemorySpanExporter();
/** A tracer keeps its provider after `disable`: it must record nothing for the suites that follow in this process. */
let isRecording = true;
const sampler = {
  shouldSample: () => ({
    decision: isRecording ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
  }),
};
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ sampler, spanProcessors: [new SimpleSpanProcessor(exporter)] }),
);
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
atEnd(() => {
  isRecording = false;
  trace.disable();
  propagation.disable();
  context.disable();
});

const { url, schema } = await serveOrders();
beforeEach(() => exporter.reset());

/** The spans of one request, once it has ended. */
async function spansOf(count: number): Promise<readonly ReadableSpan[]> {
  await expect.poll(() => exporter.getFinishedSpans().length).toBe(count);
  return exporter.getFinishedSpans();
}

const timeOf = ([seconds, nanoseconds]: readonly [number, number]): number =>
  seconds * 1e3 + nanoseconds / 1e6;

it("has a span for the request, and one for its queue, its query and its response", async () => {
  const reply = await sendRequest(url, "/v1/shop/filters?id=1", { ...traced, key: KEYS.tier3 });
  expect(reply.status).toBe(200);
  const spans = await spansOf(4);
  const request = spans[3]!;
  expect(request).toMatchObject({
    name: "GET /v1/shop/filters",
    kind: SpanKind.SERVER,
    parentSpanContext: { traceId: TRACE, spanId: PARENT },
    attributes: {
      "http.request.method": "GET",
      "http.route": "/v1/shop/filters",
      "url.path": "/v1/shop/filters",
      "http.response.status_code": 200,
    },
  });
  const { traceId, spanId } = request.spanContext();
  expect(reply.headers["traceparent"]).toBe(`00-${traceId}-${spanId}-01`);
  expect(spans.slice(0, 3).map(({ name }) => name)).toEqual(["queue", `SELECT ${schema}.orders`, "response"]);
  expect(spans[1]).toMatchObject({
    kind: SpanKind.CLIENT,
    attributes: {
      "db.system.name": "postgresql",
      "db.operation.name": "SELECT",
      "db.collection.name": `${schema}.orders`,
    },
  });
  for (const { parentSpanContext, startTime, endTime } of spans.slice(0, 3)) {
    expect(parentSpanContext).toMatchObject({ traceId, spanId });
    // The parts have times of another clock than the span, whose drift is below this.
    expect(timeOf(startTime)).toBeGreaterThan(timeOf(request.startTime) - 1000);
    expect(timeOf(endTime)).toBeGreaterThanOrEqual(timeOf(startTime));
  }
});

it.each([
  ["/v1/shop/filters?id=x", 400, "GET /v1/shop/filters"],
  ["/v1/shop/tier3", 403, "GET /v1/shop/tier3"],
  ["/v1/none", 404, "GET"],
  ["/openapi.json", 200, "GET /openapi.json"],
])("has no query where none ran: %s", async (target, status, name) => {
  expect((await sendRequest(url, target)).status).toBe(status);
  const [request, ...parts] = await spansOf(1);
  expect(parts).toEqual([]);
  expect(request).toMatchObject({ name, attributes: { "http.response.status_code": status } });
});

it("never has values of filters, nor a key", async () => {
  await sendRequest(url, `/v1/shop/filters?id=424242`, { key: KEYS.tier3 });
  await sendRequest(url, `/v1/none/${KEYS.tier3}`);
  await post(url, "/v1/shop/filters", { id: "424242" }, { key: KEYS.tier3 });
  const text = JSON.stringify((await spansOf(9)).map(({ name, attributes }) => [name, attributes]));
  expect(text).not.toContain("424242");
  expect(text).not.toContain(KEYS.tier3);
});

it("has the times of a query from the end of the step before it", async () => {
  const times = new StepTimes();
  times.end("authorize");
  await setTimeout(5);
  const before = performance.now();
  times.end("resolve");
  const after = performance.now();
  times.queryStarted();
  await setTimeout(5);
  times.end("run");
  const read = performance.now();
  times.end("respond");
  const { queuedAt = 0, startedAt = 0, readAt = 0 } = times.query ?? {};
  expect(queuedAt).toBeGreaterThanOrEqual(before);
  expect(queuedAt).toBeLessThanOrEqual(after);
  expect(readAt).toBeGreaterThan(startedAt);
  expect(readAt).toBeLessThanOrEqual(read);
});

it("is below the span of the operator's own instrumentation", () => {
  const outer = trace.getTracer("test").startSpan("outer");
  const request = {
    method: "GET",
    httpVersion: "1.1",
    headers: traced.headers,
  } as unknown as IncomingMessage;
  const begun = context.with(trace.setSpan(context.active(), outer), () =>
    startRequestSpan(request, () => "/"),
  );
  const { traceId, spanId } = outer.spanContext();
  expect(begun?.trace).toMatchObject({ traceId, parentId: spanId });
  expect(begun?.span).toMatchObject({ kind: SpanKind.INTERNAL });
});
