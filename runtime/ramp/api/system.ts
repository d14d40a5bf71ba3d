import type { Request } from "express";
import { isLoopback } from "../../http/client-address.js";
import { type Answer, json } from "./answer.js";
import type { Service } from "./app.js";
import { TITLE } from "./app.js";
import { refuse, type Refusal } from "./errors.js";
import { openApiDocument } from "./openapi.js";

/** A public path of the service itself, as on the data API. */
export interface SystemPath {
  readonly path: string;
  readonly handle: (service: Service, request: Request) => Promise<Answer | Refusal>;
}

export const SYSTEM_PATHS: readonly SystemPath[] = [
  {
    path: "/",
    handle: () => Promise.resolve(json(200, { status: "online", service: TITLE, docs: "/docs" })),
  },
  { path: "/health", handle: health },
  {
    path: "/openapi.json",
    handle: ({ ramp }) => Promise.resolve(json(200, openApiDocument(ramp.publicUrl))),
  },
  { path: "/metrics", handle: metrics },
];

async function health({ ramp }: Service): Promise<Answer> {
  const connected = await ramp.database.isReachable();
  return json(connected ? 200 : 503, {
    status: connected ? "ok" : "unavailable",
    database_connected: connected,
  });
}

/** Open to this machine; a forwarded request comes from elsewhere. */
async function metrics(
  { gate, metrics: shown, metricsPublic }: Service,
  request: Request,
): Promise<Answer | Refusal> {
  const isLocal = isLoopback(gate.addressOf(request)) && request.headers["x-forwarded-for"] === undefined;
  if (!metricsPublic && !isLocal) return refuse("METRICS_FORBIDDEN");
  return { status: 200, body: await shown.text(), headers: { "Content-Type": shown.contentType } };
}
