import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import { callerHeaders, authorize, type Authorization, peek, requireTier } from "../access/authorize.js";
import { requestIdOf, traceOf, traceparent } from "../http/headers.js";
import type { Endpoint } from "../model/endpoint.js";
import { httpError, type HttpError } from "../model/errors.js";
import {
  readParameters,
  type KeyedQuery,
  resolveDefaultQuery,
  resolveQuery,
} from "../query/resolve-query.js";
import { bodyFields, NO_FIELDS, objectFields, queryFields, type RawFields } from "../query/request-fields.js";
import { QueryAbandoned, type ResolvedQuery } from "../query/warehouse.js";
import { formatOf } from "../results/content-negotiation.js";
import { StreamAborted } from "../results/send-stream.js";
import { checkConditions } from "../query/postgres-filters.js";
import type { DataVersion } from "./data-versions.js";
import type { Gateway } from "./gateway.js";
import {
  hasNextPage,
  nextPageLink,
  NO_ROWS,
  type PendingResponse,
  respond,
  sendNotModified,
  type Sent,
} from "./respond.js";
import { allowedMethods, deprecationHeaders, readBodyText, sendHttpError, sendOptions } from "./send.js";

/** `Retry-After` of an overloaded server, in seconds. */
const OVERLOAD_RETRY_SECONDS = 1;

/** Status of an aborted response in logs and metrics: the client had received a successful one. */
const ABORTED_STATUS = 500;

/** A request; `body` is set when middleware such as `express.json()` has already read it. */
type DataRequest = IncomingMessage & { readonly body?: unknown };

/** A request with the state of its handling. */
interface RequestContext {
  readonly gateway: Gateway;
  /** Null for an unknown path. */
  readonly endpoint: Endpoint | null;
  readonly request: DataRequest;
  readonly response: ServerResponse;
  readonly requestId: string;
}

/** The handler of an endpoint, for every method. It can be mounted alone in an Express 5 app. */
export function handlerOf(endpoint: Endpoint): RequestHandler {
  return (request, response) => handleRequest(gatewayOf(request), endpoint, request, response);
}

const GATEWAY = Symbol("gateway");

/** A request with its gateway. */
interface GatewayRequest {
  [GATEWAY]?: Gateway;
}

/** Express middleware: the generated handlers after it use this gateway. */
export function withGateway(gateway: Gateway): RequestHandler {
  return (request, _response, next) => {
    setGateway(request, gateway);
    next();
  };
}

export function setGateway(request: IncomingMessage, gateway: Gateway): void {
  (request as GatewayRequest)[GATEWAY] = gateway;
}

/** The gateway of a request. */
function gatewayOf(request: IncomingMessage): Gateway {
  const gateway = (request as GatewayRequest)[GATEWAY];
  if (gateway) return gateway;
  throw new Error(
    "No gateway for this request: put `app.use(withGateway(gateway))` before the generated handlers.",
  );
}

type Outcome = Sent | HttpError;

/** The caller and the outcome. */
interface HandledRequest {
  readonly caller: Authorization;
  readonly sent: Sent;
}

/**
 * Handles one request to an endpoint, or to an unknown path (null). Checks run in this order: key, rate limit, tier,
 * method, parameters, query (runtime/README.md, Requests). Never rejects.
 */
export async function handleRequest(
  gateway: Gateway,
  endpoint: Endpoint | null,
  request: DataRequest,
  response: ServerResponse,
): Promise<void> {
  const started = performance.now();
  const trace = traceOf(request);
  if (trace !== null) response.setHeader("Traceparent", traceparent(trace));
  const context: RequestContext = { gateway, endpoint, request, response, requestId: requestIdOf(request) };
  const { caller, sent } = await (request.method === "OPTIONS" ? handleOptions(context) : handle(context));
  gateway.recordRequest({
    requestId: context.requestId,
    method: request.method ?? "",
    route: endpoint?.path ?? null,
    status: sent.isAborted === true ? ABORTED_STATUS : response.statusCode,
    milliseconds: performance.now() - started,
    rows: sent.rows,
    bytes: sent.bytes,
    databaseMs: sent.databaseMs,
    owner: caller.owner,
    tier: caller.tier,
    trace,
  });
}

async function handleOptions({
  gateway,
  endpoint,
  request,
  response,
  requestId,
}: RequestContext): Promise<HandledRequest> {
  const caller = await peek(gateway, request);
  sendOptions(response, request, allowedMethods(endpoint), caller, requestId);
  return { caller, sent: NO_ROWS };
}

async function handle(context: RequestContext): Promise<HandledRequest> {
  const { gateway, endpoint, request, response, requestId } = context;
  const authorization = authorize(gateway, request);
  const caller = authorization instanceof Promise ? await authorization : authorization;
  const outcome = caller.error ?? (await outcomeOf(context, caller));
  if (!("code" in outcome)) return { caller, sent: outcome };
  const bytes = sendHttpError(response, outcome, allowedMethods(endpoint), caller, requestId);
  return { caller, sent: { ...NO_ROWS, bytes } };
}

async function outcomeOf(context: RequestContext, caller: Authorization): Promise<Outcome> {
  const { gateway, endpoint, request, requestId } = context;
  try {
    return endpoint === null ? httpError("notFound") : await handleParameters(context, endpoint, caller);
  } catch (error) {
    gateway.log.error(
      { requestId, route: endpoint?.path, method: request.method, err: error },
      "request failed",
    );
    return httpError("unexpected");
  }
}

