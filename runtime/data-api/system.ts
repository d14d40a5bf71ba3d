import type { IncomingMessage, ServerResponse } from "node:http";
import type { Express, Request, Response } from "express";
import { isLocalCaller, COMMON_HEADERS, requestIdOf } from "../http/headers.js";
import { callerHeaders, peek, type Authorization, authorize, requireTier } from "../access/authorize.js";
import { send, sendOptions, sendHttpError, SYSTEM_METHODS, type Reply } from "./send.js";
import { httpError, type HttpError } from "../model/errors.js";
import { isTier, TIERS } from "../model/tier.js";
import { type BufferedResult, matchesTag } from "../results/buffered-result.js";
import { COMPRESSED_FROM_BYTES, encodingOf } from "../results/content-negotiation.js";
import type { Gateway } from "./gateway.js";
import type { Documents } from "./documents.js";
import type { RefreshResult } from "./activate.js";
import type { HeldBackEndpoint } from "./release.js";

/** State that the system endpoints report. */
export interface Service {
  readonly title: string;
  readonly documents: Documents;
  /** Endpoints whose changes the guard holds back. */
  readonly heldBack: () => readonly HeldBackEndpoint[];
  readonly metrics: MetricsText;
  /** Whether `/metrics` is public. */
  readonly metricsPublic: boolean;
}

/** The content of `/metrics`. */
interface MetricsText {
  readonly contentType: string;
  text(): Promise<string>;
}

type SystemHandler = (context: Context) => Reply | HttpError | Promise<Reply | HttpError>;

interface Context {
  readonly gateway: Gateway;
  readonly service: Service;
  readonly request: IncomingMessage;
  readonly caller: Authorization;
}

const CATALOGUE_PATH = "/v1/system/catalogue";

/** The public endpoints, except the documentation pages (runtime/README.md, System endpoints). */
const HANDLERS: ReadonlyMap<string, SystemHandler> = new Map<string, SystemHandler>([
  ["/", status],
  ["/health", health],
  ["/openapi.json", openApi],
  [CATALOGUE_PATH, catalogue],
  ["/metrics", metrics],
]);

export function isSystemPath(path: string): boolean {
  return HANDLERS.has(path);
}

/** Serves a system endpoint: without a rate limit, but an unknown key is refused. */
export async function serveSystem(
  gateway: Gateway,
  service: Service,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = requestIdOf(request);
  const caller = await peek(gateway, request);
  if (request.method === "OPTIONS") return sendOptions(response, request, SYSTEM_METHODS, caller, requestId);
  const outcome =
    caller.error ?? readOnly(request) ?? (await run(path, { gateway, service, request, caller }, requestId));
  if ("code" in outcome) sendHttpError(response, outcome, SYSTEM_METHODS, caller, requestId);
  else send(response, outcome, caller, requestId);
}

function readOnly({ method }: IncomingMessage): HttpError | null {
  return method === "GET" || method === "HEAD" ? null : httpError("methodNotAllowed");
}

async function run(path: string, context: Context, requestId: string): Promise<Reply | HttpError> {
  try {
    return (await HANDLERS.get(path)?.(context)) ?? httpError("notFound");
  } catch (error) {
    context.gateway.log.error({ requestId, route: path, err: error }, "request failed");
    return httpError("unexpected");
  }
}

function json(status: number, value: unknown): Reply {
  return { status, body: JSON.stringify(value) };
}

function status({ service }: Context): Reply {
  return json(200, { status: "online", service: service.title, docs: "/docs" });
}

async function health({ gateway, service }: Context): Promise<Reply> {
  const connected = await gateway.warehouse.isReachable();
  const details = [gateway.rates.degraded, gateway.warehouse.degraded].filter((text) => text !== null);
  const { missingRelations } = gateway.warehouse;
  const heldBack = service.heldBack();
  return json(connected ? 200 : 503, {
    status: connected ? (missingRelations.length > 0 ? "degraded" : "ok") : "unavailable",
    database_connected: connected,
    ...(missingRelations.length > 0 && { missing_relations: missingRelations }),
    ...(heldBack.length > 0 && { held_back: heldBack }),
    ...(details.length > 0 && { detail: details.join(" ") }),
  });
}

