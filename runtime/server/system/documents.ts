import { DOCUMENT, ROUTES } from "../../core/handler/system-routes.js";
import type { IncomingMessage } from "node:http";
import { httpError, type HttpError } from "../../core/model/errors.js";
import { isTier, TIERS } from "../../core/model/tier.js";
import { queryOf } from "../../core/http/route.js";
import type { Reply } from "../../core/http/send.js";
import { type BufferedResult, documentReply } from "../../core/response/buffered-result.js";
import type { Exchange } from "../../core/handler/exchange.js";
import type { Service, SystemRoute } from "./context.js";

export const OPENAPI: SystemRoute = {
  ...ROUTES.openapi,
  handle: openApi,
};

/** The OpenAPI document; with `?tier=`, only the endpoints that this tier may call. */
async function openApi(
  { request, context: { caller } }: Exchange,
  service: Service,
): Promise<Reply | HttpError> {
  const tier = queryOf(request).get("tier")?.trim() ?? "";
  if (tier !== "" && !isTier(tier)) return httpError("unknownTier", { names: TIERS.join(", ") });
  await service.documents.ready();
  return replyOf(service.documents.openApi(caller, tier === "" ? null : tier), request);
}

export const CATALOGUE: SystemRoute = {
  ...ROUTES.catalogue,
  async handle({ request, context: { caller } }, { documents }) {
    await documents.ready();
    return replyOf(documents.catalogue(caller).result, request);
  },
};

/** What the explorer shows of each category: without it the page cost a reader a request of the window for each. */
export const FIGURES: SystemRoute = {
  method: "GET",
  path: "/explore/figures.json",
  operation: null,
  access: DOCUMENT,
  async handle({ request }, { documents }) {
    return documentReply(await documents.figures(), request, { Vary: "Accept-Encoding" });
  },
};

/** The endpoints for language models (llmstxt.org). */
export const LLMS: SystemRoute = {
  ...ROUTES.llms,
  async handle({ request, context: { caller } }, { documents }) {
    const document = documents.llms(caller);
    return replyOf(document, request, { "Content-Type": "text/markdown; charset=utf-8" });
  },
};

/** What a document lists depends on the key: no shared caching. */
function replyOf(
  document: BufferedResult,
  request: IncomingMessage,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return documentReply(document, request, { Vary: "Accept-Encoding, X-API-Key, Authorization", ...headers });
}