function handleParameters(
  context: RequestContext,
  endpoint: Endpoint,
  caller: Authorization,
): Outcome | Promise<Outcome> {
  const { request } = context;
  const error = requireTier(endpoint.tier, caller) ?? requireMethod(endpoint, request);
  if (error) return error;
  const fields = readFields(request);
  if (fields instanceof Promise) return fields.then((read) => runQuery(context, endpoint, caller, read));
  return runQuery(context, endpoint, caller, fields);
}

function requireMethod({ methods }: Endpoint, { method }: IncomingMessage): HttpError | null {
  if (method === "GET" || method === "HEAD") return null;
  return method === "POST" && methods.includes("POST") ? null : httpError("methodNotAllowed");
}

/** The fields of the query string, or of the body of a POST. Null when the client disconnected while sending. */
function readFields(request: DataRequest): RawFields | HttpError | Promise<RawFields | HttpError | null> {
  const { url = "" } = request;
  const mark = url.indexOf("?");
  const query = mark === -1 ? "" : url.slice(mark + 1);
  if (request.method !== "POST") return query === "" ? NO_FIELDS : queryFields(query);
  return query === "" ? readBodyFields(request) : httpError("queryOnPost");
}

async function readBodyFields(request: DataRequest): Promise<RawFields | HttpError | null> {
  if (request.body !== undefined) return objectFields(request.body);
  const text = await readBodyText(request);
  return typeof text === "string" ? bodyFields(text) : text;
}

function runQuery(
  context: RequestContext,
  endpoint: Endpoint,
  caller: Authorization,
  fields: RawFields | HttpError | null,
): Outcome | Promise<Outcome> {
  if (fields === null) return NO_ROWS;
  if ("code" in fields) return fields;
  const { gateway, request } = context;
  const format = formatOf(request, endpoint);
  const timeoutMs = gateway.timeouts[caller.tier];
  const options = { format: format === "csv" ? gateway.csvFormat : format, timeoutMs };
  if (fields === NO_FIELDS)
    return sendRows(context, endpoint, caller, fields, resolveDefaultQuery(endpoint, options));
  const selection = readParameters(endpoint, fields, request.method === "POST" ? "body" : "query");
  if ("code" in selection) return selection;
  return sendRows(context, endpoint, caller, fields, resolveQuery(endpoint, selection, options));
}

async function sendRows(
  context: RequestContext,
  endpoint: Endpoint,
  caller: Authorization,
  fields: RawFields,
  resolved: KeyedQuery | HttpError,
): Promise<Outcome> {
  if ("code" in resolved) return resolved;
  const { gateway, requestId } = context;
  try {
    return await queryAndSend(context, endpoint, caller, fields, resolved);
  } catch (error) {
    // Client disconnected; not an error.
    if (error instanceof QueryAbandoned) return NO_ROWS;
    gateway.log.error({ requestId, route: endpoint.path, err: error }, "query failed");
    if (!(error instanceof StreamAborted)) return httpError("queryFailed");
    const { returned, bytes, milliseconds } = error.sent;
    return { rows: returned, bytes, databaseMs: milliseconds, isAborted: true };
  }
}

async function queryAndSend(
  context: RequestContext,
  endpoint: Endpoint,
  caller: Authorization,
  fields: RawFields,
  { query, key }: KeyedQuery,
): Promise<Outcome> {
  const { gateway, request, response } = context;
  const version = gateway.versions.of(endpoint.upstreamNodes);
  const { conditions, page } = query.selection;
  let tag: string | null = null;
  if (version !== null || conditions.length > 0) {
    const found = gateway.warehouse.columns(query.relation, version?.id ?? null);
    const columns = found instanceof Promise ? await found : found;
    const error = checkConditions(conditions, columns);
    if (error) return error;
    tag = version?.tagOf(key, columns) ?? null;
  }
  const pending = pendingResponse(context, endpoint, caller, query, version, tag);
  const notModified = tag === null ? null : sendNotModified(pending, tag);
  if (notModified !== null) return notModified;
  const isStillNeeded = (): boolean => !response.destroyed;
  const { callerId, tier } = caller;
  const queryContext = { callerId, tier, version: version?.id ?? null, isStillNeeded };
  const result = await gateway.results.get(key, query, queryContext);
  if (result === "overloaded") return httpError("overloaded", { n: OVERLOAD_RETRY_SECONDS });
  try {
    if (page !== null && (await hasNextPage(gateway, result, query, queryContext)))
      pending.headers.push(...nextPageLink(request, fields, page));
    const sent = respond(pending, result);
    return sent instanceof Promise ? await sent : sent;
  } catch (error) {
    // Otherwise its connection and its caller's share would stay in use.
    if (result.result.kind === "stream") await result.result.stream.chunks.return();
    throw error;
  }
}

function pendingResponse(
  { gateway, request, response, requestId }: RequestContext,
  endpoint: Endpoint,
  caller: Authorization,
  { format }: ResolvedQuery,
  version: DataVersion | null,
  tag: string | null,
): PendingResponse {
  const headers = callerHeaders(caller, requestId);
  if (endpoint.deprecationDate !== null || endpoint.successor !== null)
    headers.push(...deprecationHeaders(endpoint));
  return {
    request,
    response,
    format,
    headers,
    version,
    responseMemory: gateway.responseMemory,
    streamTimeoutMs: gateway.streamTimeouts[caller.tier],
    tag,
  };
}
