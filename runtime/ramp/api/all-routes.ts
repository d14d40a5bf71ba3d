import { type ApiServices, authenticate, countDocument } from "./authenticate.js";
import { handleRequest, type RampExchange, type RampRoute, readBodyText } from "./handle-request.js";
import type { ApiRoute } from "./route.js";
import { getProviders, getQuote, getRequirements, getSupportedCurrencies } from "./routes/payment-options.js";
import { createCustomer, deleteCustomer, getCustomer, getCustomers } from "./routes/customers.js";
import {
  getProjectIntent,
  getProjectIntents,
  acceptNewPrice,
  cancelIntent,
  createIntent,
  getIntent,
  getIntents,
  executeTransaction,
  getTransaction,
} from "./routes/intents.js";
import {
  createExternalAccounts,
  deleteExternalAccount,
  getExternalAccounts,
} from "./routes/external-accounts.js";
import {
  closeDepositAccount,
  closeProjectDepositAccount,
  getDepositAccount,
  getDepositAccounts,
  getProjectDepositAccounts,
  openDepositAccount,
} from "./routes/deposit-accounts.js";
import {
  acceptProjectPrice,
  cancelProjectIntent,
  cancelRefund,
  getRefunds,
  refundProjectIntent,
  resolveProjectIntent,
} from "./routes/project-intents.js";
import { getDeliveries, getEvent, getEvents, replayDeliveries } from "./routes/events.js";
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  getWebhook,
  getWebhooks,
  rotateWebhook,
  testWebhook,
} from "./routes/webhooks.js";
import { receiveCallback, createWalletToken, getWalletNonce } from "./routes/public.js";
import { plainJson } from "@routewright/runtime/internal/core/http/openapi.js";
import type { HttpMethod } from "@routewright/runtime/internal/core/http/openapi.js";
import { METRICS_CONTENT_TYPE } from "@routewright/runtime/internal/core/http/service-metrics.js";
import { queryOf } from "@routewright/runtime/internal/core/http/route.js";
import { isLocalCaller } from "@routewright/runtime/internal/core/http/headers.js";
import { isRampError, jsonResponse, type RampAnswer, rampError } from "../core/ramp-errors.js";
import { SCRIPT, STYLE } from "../hosted-pages/layout.js";
import { actOnPage, pageStatus, showPage } from "../hosted-pages/hosted-page.js";
import { openApiDocument, TITLE } from "./openapi.js";

/** All endpoints, in the order of the documentation; the app, the OpenAPI document and the tests go through this list. */
export const ROUTES: readonly ApiRoute[] = [
  createCustomer,
  getCustomers,
  getCustomer,
  deleteCustomer,
  getSupportedCurrencies,
  getProviders,
  getRequirements,
  getQuote,
  createIntent,
  getIntents,
  getIntent,
  cancelIntent,
  acceptNewPrice,
  executeTransaction,
  getTransaction,
  getProjectIntents,
  getProjectIntent,
  cancelProjectIntent,
  acceptProjectPrice,
  refundProjectIntent,
  getRefunds,
  cancelRefund,
  resolveProjectIntent,
  createExternalAccounts,
  getExternalAccounts,
  deleteExternalAccount,
  openDepositAccount,
  getDepositAccounts,
  getDepositAccount,
  closeDepositAccount,
  getProjectDepositAccounts,
  closeProjectDepositAccount,
  getEvents,
  getEvent,
  getDeliveries,
  replayDeliveries,
  createWebhook,
  getWebhooks,
  getWebhook,
  changeWebhook,
  deleteWebhook,
  rotateWebhook,
  testWebhook,
  getWalletNonce,
  createWalletToken,
  receiveCallback,
];

