import type { ApiServices, PublicPath } from "./handle-request.js";
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
import { jsonResponse, type RampError, rampError, type RampResponse } from "../core/ramp-errors.js";
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

async function health({ ramp, authentication }: ApiServices): Promise<RampResponse> {
  const { isConnected, isWritable } = await ramp.database.reach();
  const detail = authentication.rates.degraded;
  return jsonResponse(isWritable ? 200 : 503, {
    status: isWritable ? (detail === null ? "ok" : "degraded") : "unavailable",
    database_connected: isConnected,
    ...(isConnected && !isWritable && { database_writable: false }),
    ...(detail !== null && { detail }),
  });
}

/** Open to this machine only, unless METRICS_PUBLIC is set; a forwarded request counts as remote. */
async function metrics(
  { ramp, authentication, metricsPublic }: ApiServices,
  request: Request,
): Promise<RampResponse | RampError> {
  const isLocal = isLocalCaller(authentication.addressOf, request);
  if (!metricsPublic && !isLocal) return rampError("METRICS_FORBIDDEN");
  const body = await ramp.metrics.text(await ramp.database.asOperator(readBacklog));
  return { status: 200, body, headers: { "Content-Type": ramp.metrics.registry.contentType } };
}
