import type { IncomingMessage, ServerResponse } from "node:http";
import type { Express, Request, Response } from "express";
import { httpError, type HttpError } from "../model/errors.js";
import { isTier, TIERS } from "../model/tier.js";
import { COMMON_HEADERS, setHeaders } from "../http/headers.js";
import { callerHeaders } from "../request/authorize.js";
import { type BufferedResult, matchesTag } from "../response/buffered-result.js";
import { COMPRESSED_FROM_BYTES, encodingOf } from "../response/content-negotiation.js";
import type { Reply } from "../response/send.js";
import { type Exchange, serveRoute } from "../handler/authorize-request.js";
import type { Gateway } from "../handler/gateway.js";
import { jsonAnswer, OPEN, type SystemEndpoint, textAnswer } from "./operation.js";
import type { Service } from "./context.js";

export const PAGES: readonly SystemEndpoint[] = [
  ["docs", "Interactive documentation", "This document in Swagger UI."] as const,
  ["redoc", "Alternative documentation", "This document in Redoc."] as const,
  ["explore", "Explorer", "The catalogue as a page: search, try an endpoint, draw a chart."] as const,
].map(([name, summary, description]) => ({
  ...OPEN,
  path: `/${name}`,
  operationId: `system_${name}`,
  summary,
  description,
  responses: { 200: textAnswer("A page.", "text/html") },
}));

export const OPENAPI: SystemEndpoint = {
  ...OPEN,
  path: "/openapi.json",
  operationId: "system_openapi",
  summary: "OpenAPI description",
  description:
    "This document, OpenAPI 3.1. With a key it describes what the key may call; with `tier`, what that tier may call; " +
    "else everything.",
  kind: "openapi",
  parameters: [
    {
      name: "tier",
      in: "query",
      description: "Describe only endpoints that this tier may call.",
      schema: { type: "string", enum: TIERS },
    },
  ],
  responses: { 200: jsonAnswer("The description.", { type: "object", additionalProperties: true }) },
};

/** The OpenAPI document; with `?tier=`, only the endpoints that this tier may call. */
export function openApi(
  { gateway, request, context: { caller } }: Exchange,
  service: Service,
): Reply | HttpError | Promise<Reply> {
  const tier = queryOf(request).get("tier")?.trim() ?? "";
  if (tier !== "" && !isTier(tier)) return httpError("unknownTier", { names: TIERS.join(", ") });
  const address = gateway.publicAddressOf(request);
  const document = service.documents.openApi(caller, tier === "" ? null : tier, address);
  return documentReply(document, request);
}

/** The endpoints (runtime/docs/catalogue.md). What it lists depends on the key: no shared caching. */
export function catalogue({ request, context: { caller } }: Exchange, service: Service): Promise<Reply> {
  const { result } = service.documents.catalogue(caller);
  return documentReply(result, request);
}

/** The endpoints for language models (llmstxt.org). */
export async function llms(
  { gateway, request, context: { caller } }: Exchange,
  service: Service,
): Promise<Reply> {
  const reply = await documentReply(
    service.documents.llms(caller, gateway.publicAddressOf(request)),
    request,
  );
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

/** Serves a documentation page with the headers of every response. */
export function serveDocs(
  gateway: Gateway,
  docs: Express,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const route = { path: "/docs", allowed: "GET, HEAD, OPTIONS", isLimited: false };
  return serveRoute(gateway, route, request, response, ({ context }) => {
    setHeaders(response, [...callerHeaders(context), ...COMMON_HEADERS]);
    return new Promise((resolve, reject) => {
      response.once("close", () => resolve(null));
      docs(request as Request, response as Response, (error?: unknown) => {
        if (error) reject(new Error("A documentation page failed.", { cause: error }));
        else resolve(httpError("notFound"));
      });
    });
  });
}