/** Every route of the service: endpoints, its own paths, hosted pages, the documentation. */
export function rampRoutes({ pages, ramp }: ApiServices): readonly RampRoute[] {
  const endpoints = ROUTES.map((route): RampRoute => ({
    ...route,
    isPage: false,
    handle: (exchange) => handleRequest(exchange, route),
  }));
  const documentation = pages.map((page): RampRoute => ({
    ...page,
    access: "open",
    isPage: false,
  }));
  const documents = [
    system("/", () =>
      jsonResponse(200, { status: "online", service: TITLE, docs: "/docs", guide: "/guide" }),
    ),
    openApi(ramp.publicUrl),
    ...documentation,
  ];
  return [...endpoints, ...SYSTEM_PATHS, ...PAGE_PATHS, ...documents.map(counted)];
}

/** A document: it has a limit by address, and costs no caller a request. */
const counted = (route: RampRoute): RampRoute => ({
  ...route,
  handle: async (exchange) =>
    (await countDocument(exchange.service, exchange.request)) ?? route.handle(exchange),
});

/** The same for everybody: rendered once, at its first request. */
function openApi(publicUrl: string): RampRoute {
  let rendered: RampAnswer | null = null;
  return system(
    "/openapi.json",
    () => (rendered ??= jsonResponse(200, plainJson(openApiDocument(publicUrl, ROUTES)))),
  );
}

const system = (path: string, handle: RampRoute["handle"]): RampRoute => ({
  method: "GET",
  path,
  access: "open",
  operation: null,
  isPage: false,
  handle,
});

const SYSTEM_PATHS: readonly RampRoute[] = [
  system("/health", health),
  { ...system("/metrics", metrics), isForOperators: true },
];

const NOT_MIGRATED =
  "Requests cannot use the database: run `routewright ramp migrate`. The log says what is missing.";

async function health({ service: { ramp, rates } }: RampExchange): Promise<RampAnswer> {
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
async function metrics({ service, request }: RampExchange): Promise<RampAnswer> {
  const { addressOf, metrics } = service;
  const isLocal = isLocalCaller(addressOf, request);
  if (!metrics.isPublic && !isLocal) return rampError("METRICS_FORBIDDEN");
  const body = await (isLocal ? metrics.text() : metrics.recentText());
  return { status: 200, body, headers: { "Content-Type": METRICS_CONTENT_TYPE } };
}

function page(method: HttpMethod, path: string, handle: RampRoute["handle"]): RampRoute {
  return {
    method,
    path,
    access: "public",
    operation: null,
    isPage: true,
    async handle(exchange) {
      const error = await authenticate(exchange.service, "public", exchange.request);
      return isRampError(error) ? error : handle(exchange);
    },
  };
}

const token = ({ parameters }: RampExchange): string => parameters["token"] ?? "";

async function act(exchange: RampExchange): Promise<RampAnswer | null> {
  const { service, request } = exchange;
  const text = await readBodyText(service, request, null);
  if (typeof text !== "string") return text;
  return actOnPage(service.ramp, token(exchange), {
    text,
    contentType: request.headers["content-type"] ?? "",
  });
}

/** For as long as a page may be open while a new version is rolled out. */
const FILE_HEADERS = { "Cache-Control": "public, max-age=300" };

const file = (path: string, type: string, body: string): RampRoute =>
  page("GET", path, () => ({ status: 200, body, headers: { ...FILE_HEADERS, "Content-Type": type } }));

/** The hosted pages, and the files that they load. */
const PAGE_PATHS: readonly RampRoute[] = [
  page("GET", "/onboarding/{token}", (exchange) =>
    showPage(exchange.service.ramp, token(exchange), queryOf(exchange.request).has("leave")),
  ),
  page("POST", "/onboarding/{token}", act),
  page("GET", "/onboarding/{token}/status", (exchange) => pageStatus(exchange.service.ramp, token(exchange))),
  file("/pages/page.js", "text/javascript; charset=utf-8", SCRIPT),
  file("/pages/page.css", "text/css; charset=utf-8", STYLE),
];
