import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import { filterParameters } from "../model/column-filters.js";
import { atFormerPath, type Endpoint } from "../model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../model/errors.js";
import type { ResolvedQuery, Selection } from "../model/query.js";
import type { Tier } from "../model/tier.js";
import { conditionError, ownRows } from "../request/own-rows.js";
import {
  bodyFields,
  nextPageLink,
  NO_FIELDS,
  objectFields,
  queryFields,
  type RawFields,
} from "../request/request-fields.js";
import {
  type KeyedQuery,
  readBom,
  readParameters,
  resolveDefaultQuery,
  resolveQuery,
  withOperators,
} from "../request/resolve-query.js";
import { findAt, formatOf, pathOf } from "../response/content-negotiation.js";
import { versionTag } from "../response/entity-tag.js";
import {
  hasNextPage,
  NO_ROWS,
  type PendingResponse,
  respond,
  sendNotModified,
  type Sent,
} from "../response/respond.js";
import { deprecationHeaders, readBodyText, send } from "../response/send.js";
import { SortKeyTooLong } from "../response/cursors.js";
import type { QueryResult } from "../response/result-service.js";
import { readsParts } from "../response/whole-results.js";
import { StreamAborted } from "../response/send-stream.js";
import { traceOf, traceparent } from "../http/headers.js";
import type { DataVersion } from "../warehouse/data-versions.js";
import { Overloaded } from "../warehouse/fair-queue.js";
import {
  DatabaseUnreachable,
  QueryAbandoned,
  SharedSortKey,
  TooManyDigits,
  TooManyRows,
} from "../warehouse/warehouse.js";
import { checkedPage, isUnchanged, resolvePage } from "./cursor-pages.js";
import type { Gateway } from "./gateway.js";
import { gatewayOf } from "./request-gateway.js";
import { type RequestContext, type HttpRoute, serveRequest } from "./serve-request.js";
import { aggregateOf, isSummary, summaryOf } from "./summary.js";

/** `Retry-After` of an overloaded server, or of one without its database, in seconds. */
const RETRY_SECONDS = 1;
/** Status of an aborted response in logs and metrics; the client had received another. */
const ABORTED_STATUS = 500;
/** A request; `body` is set when middleware such as `express.json()` has already read it. */
type DataRequest = IncomingMessage & { readonly body?: unknown };

type DataContext = RequestContext<DataRequest>;

/** The handler of an endpoint, for every method. It can be mounted alone in an Express 5 app. */
export function handlerOf(endpoint: Endpoint): RequestHandler {
  return (request, response) => handleRequest(gatewayOf(request), endpoint, request, response);
}

type Outcome = Result<Sent>;

/** Serves one request to an endpoint, or to an unknown path (null), and records it. Never rejects. */
export async function handleRequest(
  gateway: Gateway,
  endpoint: Endpoint | null,
  request: DataRequest,
  response: ServerResponse,
): Promise<void> {
  const started = performance.now();
  const trace = traceOf(request);
  if (trace !== null) response.setHeader("Traceparent", traceparent(trace));
  const called = endpoint === null ? null : endpointAt(endpoint, request);
  const route = called === null ? UNKNOWN_PATH : routeOf(called);
  const { caller, requestId, sent, error } = await serveRequest(gateway, route, request, response);
  gateway.recordRequest({
    requestId,
    method: request.method ?? "",
    route: endpoint?.path ?? null,
    status: sent.isAborted === true ? ABORTED_STATUS : response.statusCode,
    milliseconds: performance.now() - started,
    rows: sent.rows,
    bytes: sent.bytes,
    databaseMs: sent.databaseMs,
    owner: caller.owner,
    callerId: caller.callerId,
    error,
    path: endpoint === null ? unknownPathOf(request) : called === endpoint ? null : route.path,
    tier: caller.tier,
    trace,
  });
}

const formerEndpoints = new WeakMap<Endpoint, ReadonlyMap<string, Endpoint>>();

/** The endpoint as it answers at the path of the request: keys that list a former path still open it. */
function endpointAt(endpoint: Endpoint, { url = "" }: DataRequest): Endpoint {
  const { formerPaths } = endpoint;
  if (formerPaths === undefined) return endpoint;
  let former = formerEndpoints.get(endpoint);
  if (former === undefined) {
    former = new Map(formerPaths.map((each) => [each.path, atFormerPath(endpoint, each)]));
    formerEndpoints.set(endpoint, former);
  }
  return findAt(former, pathOf(url)) ?? endpoint;
}

/** Longest part of an unknown path in the log. */
const MAX_LOGGED_PATH = 200;

/** The path without the query string and without what looks like a key, however it is escaped. */
function unknownPathOf({ url = "" }: DataRequest): string {
  const path = (url.split("?", 1)[0] ?? "").replace(/%[2-7][0-9a-f]/gi, decodeURIComponent);
  return path.replace(/sk_live_[^/]*/gi, "sk_live_…").slice(0, MAX_LOGGED_PATH);
}

