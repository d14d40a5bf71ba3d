import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import { atFormerPath, type Endpoint } from "../model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../model/errors.js";
import { traceOf, traceparent } from "../http/headers.js";
import type { RequestRecord, RequestStep } from "../operations/request-record.js";
import type { RequestContext } from "../model/caller.js";
import { callerHeaders } from "../request/authorize.js";
import { nextPageLink } from "../request/request-fields.js";
import { findAt, pathOf } from "../response/content-negotiation.js";
import { NO_ROWS, respond, type Sent, StreamAborted } from "../response/respond.js";
import { deprecationHeaders, sendHttpError, sendOptions } from "../response/send.js";
import { partFinder, readsParts } from "../response/whole-results.js";
import { authorizeRequest, type Exchange, type ServedPath } from "./authorize-request.js";
import { type Gateway, gatewayOf } from "./gateway.js";
import { type DataRequest, parameterNames, type Resolved, resolveRequest } from "./resolve.js";
import { type Answer, run } from "./run.js";

/** The handler of an endpoint, for every method. It can be mounted alone in an Express 5 app. */
export function handlerOf(endpoint: Endpoint): RequestHandler {
  return (request, response) => handleRequest(gatewayOf(response), endpoint, request, response);
}

/**
 * Serves one request to an endpoint, or to an unknown path (null), and records it. A step gives its value, the error that
 * is sent instead, or null when the client has disconnected. Never rejects.
 */
export async function handleRequest(
  gateway: Gateway,
  endpoint: Endpoint | null,
  request: DataRequest,
  response: ServerResponse,
): Promise<void> {
  const times = new StepTimes();
  const trace = traceOf(request);
  if (trace !== null) response.setHeader("Traceparent", traceparent(trace));
  const called = endpoint === null ? null : endpointAt(endpoint, request);
  const route = called === null ? UNKNOWN_PATH : routeOf(called);

  const exchange = await authorizeRequest(gateway, route, request, response);
  const { context } = exchange;
  times.end("authorize");
  let outcome: Result<Sent> | null = context.refusal;
  let parameters: readonly string[] = [];
  if (outcome === null && called !== null && request.method !== "OPTIONS")
    try {
      const resolved = await resolveRequest(gateway, called, request, context.caller);
      times.end("resolve");
      if (!isRefused(resolved)) parameters = parameterNames(called, resolved);
      const answer = isRefused(resolved) ? resolved : await runFor(exchange, called, resolved);
      times.end("run");
      outcome = isRefused(answer) ? answer : await respondTo(exchange, called, answer);
    } catch (error) {
      outcome = failureOf(exchange, error);
    }
  const sent = outcome === null || isHttpError(outcome) ? sendWithoutRows(exchange, outcome) : outcome;
  times.end("respond");

  record(gateway, context, {
    method: request.method ?? "",
    route: endpoint?.path ?? null,
    path: endpoint === null ? unknownPathOf(request) : called === endpoint ? null : route.path,
    parameters,
    status: sent.isAborted === true ? ABORTED_STATUS : response.statusCode,
    sent,
    error: isHttpError(outcome) ? outcome : null,
    trace,
    times,
  });
}

/** Status of an aborted response in logs and metrics; the client had received another. */
const ABORTED_STATUS = 500;

function isRefused<T>(outcome: Result<T> | null): outcome is HttpError | null {
  return outcome === null || isHttpError(outcome);
}

function runFor(
  { gateway, request, context }: Exchange,
  endpoint: Endpoint,
  resolved: Resolved,
): Promise<Result<Answer> | null> {
  const { method, headers } = request;
  return run(gateway, endpoint, resolved, {
    ...context,
    ifNoneMatch: method === "GET" || method === "HEAD" ? headers["if-none-match"] : undefined,
    readsPart: readsParts(request) ? partFinder(request) : undefined,
    wantsTotal: headers["prefer"] !== undefined && prefersCount(headers["prefer"]),
  });
}

/** `Prefer: count=exact` (RFC 7240). */
function prefersCount(prefer: string | readonly string[]): boolean {
  return /(?:^|,)\s*count\s*=\s*"?exact"?\s*(?:[,;]|$)/i.test([prefer].flat().join(","));
}

