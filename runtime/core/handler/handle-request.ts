import type { RequestHandler } from "express";
import { atOtherPaths, type Endpoint } from "../model/endpoint.js";
import { ServedEndpoint } from "../model/served-endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../model/errors.js";
import { isLocalCaller } from "../http/headers.js";
import { pathItem, pathOf } from "../http/route.js";
import { callerHeaders } from "../request/authorize.js";
import { NO_FIELDS, nextPageLink } from "../request/request-fields.js";
import type { Answer } from "../response/answer.js";
import { findAt } from "../response/content-negotiation.js";
import { freshnessHeaders, qualityHeaders, respond, type Sent } from "../response/respond.js";
import { cachingHeaders } from "../response/caching-headers.js";
import { isBehind, partFinder, readsParts } from "../response/whole-results.js";
import { type DataPath, type DataRoute, type Exchange, serveExchange } from "./exchange.js";
import { gatewayOf } from "./gateway.js";
import { shapeOf } from "./request-shape.js";
import { type DataRequest, parameterNames, resolveRequest } from "./resolve.js";
import { goneRefusal, noticeOf, run } from "./run.js";

/** The handler of an endpoint, for every method. It can be mounted alone in an Express 5 app. */
export function handlerOf(endpoint: ServedEndpoint): RequestHandler & { readonly endpoint: ServedEndpoint } {
  return Object.assign(handle(endpoint), { endpoint });
}

function handle(endpoint: ServedEndpoint): RequestHandler {
  const { spec } = endpoint;
  const own = pathOfEndpoint(spec, endpoint);
  const others = atOtherPaths(spec).map(
    (each) => [each.path, pathOfEndpoint(spec, new ServedEndpoint(each, endpoint))] as const,
  );
  if (others.length === 0)
    return (request, response) => serveExchange(gatewayOf(response), own, request, response);
  const byPath = new Map(others);
  return (request, response) => {
    const item = findAt(byPath, pathOf(request.url)) ?? own;
    return serveExchange(gatewayOf(response), item, request, response);
  };
}

/** A path of an endpoint. `called`: the endpoint as it answers there; keys that list a former path still open it. */
function pathOfEndpoint(endpoint: Endpoint, called: ServedEndpoint): DataPath {
  const { path, tier, methods } = called.spec;
  const access = { limit: "caller", tier } as const;
  if (called.spec.changes === "on_build") loadHits().catch(() => undefined);
  const handle: DataRoute["handle"] = (exchange) => {
    const hit = hits?.answerHit(exchange, called, respondTo);
    return hit === undefined ? serveRows(exchange, called) : hit;
  };
  const all = methods.flatMap((method) => (method === "POST" ? (["POST", "QUERY"] as const) : method));
  const routes = all.map((method): DataRoute => ({ method, path, access, operation: null, handle }));
  return { ...pathItem(routes), endpoint };
}

/** Loaded with the first endpoint whose results are kept. */
let hits: Awaited<ReturnType<typeof importHits>> | null = null;
const importHits = () => import("./hits.js");
const loadHits = async (): Promise<unknown> => (hits ??= await importHits());

/**
 * The life of a request for rows, once its caller may read them. A step gives its value, the error that is sent instead, or
 * null when the client has disconnected.
 */
