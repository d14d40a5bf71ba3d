import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestContext } from "../model/caller.js";
import type { Endpoint } from "../model/endpoint.js";
import { ERRORS, httpError, type HttpError } from "../model/errors.js";
import type { Tier } from "../model/tier.js";
import { COMMON_HEADERS, NOSNIFF, VARY_ORIGIN, type Trace, traceOf, traceparent } from "../http/headers.js";
import { endRequestSpan, type RequestSpan, startRequestSpan } from "../http/tracing.js";
import { type PathItem, type Route, routeFor } from "../http/route.js";
import { errorHeaders, preflightHeaders, type Reply } from "../http/send.js";
import { andThen, type Hooks, type HttpExchange, serve } from "../http/serve.js";
import {
  authorize,
  authorizeDocument,
  callerHeaders,
  MINUTE_POLICY,
  peek,
  requireAccess,
} from "../request/authorize.js";
import { prefersProblem } from "../response/content-negotiation.js";
import { NO_ROWS, type Sent, StreamAborted } from "../response/respond.js";
import { QueryTooLarge } from "../warehouse/query-errors.js";
import type { Gateway } from "./gateway.js";
import { limitError } from "./query-error.js";
import { recordRequest, StepTimes } from "./record-request.js";

/** Who may call a route of the data API. */
export interface RouteAccess {
  /** What a request counts against: its caller's window, that of its address for documents, or nothing. */
  readonly limit: keyof typeof CHECKS;
  /** Tier that a caller needs; without one the path is open to every caller. */
  readonly tier?: Tier;
  /** Whether pages of other origins have no business with it: no response may be read by them. */
  readonly isForOperators?: boolean;
  /** Of a path that is an OAuth resource. */
  readonly oauth?: (gateway: Gateway, request: IncomingMessage) => OAuthResource | undefined;
  /** Of paths whose errors have a form of their own. */
  readonly errorReply?: (exchange: Exchange, error: HttpError) => Reply;
}

export interface OAuthResource {
  /** Audience of its tokens beside the API's. */
  readonly audience: string | null;
  /** Address of its metadata. */
  readonly metadata: string;
  /** Scopes that a token for it may have, with spaces between them. */
  readonly scope: string;
}

/** A route of the data API. */
export type DataRoute = Route<Exchange, RouteAccess, HttpError>;

/** A path of the data API. */
export interface DataPath extends PathItem<DataRoute> {
  /** The endpoint that is served there; null for an unknown path, undefined for one of the service itself. */
  readonly endpoint?: Endpoint | null;
}

/** A request to the data API and its response, with the context of the request. */
export interface Exchange extends HttpExchange<DataRoute> {
  readonly gateway: Gateway;
  readonly item: DataPath;
  readonly context: RequestContext;
  readonly oauth: OAuthResource | undefined;
  /** Of the path, also where it is hidden from the caller. */
  readonly access: RouteAccess;
  /** Null where nothing records spans. */
  readonly span: RequestSpan | null;
  /** Null without a caller's trace, and without a span. */
  readonly trace: Trace | null;
  readonly times: StepTimes;
  /** Whether pages of other origins may not read the response. */
  isForOperators: boolean;
  /** Names of the parameters of a query, for usage. */
  parameters: readonly string[];
  /** For usage, where the gateway records shapes. */
  shape: string | null;
  /** What a handler has sent itself. */
  sent: Sent;
}

/** Serves a request, whatever its path has. Never rejects. */
export function serveExchange(
  gateway: Gateway,
  item: DataPath,
  request: IncomingMessage,
  response: ServerResponse,
): void | Promise<void> {
  return andThen(openExchange(gateway, item, request, response), (exchange) => serve(HOOKS, exchange));
}

