import { countAttention } from "../intents/intent-rows.js";
import type { RampContext } from "../context.js";
import type { AuthenticationContext } from "./authenticate.js";
import type { Request } from "express";
import { isLocalCaller } from "../../http/client-address.js";
import { type RampResponse, jsonResponse, rampError, type RampError } from "../ramp-errors.js";
import { openApiDocument } from "./openapi.js";

export const TITLE = "Routewright Ramp API";

export interface ApiServices {
  readonly ramp: RampContext;
  readonly gate: AuthenticationContext;
  readonly metricsPublic: boolean;
}

/** A public path of the service itself, as on the data API. */
export interface SystemPath {
  readonly path: string;
  readonly handle: (service: ApiServices, request: Request) => Promise<RampResponse | RampError>;
}

export const SYSTEM_PATHS: readonly SystemPath[] = [
  {
    path: "/",
    handle: () => Promise.resolve(jsonResponse(200, { status: "online", service: TITLE, docs: "/docs" })),
  },
  { path: "/health", handle: health },
  {
    path: "/openapi.json",
    handle: ({ ramp }) => Promise.resolve(jsonResponse(200, openApiDocument(ramp.publicUrl))),
  },
  { path: "/metrics", handle: metrics },
];

async function health({ ramp }: ApiServices): Promise<RampResponse> {
  const connected = await ramp.database.isReachable();
  return jsonResponse(connected ? 200 : 503, {
    status: connected ? "ok" : "unavailable",
    database_connected: connected,
  });
}

/** Open to this machine; a forwarded request comes from elsewhere. */
async function metrics(
  { ramp, gate, metricsPublic }: ApiServices,
  request: Request,
): Promise<RampResponse | RampError> {
  const isLocal = isLocalCaller(gate.addressOf, request);
  if (!metricsPublic && !isLocal) return rampError("METRICS_FORBIDDEN");
  const body = await ramp.metrics.text(await ramp.database.asOperator(countAttention));
  return { status: 200, body, headers: { "Content-Type": ramp.metrics.contentType } };
}