async function serveRows(exchange: Exchange, endpoint: ServedEndpoint): Promise<HttpError | null> {
  const { gateway, request, response, context, times } = exchange;
  const ended = goneRefusal(gateway, endpoint.spec, context.caller);
  if (ended !== null) {
    const notice = noticeOf(exchange, endpoint.spec);
    for (let i = 0; i < notice.length; i += 2) response.setHeader(notice[i] ?? "", notice[i + 1] ?? "");
    return ended;
  }
  const resolving = resolveRequest(gateway, endpoint, request, context.caller);
  const query = resolving instanceof Promise ? await resolving : resolving;
  times.end("resolve");
  if (isRefused(query)) return query;
  const quota = context.caller.key?.use?.take(context) ?? null;
  const exceeded = quota && (await quota);
  if (exceeded !== null) return exceeded;
  exchange.parameters = parameterNames(endpoint, query);
  const { method = "", headers } = request;
  if (gateway.usageShapes) exchange.shape = shapeOf(endpoint, query, method, context.caller.tier);
  hits?.keepRequest(exchange, endpoint, query);
  const { id, caller, isStillNeeded } = context;
  const answer = await run(gateway, endpoint.spec, query, {
    id,
    caller,
    isStillNeeded,
    onStart: () => times.queryStarted(),
    onRollUp: (relation) => (times.rollUp = relation),
    ifNoneMatch: method === "GET" || method === "HEAD" ? headers["if-none-match"] : undefined,
    readsPart: readsParts(request) ? partFinder(request) : undefined,
    wantsTotal: headers["prefer"] !== undefined && prefersCount(headers["prefer"]),
  });
  times.end("run");
  if (isRefused(answer)) return answer;
  const refused = rangeError(exchange, answer);
  if (refused) return refused;
  exchange.sent = await respondTo(exchange, endpoint.spec, answer);
  return null;
}

/** The error of a range behind a body whose length is known. */
function rangeError({ request, response }: Exchange, { result }: Answer): HttpError | null {
  if (result?.kind !== "buffered" || !isBehind(request, result.bytes)) return null;
  response.setHeader("Content-Range", `bytes */${String(result.bytes)}`);
  return httpError("rangeNotSatisfiable", { bytes: result.bytes });
}

function isRefused<T>(outcome: Result<T> | null): outcome is HttpError | null {
  return outcome === null || isHttpError(outcome);
}

/** `Prefer: count=exact` (RFC 7240). */
function prefersCount(prefer: string | readonly string[]): boolean {
  return /(?:^|,)\s*count\s*=\s*"?exact"?\s*(?:[,;]|$)/i.test([prefer].flat().join(","));
}

function respondTo(exchange: Exchange, endpoint: Endpoint, answer: Answer): Sent | Promise<Sent> {
  const { gateway, request, response, context, times } = exchange;
  const { caller } = context;
  const headers = callerHeaders(context);
  // For callers who may know how busy the server is.
  if (gateway.serverTiming || caller.tier === "tier3" || isLocalCaller(gateway.addressOf, request))
    headers.push("Server-Timing", times.serverTiming);
  append(headers, noticeOf(exchange, endpoint));
  append(headers, pageHeaders(request, answer, gateway.publicAddressOf(request).prefix));
  const { isPrefixForwarded } = gateway.publicAddressOf;
  const { due, quality } = answer;
  if (due !== null) append(headers, freshnessHeaders(due));
  append(headers, qualityHeaders(quality));
  const caching = cachingHeaders(endpoint, caller, { request, isPrefixForwarded, due });
  const { responseMemory, streamTimeouts } = gateway;
  const streamTimeoutMs = streamTimeouts[caller.tier];
  return respond({ request, response, answer, headers, caching, caller, responseMemory, streamTimeoutMs });
}

/** Not `push` of a spread, which makes an iterator and a list of each. */
function append(headers: string[], more: readonly string[]): void {
  for (const text of more) headers.push(text);
}

/** The link to the next page, and the number of rows on all pages. */
function pageHeaders(
  request: DataRequest,
  { query, result, hasMore, total, link: known }: Answer,
  prefix: string,
): readonly string[] {
  if (known !== undefined) return known;
  const { fields = NO_FIELDS, selection } = query;
  const { page } = selection;
  const link =
    page !== null && hasMore ? nextPageLink(request, fields, page, result?.nextCursor ?? null, prefix) : NONE;
  return total === null
    ? link
    : [...link, "X-Total-Count", String(total), "Preference-Applied", "count=exact"];
}

const NONE: readonly string[] = [];