/** Who calls: the key and the rate limit. `OPTIONS` is not counted. */
function openExchange(
  gateway: Gateway,
  found: DataPath,
  request: IncomingMessage,
  response: ServerResponse,
): Exchange | Promise<Exchange> {
  const times = new StepTimes();
  const span = startRequestSpan(request, sentPathOf);
  const trace = span === null ? traceOf(request) : span.trace;
  if (trace !== null) response.setHeader("Traceparent", traceparent(trace));
  const access = accessOf(found);
  const oauth = access.oauth?.(gateway, request);
  const check = request.method === "OPTIONS" ? peek : CHECKS[access.limit];
  const checked = check(gateway, request, () => !response.destroyed, oauth?.audience ?? null);
  return andThen(checked, (context): Exchange => {
    times.end("authorize");
    return {
      gateway,
      item: isHidden(gateway, found, context) ? UNKNOWN_PATH : found,
      request,
      response,
      context,
      oauth,
      access,
      span,
      trace,
      times,
      isForOperators: access.isForOperators === true,
      parameters: NONE,
      // The preflight of a browser asks for no rows.
      shape:
        gateway.usageShapes && request.method === "OPTIONS" ? `OPTIONS json ${context.caller.tier}` : null,
      sent: NO_ROWS,
    };
  });
}

const NONE: readonly string[] = [];

/** A path at which there is nothing. */
export const UNKNOWN_PATH: DataPath = { path: "", allowed: null, routes: [], endpoint: null };

/** With `CATALOGUE=allowed` an endpoint that a caller may not call is none: 403 beside 404 would tell which there are. */
function isHidden(
  { catalogue }: Gateway,
  { path, endpoint, routes }: DataPath,
  { caller, refusal }: RequestContext,
): boolean {
  const tier = routes[0]?.access.tier;
  if (catalogue === "public" || !endpoint || tier === undefined || refusal !== null) return false;
  return requireAccess(path, tier, caller) !== null;
}

/** All routes of a path have the same; unknown paths count. */
function accessOf({ routes }: DataPath): RouteAccess {
  return routes[0]?.access ?? LIMITED;
}

const LIMITED: RouteAccess = { limit: "caller" };

const CHECKS = { caller: authorize, document: authorizeDocument, none: peek } as const;

const PREFLIGHT = preflightHeaders(
  "GET, HEAD, POST, QUERY, OPTIONS",
  "X-API-Key, Authorization, Content-Type, If-None-Match, OData-MaxVersion, OData-Version, Prefer, X-Request-Id, Traceparent, Tracestate, MCP-Protocol-Version, Mcp-Method, Mcp-Name",
);

const HOOKS: Hooks<Exchange, HttpError> = {
  preflight: PREFLIGHT,
  headersOf: ({ context, isForOperators }) =>
    isForOperators
      ? [...callerHeaders({ ...context, cors: VARY_ORIGIN }), ...NOSNIFF]
      : [...callerHeaders(context), ...COMMON_HEADERS],
  check: refusalOf,
  notFound: () => httpError("notFound"),
  onError: refusalOfFault,
  errorReply,
  onResponse,
};

/** Checks in this order: key, rate limit, path, tier, method (runtime/docs/requests.md). */
function refusalOf({ item, context, request: { method } }: Exchange): HttpError | null {
  const { path } = item;
  if (context.refusal !== null) return context.refusal;
  if (item.allowed === null) return httpError("notFound");
  const { tier } = accessOf(item);
  const refused = tier === undefined ? null : requireAccess(path, tier, context.caller);
  return refused ?? (routeFor(item, method) === undefined ? httpError("methodNotAllowed") : null);
}

/** What a fault becomes: an error where nothing has been sent, otherwise the end of the connection. */
function refusalOfFault(exchange: Exchange, error: unknown): HttpError | null {
  const { gateway, item, request, response, context } = exchange;
  const { id: requestId } = context;
  if (error instanceof StreamAborted) {
    const { sent, cause } = error;
    const failure = { requestId, route: item.path, err: error };
    const tooLarge = cause instanceof QueryTooLarge ? limitError(gateway.log, failure, cause) : null;
    if (tooLarge === null) gateway.log.error(failure, "query failed");
    const { returned, bytes, milliseconds } = sent;
    exchange.sent = { rows: returned, bytes, databaseMs: milliseconds, isAborted: true, error: tooLarge };
    return null;
  }
  gateway.log.error({ requestId, route: item.path, method: request.method, err: error }, "request failed");
  if (!response.headersSent) return httpError("unexpected");
  response.destroy();
  return null;
}