const UNKNOWN_PATH: HttpRoute<DataRequest> = {
  path: "",
  allowed: null,
  isLimited: true,
  handle: () => httpError("notFound"),
};

const routes = new WeakMap<Endpoint, HttpRoute<DataRequest>>();

function routeOf(endpoint: Endpoint): HttpRoute<DataRequest> {
  const known = routes.get(endpoint);
  if (known) return known;
  const { path, tier, methods } = endpoint;
  const allowed = methods.includes("POST") ? "GET, HEAD, POST, OPTIONS" : "GET, HEAD, OPTIONS";
  const route: HttpRoute<DataRequest> = {
    path,
    allowed,
    isLimited: true,
    tier,
    handle: (context) => answer(context, endpoint),
  };
  routes.set(endpoint, route);
  return route;
}

async function answer(context: DataContext, endpoint: Endpoint): Promise<Outcome> {
  const { gateway, request, caller } = context;
  const own = ownRows(endpoint, caller.org);
  if (isHttpError(own)) return own;
  const sent = await readFields(context);
  if (sent === null) return NO_ROWS;
  const fields = isHttpError(sent) ? sent : withOperators(endpoint, sent);
  if (isHttpError(fields)) return fields;
  const format = formatOf(request, endpoint);
  const options = {
    format: format === "csv" ? gateway.csvFormat : format,
    timeoutMs: gateway.timeouts[caller.tier],
  };
  if (fields === NO_FIELDS && own === null && endpoint.cursor === undefined)
    return sendRows(context, endpoint, fields, resolveDefaultQuery(endpoint, options));
  const bom = readBom(endpoint, options.format, fields);
  if (isHttpError(bom)) return bom;
  const selection = readParameters(endpoint, bom.fields, request.method === "POST" ? "body" : "query");
  if (isHttpError(selection)) return selection;
  const conditions = own === null ? selection.conditions : [own, ...selection.conditions];
  const query = { ...options, ...(bom.isWanted && { bom: true as const }) };
  const selected = { ...selection, conditions };
  if (endpoint.cursor === undefined)
    return sendRows(context, endpoint, fields, resolveQuery(endpoint, selected, query));
  return sendRows(context, endpoint, fields, resolvePage(gateway, endpoint, bom.fields, selected, query));
}

/** The fields of the query string, or of the body of a POST. Null when the client disconnected while sending. */
async function readFields({ request, caller }: DataContext): Promise<Result<RawFields> | null> {
  const { url = "" } = request;
  const mark = url.indexOf("?");
  const query = mark === -1 ? "" : url.slice(mark + 1);
  if (request.method !== "POST") return query === "" ? NO_FIELDS : queryFields(query);
  if (query !== "") return httpError("queryOnPost");
  if (request.body !== undefined) return objectFields(request.body);
  const text = await readBodyText(request, caller);
  return typeof text === "string" ? bodyFields(text) : text;
}

async function sendRows(
  context: DataContext,
  endpoint: Endpoint,
  fields: RawFields,
  resolved: Result<KeyedQuery>,
): Promise<Outcome> {
  if (isHttpError(resolved)) return resolved;
  const { gateway, requestId, caller } = context;
  try {
    return await queryAndSend(context, endpoint, fields, resolved);
  } catch (error) {
    if (error instanceof QueryAbandoned) return NO_ROWS;
    if (error instanceof TooManyRows) return tooManyRows(error, endpoint, resolved.query, caller.tier);
    if (error instanceof Overloaded) return httpError("overloaded", { n: RETRY_SECONDS });
    if (error instanceof SortKeyTooLong) return httpError("sortKeyTooLong");
    if (error instanceof SharedSortKey) return httpError("sortKeyShared");
    gateway.log.error({ requestId, route: endpoint.path, err: error }, "query failed");
    if (error instanceof TooManyDigits) return httpError("tooManyDigits", { name: error.column });
    if (error instanceof DatabaseUnreachable) return httpError("unreachable", { n: RETRY_SECONDS });
    if (!(error instanceof StreamAborted)) return httpError("queryFailed");
    const { returned, bytes, milliseconds } = error.sent;
    return { rows: returned, bytes, databaseMs: milliseconds, isAborted: true };
  }
}

