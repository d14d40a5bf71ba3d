import { type ApiServices, authenticate } from "./authenticate.js";
import { handleRequest, type PublicPath, readBodyText } from "./handle-request.js";
import type { Route } from "./route.js";
import { getProviders, getQuote, getRequirements, getSupportedCurrencies } from "./routes/payment-options.js";
import { createCustomer, deleteCustomer, getCustomers } from "./routes/customers.js";
import {
  getProjectIntent,
  getProjectIntents,
  cancelIntent,
  createIntent,
  getIntent,
  getIntents,
  executeTransaction,
  getTransaction,
} from "./routes/intents.js";
import { createExternalAccounts } from "./routes/external-accounts.js";
import { receiveCallback, createWalletToken, getWalletNonce } from "./routes/public.js";
import type { Request } from "express";
import { isLocalCaller } from "../../http/headers.js";
import { isRampError, jsonResponse, type RampAnswer, rampError } from "../core/ramp-errors.js";
import { SCRIPT, STYLE } from "../hosted-pages/layout.js";
import { actOnPage, pageStatus, showPage } from "../hosted-pages/hosted-page.js";
import { readBacklog } from "../intents/attention.js";
import { openApiDocument, TITLE } from "./openapi.js";

/** All endpoints, in the order of the documentation; the app, the OpenAPI document and the tests go through this list. */
export const ROUTES: readonly Route[] = [
  createCustomer,
  getCustomers,
  deleteCustomer,
  getSupportedCurrencies,
  getProviders,
  getRequirements,
  getQuote,
  createIntent,
  getIntents,
  getIntent,
  cancelIntent,
  executeTransaction,
  getTransaction,
  getProjectIntents,
  getProjectIntent,
  createExternalAccounts,
  getWalletNonce,
  createWalletToken,
  receiveCallback,
];

/** The endpoints as paths of the app. */
export const ENDPOINTS: readonly PublicPath[] = ROUTES.map((route) => ({
  method: route.method,
  path: route.path,
  isPage: false,
  handle: (service, request) => handleRequest(service, route, request),
}));

const system = (path: string, handle: PublicPath["handle"]): PublicPath => ({
  method: "GET",
  path,
  isPage: false,
  handle,
});

export const SYSTEM_PATHS: readonly PublicPath[] = [
  system("/", () => Promise.resolve(jsonResponse(200, { status: "online", service: TITLE, docs: "/docs" }))),
  system("/health", health),
  system("/openapi.json", ({ ramp }) =>
    Promise.resolve(jsonResponse(200, openApiDocument(ramp.publicUrl, ROUTES))),
  ),
  system("/metrics", metrics),
];

const NOT_MIGRATED =
  "Requests cannot use the database: run `routewright ramp migrate`. The log says what is missing.";

async function health({ ramp, rates }: ApiServices): Promise<RampAnswer> {
  const { isConnected, isWritable, problem } = await ramp.database.reach();
  if (problem !== null)
    ramp.log.error({ problem }, "requests cannot use the database: run `routewright ramp migrate`");
  const isReady = isWritable && problem === null;
  const detail = problem === null ? rates.degraded : NOT_MIGRATED;
  return jsonResponse(isReady ? 200 : 503, {
    status: isReady ? (detail === null ? "ok" : "degraded") : "unavailable",
    database_connected: isConnected,
    ...(isConnected && !isWritable && { database_writable: false }),
    ...(detail !== null && { detail }),
  });
}

/** Open to this machine only, unless METRICS_PUBLIC is set; a forwarded request counts as remote. */
async function metrics(
  { ramp, addressOf, metricsPublic }: ApiServices,
  request: Request,
): Promise<RampAnswer> {
  const isLocal = isLocalCaller(addressOf, request);
  if (!metricsPublic && !isLocal) return rampError("METRICS_FORBIDDEN");
  const body = await ramp.metrics.text(await ramp.database.asOperator(readBacklog));
  return { status: 200, body, headers: { "Content-Type": ramp.metrics.registry.contentType } };
}

function page(method: PublicPath["method"], path: string, handle: PublicPath["handle"]): PublicPath {
  return {
    method,
    path,
    isPage: true,
    async handle(service, request) {
      const error = await authenticate(service, "public", request);
      return isRampError(error) ? error : handle(service, request);
    },
  };
}

const token = (request: Request): string => String(request.params["token"]);

async function act(service: ApiServices, request: Request): ReturnType<PublicPath["handle"]> {
  const body = await readBodyText(service, request, null);
  if (body === "gone" || isRampError(body)) return body;
  const contentType = request.get("content-type") ?? "";
  return actOnPage(service.ramp, token(request), { text: body.text, contentType });
}

/** For as long as a page may be open while a new version is rolled out. */
const FILE_HEADERS = { "Cache-Control": "public, max-age=300" };

const file = (path: string, type: string, body: string): PublicPath =>
  page("GET", path, () =>
    Promise.resolve({ status: 200, body, headers: { ...FILE_HEADERS, "Content-Type": type } }),
  );

/** The hosted pages, and the files that they load. */
export const PAGE_PATHS: readonly PublicPath[] = [
  page("GET", "/onboarding/:token", ({ ramp }, request) =>
    showPage(ramp, token(request), request.query["leave"] !== undefined),
  ),
  page("POST", "/onboarding/:token", act),
  page("GET", "/onboarding/:token/status", ({ ramp }, request) => pageStatus(ramp, token(request))),
  file("/pages/page.js", "text/javascript; charset=utf-8", SCRIPT),
  file("/pages/page.css", "text/css; charset=utf-8", STYLE),
];