/** `{"detail": …}`, or problem details, with its headers (runtime/docs/errors.md). */
function errorReply(exchange: Exchange, error: HttpError): Reply {
  const { access, item, oauth, request, context } = exchange;
  if (access.errorReply !== undefined) return access.errorReply(exchange, error);
  const { status, retryAfter, detail } = error;
  const headers = errorHeaders({ status, retryAfter, challenge: challengeOf(error, oauth) }, item.allowed);
  if (!prefersProblem(request.headers.accept)) return { status, body: JSON.stringify({ detail }), headers };
  return { status, body: JSON.stringify(problemOf(error, context)), headers: { ...headers, ...PROBLEM } };
}

const PROBLEM = { "Content-Type": "application/problem+json" };

/** RFC 9457, of the same table. The type of a rate limit that is exceeded is a registered one. */
function problemOf({ code, status, detail }: HttpError, { window }: RequestContext): object {
  const title = sentenceOf(ERRORS[code].when);
  const isOfWindow = code === "rateLimited" && window.count > window.limit;
  const violated = code === "quotaExceeded" ? "month" : isOfWindow ? MINUTE_POLICY : null;
  if (violated === null) return { type: `urn:routewright:error:${code}`, title, status, detail };
  return { type: QUOTA_EXCEEDED, title, status, detail, "violated-policies": [violated] };
}

/** draft-ietf-httpapi-ratelimit-headers-11, 5.1. */
const QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded";

const sentenceOf = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** RFC 6750: clients renew their token. RFC 9728: where they get one. */
function challengeOf({ code }: HttpError, oauth: OAuthResource | undefined): string | null {
  if (code !== "invalidToken" && code !== "tokenRequired") return null;
  const parts = [
    ...(code === "invalidToken" ? ['error="invalid_token"'] : []),
    ...(oauth ? [`resource_metadata="${oauth.metadata}"`, `scope="${oauth.scope}"`] : []),
  ];
  return `Bearer ${parts.join(", ")}`;
}

/** Requests to endpoints and to unknown paths are recorded. Without spreads, which make a hidden class of each object (`ServiceMetrics`). */
function onResponse(exchange: Exchange, error: HttpError | null, bytes: number): void {
  const { gateway, item, request, response, context, trace, times, parameters, shape } = exchange;
  const { endpoint } = item;
  times.end("respond");
  if (exchange.span !== null) endSpan(exchange, exchange.span);
  if (endpoint === undefined) return;
  const { sent } = exchange;
  recordRequest(gateway, context, {
    method: request.method ?? "",
    route: endpoint?.path ?? null,
    path: endpoint === null ? sentPathOf(request) : item.path === endpoint.path ? null : item.path,
    parameters,
    shape,
    status: sent.isAborted === true ? ABORTED_STATUS : response.statusCode,
    sent: bytes === 0 ? sent : { rows: sent.rows, bytes, databaseMs: sent.databaseMs },
    error: error ?? sent.error ?? null,
    trace,
    times,
  });
}

function endSpan({ gateway, item, request, response, times, sent }: Exchange, span: RequestSpan): void {
  const { endpoint, path, allowed } = item;
  const { query } = times;
  const relation = times.rollUp ?? endpoint?.relation.join(".") ?? "";
  const attributes = {
    "db.system.name": gateway.databaseSystem,
    "db.operation.name": "SELECT",
    "db.collection.name": relation,
  };
  const parts = query && [
    { name: "queue", from: query.queuedAt, to: query.startedAt },
    { name: `SELECT ${relation}`, from: query.startedAt, to: query.readAt, attributes },
    { name: "response", from: query.readAt, to: times.endedAt },
  ];
  endRequestSpan(span, {
    method: request.method ?? "",
    route: allowed === null ? null : path,
    status: sent.isAborted === true ? ABORTED_STATUS : response.statusCode,
    parts: parts ?? [],
  });
}

/** Status of an aborted response in logs and metrics; the client had received another. */
const ABORTED_STATUS = 500;

/** Longest part of an unknown path in the log. */
const MAX_LOGGED_PATH = 200;

/** The path without the query string and without what looks like a key, however it is escaped. */
function sentPathOf({ url = "" }: IncomingMessage): string {
  const path = (url.split("?", 1)[0] ?? "").replace(/%[2-7][0-9a-f]/gi, decodeURIComponent);
  return path.replace(/sk_live_[^/]*/gi, "sk_live_…").slice(0, MAX_LOGGED_PATH);
}