/** Filters by key columns read fewer rows; those in the request are to be narrowed. */
function tooManyRows(error: TooManyRows, endpoint: Endpoint, query: ResolvedQuery, tier: Tier): HttpError {
  const used = new Set(query.selection.conditions.map(({ name }) => name));
  const helpful = filterParameters(endpoint)
    .filter(
      ({ column, operator }) => error.columns.includes(column) && operator !== "ne" && operator !== "null",
    )
    .map(({ name }) => name);
  const unused = helpful.filter((name) => !used.has(name));
  const advice =
    unused.length > 0
      ? `Filter by ${unused.join(" or ")}.`
      : helpful.length > 0
        ? `Ask for less by ${helpful.join(" or ")}.`
        : "No filter of this endpoint reads fewer.";
  return httpError("tooManyRows", { tier, max: error.limit, advice });
}

async function queryAndSend(
  context: DataContext,
  endpoint: Endpoint,
  fields: RawFields,
  { query: resolved, key, cursor }: KeyedQuery,
): Promise<Outcome> {
  const { gateway, request, response, caller } = context;
  let query = resolved;
  let version = gateway.versions.of(endpoint.upstreamNodes);
  const build = version?.id ?? null;
  const { conditions, page } = query.selection;
  let tag: string | null = null;
  let storage: string | null = "";
  const whole = readsParts(request) ? gateway.wholeResults : null;
  const hasStorage = version !== null || gateway.results.hasCache || whole !== null || cursor !== undefined;
  if (hasStorage || conditions.length > 0) {
    const columns = await gateway.warehouse.columns(query.relation, build, hasStorage);
    const error = gateway.warehouse.check(conditions, columns);
    if (error) return conditionError(error);
    ({ storage = "" } = columns[0] ?? {});
    if (storage === null) version = null;
    if (cursor !== undefined) {
      const checked = checkedPage(query, cursor, columns, version);
      if (isHttpError(checked)) return checked;
      query = checked;
    }
    if (version !== null) tag = versionTag(version, key, columns);
  }
  const pending = pendingResponse(context, endpoint, query, version, tag);
  const notModified = tag === null ? null : sendNotModified(pending, tag);
  if (notModified !== null) return notModified;
  const { callerId, tier } = caller;
  const queryContext = { callerId, tier, version: build, isStillNeeded: () => !response.destroyed };
  if (isSummary(request)) {
    const body = JSON.stringify(await summaryOf(gateway.warehouse, query, queryContext));
    return { ...NO_ROWS, bytes: send(response, { status: 200, body }, context.headers) };
  }
  const rowsKey = `${storage ?? ""}\0${key}`;
  const wholeKey = `${version?.id ?? ""}\0${rowsKey}`;
  const { results } = gateway;
  const result = whole?.get(wholeKey) ?? (await results.get(rowsKey, query, queryContext, storage !== null));
  if (result === "overloaded") return httpError("overloaded", { n: RETRY_SECONDS });
  try {
    if (cursor?.isConsistent && !(await isUnchanged(gateway, endpoint, version, storage))) {
      await endOf(result);
      return httpError("rowsChanged");
    }
    const hasMore = await hasNextPage(gateway.warehouse, result, query, queryContext);
    if (page !== null && hasMore)
      pending.headers.push(...nextPageLink(request, fields, page, result.result.nextCursor));
    if (prefersCount(request)) {
      const total =
        knownTotal(result, query.selection) ??
        (await aggregateOf(gateway.warehouse, query, queryContext, [])).count;
      pending.headers.push("X-Total-Count", String(total), "Preference-Applied", "count=exact");
    }
    return await respond(pending, whole ? await whole.complete(wholeKey, result, hasMore) : result);
  } catch (error) {
    await endOf(result);
    throw error;
  }
}

/** Ends a result that is not sent: otherwise the connection and the caller's share of a stream would stay in use. */
async function endOf({ result }: QueryResult): Promise<void> {
  if (result.kind === "stream") await result.stream.chunks.return();
}

/** `Prefer: count=exact` (RFC 7240). */
function prefersCount({ headers }: DataRequest): boolean {
  return /(?:^|,)\s*count\s*=\s*"?exact"?\s*(?:[,;]|$)/i.test([headers.prefer ?? ""].flat().join(","));
}

/** The number of rows on all pages, where the last one of them is in memory; null elsewhere. */
function knownTotal({ result }: QueryResult, { page, keyset }: Selection): number | null {
  if (result.kind === "stream" || result.hasMore || keyset?.after) return null;
  const offset = page?.offset ?? 0;
  return offset === 0 || result.rows > 0 ? offset + result.rows : null;
}

function pendingResponse(
  { gateway, request, response, caller, headers: callersHeaders }: DataContext,
  endpoint: Endpoint,
  { format }: ResolvedQuery,
  version: DataVersion | null,
  tag: string | null,
): PendingResponse {
  const headers = [...callersHeaders, ...deprecationHeaders(endpoint)];
  return {
    request,
    response,
    format,
    headers,
    version,
    caller,
    responseMemory: gateway.responseMemory,
    streamTimeoutMs: gateway.streamTimeouts[caller.tier],
    tag,
  };
}