function respondTo(
  { gateway, request, response, context }: Exchange,
  endpoint: Endpoint,
  { resolved: { query, fields }, version, tag, result, hasMore, total }: Answer,
): Promise<Sent> {
  const { page } = query.selection;
  const { caller } = context;
  const headers = callerHeaders(context);
  const { prefix } = gateway.publicAddressOf(request);
  headers.push(...deprecationHeaders(endpoint, prefix));
  if (page !== null && hasMore)
    headers.push(...nextPageLink(request, fields, page, result?.result.nextCursor ?? null, prefix));
  if (total !== null) headers.push("X-Total-Count", String(total), "Preference-Applied", "count=exact");
  const { responseMemory, streamTimeouts } = gateway;
  const streamTimeoutMs = streamTimeouts[caller.tier];
  const { format } = query;
  return respond(
    { request, response, format, headers, version, caller, responseMemory, streamTimeoutMs, tag },
    result,
  );
}

/** What a fault becomes: an error where nothing has been sent, otherwise the end of the connection. */
function failureOf({ gateway, route, request, response, context }: Exchange, error: unknown): Result<Sent> {
  const { id: requestId } = context;
  if (error instanceof StreamAborted) {
    gateway.log.error({ requestId, route: route.path, err: error }, "query failed");
    const { returned, bytes, milliseconds } = error.sent;
    return { rows: returned, bytes, databaseMs: milliseconds, isAborted: true };
  }
  const { method } = request;
  gateway.log.error({ requestId, route: route.path, method, err: error }, "request failed");
  if (!response.headersSent) return httpError("unexpected");
  response.destroy();
  return NO_ROWS;
}

/** Sends an error, or the response to `OPTIONS`; nothing to a client that has disconnected. */
function sendWithoutRows({ route, request, response, context }: Exchange, error: HttpError | null): Sent {
  const headers = callerHeaders(context);
  if (error !== null) return { ...NO_ROWS, bytes: sendHttpError(response, error, route, headers) };
  if (request.method === "OPTIONS") sendOptions(response, request, route.allowed, headers);
  return NO_ROWS;
}

/** What became of a request to an endpoint. */
interface Served extends Omit<
  RequestRecord,
  "requestId" | "caller" | "milliseconds" | "steps" | "rows" | "bytes" | "databaseMs"
> {
  readonly sent: Sent;
  readonly times: StepTimes;
}

/** Records a request to an endpoint, over HTTP or by a tool. */
export function record(
  gateway: Gateway,
  { id: requestId, caller }: RequestContext,
  { sent, times, ...served }: Served,
): void {
  const { rows, bytes, databaseMs } = sent;
  const { milliseconds, steps } = times;
  gateway.recordRequest({ requestId, caller, ...served, milliseconds, steps, rows, bytes, databaseMs });
}

/** Measures the steps of a request, in milliseconds. */
export class StepTimes {
  readonly steps: Record<RequestStep, number> = { authorize: 0, resolve: 0, run: 0, respond: 0 };
  readonly #started = performance.now();
  #last = this.#started;

  /** The time since the end of the step before was this step's. */
  end(step: RequestStep): void {
    const now = performance.now();
    this.steps[step] += now - this.#last;
    this.#last = now;
  }

  /** From the start to the end of the last step. */
  get milliseconds(): number {
    return this.#last - this.#started;
  }
}

const formerEndpoints = new WeakMap<Endpoint, ReadonlyMap<string, Endpoint>>();

/** The endpoint as it answers at the path of the request: keys that list a former path still open it. */
function endpointAt(endpoint: Endpoint, { url = "" }: IncomingMessage): Endpoint {
  const { formerPaths } = endpoint;
  if (formerPaths === undefined) return endpoint;
  let former = formerEndpoints.get(endpoint);
  if (former === undefined) {
    former = new Map(formerPaths.map((each) => [each.path, atFormerPath(endpoint, each)]));
    formerEndpoints.set(endpoint, former);
  }
  return findAt(former, pathOf(url)) ?? endpoint;
}

const UNKNOWN_PATH: ServedPath = { path: "", allowed: null, isLimited: true };

function routeOf({ path, tier, methods }: Endpoint): ServedPath {
  const allowed = methods.includes("POST") ? "GET, HEAD, POST, OPTIONS" : "GET, HEAD, OPTIONS";
  return { path, allowed, isLimited: true, tier };
}

/** Longest part of an unknown path in the log. */
const MAX_LOGGED_PATH = 200;

/** The path without the query string and without what looks like a key, however it is escaped. */
function unknownPathOf({ url = "" }: IncomingMessage): string {
  const path = (url.split("?", 1)[0] ?? "").replace(/%[2-7][0-9a-f]/gi, decodeURIComponent);
  return path.replace(/sk_live_[^/]*/gi, "sk_live_…").slice(0, MAX_LOGGED_PATH);
}
