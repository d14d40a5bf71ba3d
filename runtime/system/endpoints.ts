import type { IncomingMessage, ServerResponse } from "node:http";
import type { Express, Request, Response } from "express";
import { httpError, type HttpError } from "../model/errors.js";
import { isTier, RATE_WINDOW_SECONDS, TIERS } from "../model/tier.js";
import type { UsageLine } from "../operations/usage-table.js";
import type { Documents } from "../pages/documents.js";
import type { RefreshResult } from "../release/activate.js";
import type { Gateway } from "../handler/gateway.js";
import type { HeldBackEndpoint } from "../release/release.js";
import { type HttpRoute, serveRequest } from "../handler/serve-request.js";
import type { Authorization } from "../request/authorize.js";
import type { BufferedResult } from "../response/buffered-result.js";
import { COMPRESSED_FROM_BYTES, encodingOf } from "../response/content-negotiation.js";
import { matchesTag } from "../response/entity-tag.js";
import { NO_ROWS } from "../response/respond.js";
import type { Reply } from "../response/send.js";
import { COMMON_HEADERS, isLocalCaller, setHeaders } from "../http/headers.js";

/** State that the system endpoints report. */
export interface Service {
  readonly title: string;
  readonly documents: Documents;
  /** Relations of endpoints, as `schema.name`, that the database does not have. */
  readonly missingRelations: () => readonly string[];
  /** Why the release may be old; null while it is not. */
  readonly refreshDegraded: () => string | null;
  /** Endpoints whose changes the guard holds back. */
  readonly heldBack: () => readonly HeldBackEndpoint[];
  readonly metrics: MetricsText;
  /** Whether `/metrics` is public. */
  readonly metricsPublic: boolean;
  /** What a key has used, by day; null where usage is not recorded. */
  readonly usageOf: (keyId: string) => Promise<readonly UsageLine[] | null>;
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

/** The public endpoints, except the documentation pages (runtime/docs/system-endpoints.md). */
const HANDLERS: ReadonlyMap<string, SystemHandler> = new Map<string, SystemHandler>([
  ["/", status],
  ["/health", health],
  ["/openapi.json", openApi],
  [CATALOGUE_PATH, catalogue],
  ["/llms.txt", llms],
  ["/metrics", metrics],
]);

export function isSystemPath(path: string): boolean {
  return HANDLERS.has(path);
}

const SYSTEM_METHODS = "GET, HEAD, OPTIONS";

/** Serves a system endpoint: most without a rate limit, but an unknown key is refused. */
export async function serveSystem(
  gateway: Gateway,
  service: Service,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const handler = HANDLERS.get(path);
  const route: HttpRoute = {
    path,
    allowed: SYSTEM_METHODS,
    isLimited: false,
    handle: ({ caller }) => handler?.({ gateway, service, request, caller }) ?? httpError("notFound"),
  };
  await serveRequest(gateway, route, request, response);
}

function json(status: number, value: unknown): Reply {
  return { status, body: JSON.stringify(value) };
}

function status({ service }: Context): Reply {
  return json(200, { status: "online", service: service.title, docs: "/docs" });
}

async function health({ gateway, service }: Context): Promise<Reply> {
  const connected = await gateway.warehouse.isReachable();
  const degraded = [gateway.rates.degraded, gateway.warehouse.degraded, service.refreshDegraded()];
  const details = degraded.filter((text) => text !== null);
  const missingRelations = service.missingRelations();
  const heldBack = service.heldBack();
  return json(connected ? 200 : 503, {
    status: connected ? (missingRelations.length + details.length > 0 ? "degraded" : "ok") : "unavailable",
    database_connected: connected,
    ...(missingRelations.length > 0 && { missing_relations: missingRelations }),
    ...(heldBack.length > 0 && { held_back: heldBack }),
    ...(details.length > 0 && { detail: details.join(" ") }),
  });
}

/** The OpenAPI document; with `?tier=`, only the endpoints that this tier may call. */
function openApi({ service, request, caller }: Context): Reply | HttpError | Promise<Reply> {
  const tier = queryOf(request).get("tier")?.trim() ?? "";
  if (tier !== "" && !isTier(tier)) return httpError("unknownTier", { names: TIERS.join(", ") });
  const document = service.documents.openApi(caller, tier === "" ? null : tier);
  return documentReply(document, request);
}

/** The endpoints (runtime/docs/catalogue.md). What it lists depends on the key: no shared caching. */
function catalogue({ service, request, caller }: Context): Promise<Reply> {
  const { result } = service.documents.catalogue(caller);
  return documentReply(result, request);
}

/** The endpoints for language models (llmstxt.org). */
async function llms({ service, request, caller }: Context): Promise<Reply> {
  const reply = await documentReply(service.documents.catalogue(caller).llms, request);
  return { ...reply, contentType: "text/markdown; charset=utf-8" };
}

function queryOf({ url = "/" }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf("?");
  return new URLSearchParams(mark === -1 ? "" : url.slice(mark + 1));
}

async function documentReply(result: BufferedResult, request: IncomingMessage): Promise<Reply> {
  const vary = "Accept-Encoding, X-API-Key, Authorization";
  const caching = ["Cache-Control", "private, no-cache", "Vary", vary, "ETag", result.tag];
  if (matchesTag(result.tag, request.headers["if-none-match"])) return { status: 304, body: "", caching };
  const encoding = result.bytes < COMPRESSED_FROM_BYTES ? null : encodingOf(request);
  if (encoding === null) return { status: 200, body: result.body, caching };
  const body = await result.compressed(encoding);
  return { status: 200, body, caching: [...caching, "Content-Encoding", encoding] };
}

/** For loopback callers and tier3 keys (runtime/docs/operations.md). */
async function metrics({ gateway, service, request, caller }: Context): Promise<Reply | HttpError> {
  const isLocal = isLocalCaller(gateway.addressOf, request);
  if (!service.metricsPublic && !isLocal && (caller.tier !== "tier3" || caller.allowed !== null))
    return httpError("metricsForbidden");
  return { status: 200, body: await service.metrics.text(), contentType: service.metrics.contentType };
}

export const USAGE_PATH = "/v1/system/usage";

/** Serves `GET /v1/system/usage` to every caller: its own limits and use. It reads the database, so it counts. */
export async function serveUsage(
  gateway: Gateway,
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const route: HttpRoute = {
    path: USAGE_PATH,
    allowed: SYSTEM_METHODS,
    isLimited: true,
    handle: async ({ caller }) => json(200, await ownUsage(gateway, service, caller)),
  };
  await serveRequest(gateway, route, request, response);
}

async function ownUsage(
  { timeouts, streamTimeouts }: Gateway,
  { usageOf }: Service,
  { owner, tier, org, allowed, limit, window }: Authorization,
): Promise<object> {
  const days = owner === null ? null : await usageOf(owner.id);
  return {
    user: owner?.user ?? null,
    tier,
    org,
    expires: timeOf(owner?.expiresAt ?? null),
    allowed,
    limits: {
      requests_per_window: limit,
      window_seconds: RATE_WINDOW_SECONDS,
      query_timeout_ms: timeouts[tier] || null,
      stream_timeout_ms: streamTimeouts[tier] || null,
    },
    window: {
      requests: window.count,
      remaining: Math.max(0, limit - window.count),
      resets_at: timeOf(window.resetAt),
    },
    days:
      days?.map(({ day, requests, refused, errors, rows, bytes }) => ({
        day,
        requests,
        refused,
        errors,
        rows,
        bytes,
      })) ?? null,
  };
}

function timeOf(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}

export const REFRESH_PATH = "/v1/system/manifest/refresh";

/** Serves `POST /v1/system/manifest/refresh`, for tier3 only. */
export async function serveRefresh(
  gateway: Gateway,
  refresh: () => Promise<RefreshResult>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const route: HttpRoute = {
    path: REFRESH_PATH,
    allowed: "POST, OPTIONS",
    isLimited: true,
    tier: "tier3",
    handle: async () => json(200, await refresh()),
  };
  // A body is ignored; unread, it would block the next request of the connection.
  request.resume();
  await serveRequest(gateway, route, request, response);
}

/** Serves a documentation page with the headers of every response. */
export async function serveDocs(
  gateway: Gateway,
  docs: Express,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const route: HttpRoute = {
    path: "/docs",
    allowed: SYSTEM_METHODS,
    isLimited: false,
    handle: ({ headers }) => {
      setHeaders(response, [...headers, ...COMMON_HEADERS]);
      return new Promise((resolve, reject) => {
        response.once("close", () => resolve(NO_ROWS));
        docs(request as Request, response as Response, (error?: unknown) => {
          if (error) reject(new Error("A documentation page failed.", { cause: error }));
          else resolve(httpError("notFound"));
        });
      });
    },
  };
  await serveRequest(gateway, route, request, response);
}