/** The OpenAPI document; with `?tier=` or a key, only the endpoints that this tier may call. */
async function openApi({ service, request, caller }: Context): Promise<Reply | HttpError> {
  const tier = queryOf(request).get("tier")?.trim() ?? "";
  if (tier === "" && caller.owner !== null)
    return documentReply(await service.documents.openApi(caller.tier), request, "private, no-cache");
  if (tier !== "" && !isTier(tier)) return httpError("unknownTier", { names: TIERS.join(", ") });
  return documentReply(await service.documents.openApi(tier === "" ? null : tier), request, "no-cache");
}

/** The endpoints that the caller may call (runtime/README.md, Catalogue). It depends on the key: no shared caching. */
async function catalogue({ service, request, caller }: Context): Promise<Reply> {
  const { result } = await service.documents.catalogue(caller.tier);
  return documentReply(result, request, "private, no-cache");
}

function queryOf({ url = "/" }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf("?");
  return new URLSearchParams(mark === -1 ? "" : url.slice(mark + 1));
}

async function documentReply(
  result: BufferedResult,
  request: IncomingMessage,
  cacheControl: string,
): Promise<Reply> {
  const vary = "Accept-Encoding, X-API-Key";
  const caching = ["Cache-Control", cacheControl, "Vary", vary, "ETag", result.tag];
  if (matchesTag(result.tag, request.headers["if-none-match"])) return { status: 304, body: "", caching };
  const encoding = result.bytes < COMPRESSED_FROM_BYTES ? null : encodingOf(request);
  if (encoding === null) return { status: 200, body: result.body, caching };
  const body = await result.compressed(encoding);
  return { status: 200, body, caching: [...caching, "Content-Encoding", encoding] };
}

/** For loopback callers and tier3 keys (runtime/README.md, Operations). */
async function metrics({ gateway, service, request, caller }: Context): Promise<Reply | HttpError> {
  const isLocal = isLocalCaller(gateway.addressOf, request);
  if (!service.metricsPublic && !isLocal && caller.tier !== "tier3") return httpError("metricsForbidden");
  return { status: 200, body: await service.metrics.text(), contentType: service.metrics.contentType };
}

export const REFRESH_PATH = "/v1/system/manifest/refresh";

const METHODS = "POST, OPTIONS";

/** Serves `POST /v1/system/manifest/refresh`, for tier3 only. */
export async function serveRefresh(
  gateway: Gateway,
  refresh: () => Promise<RefreshResult>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = requestIdOf(request);
  if (request.method === "OPTIONS") {
    sendOptions(response, request, METHODS, await peek(gateway, request), requestId);
    return;
  }
  const caller = await authorize(gateway, request);
  const error = caller.error ?? requireTier("tier3", caller) ?? methodError(request);
  // A body is ignored; unread, it would block the next request of the connection.
  request.resume();
  if (error) sendHttpError(response, error, METHODS, caller, requestId);
  else send(response, { status: 200, body: JSON.stringify(await refresh()) }, caller, requestId);
}

function methodError({ method }: IncomingMessage): HttpError | null {
  return method === "POST" ? null : httpError("methodNotAllowed");
}

/** Serves a documentation page with the headers of every response. */
export async function serveDocs(
  gateway: Gateway,
  docs: Express,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = requestIdOf(request);
  const caller = await peek(gateway, request);
  if (request.method === "OPTIONS") return sendOptions(response, request, SYSTEM_METHODS, caller, requestId);
  const error = caller.error ?? readOnly(request);
  if (error) return void sendHttpError(response, error, SYSTEM_METHODS, caller, requestId);
  const headers = [...callerHeaders(caller, requestId), ...COMMON_HEADERS];
  for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i] ?? "", headers[i + 1] ?? "");
  docs(request as Request, response as Response, (error?: unknown) => {
    if (error) gateway.log.error({ requestId, err: error }, "documentation page failed");
    sendHttpError(response, httpError(error ? "unexpected" : "notFound"), SYSTEM_METHODS, caller, requestId);
  });
}
