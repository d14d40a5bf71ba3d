import { isLocalCaller } from "../http/headers.js";
import { httpError, type HttpError } from "../model/errors.js";
import type { Reply } from "../http/send.js";
import type { Exchange } from "../handler/exchange.js";
import { json, jsonAnswer, OPEN, type Service, type SystemRoute, textAnswer } from "./context.js";
import { described, FLAG, HELD_BACK, named, oneOf, record, TEXT, texts } from "../model/schema.js";

export const STATUS: SystemRoute = {
  method: "GET",
  path: "/",
  access: OPEN,
  operation: {
    operationId: "system_status",
    summary: "Service status",
    description: "Status of the service, and the path of its documentation.",
    responses: [jsonAnswer("The service is online.", named("ServiceStatus"))],
  },
  handle: status,
};

export const STATUS_SCHEMA = record({
  status: oneOf(["online"]),
  service: described(TEXT, "Title of the API."),
  docs: described(TEXT, "Path of the interactive documentation."),
});

function status({ gateway, request }: Exchange, service: Service): Reply {
  const { prefix } = gateway.publicAddressOf(request);
  return json(200, { status: "online", service: service.title, docs: `${prefix}/docs` });
}

export const HEALTH: SystemRoute = {
  method: "GET",
  path: "/health",
  access: OPEN,
  operation: {
    operationId: "system_health",
    summary: "Readiness",
    description: "Readiness: 503 while the database is unreachable.",
    responses: [
      jsonAnswer("Ready.", named("Health")),
      jsonAnswer("The database is unreachable.", named("Health"), 503),
    ],
  },
  handle: health,
};

export const HEALTH_SCHEMA = record(
  {
    status: oneOf(["ok", "degraded", "unavailable"]),
    database_connected: FLAG,
  },
  {
    missing_relations: texts("Relations of endpoints that the database does not have, as `schema.name`."),
    missing_columns: texts(
      "Columns of endpoints that their relations lack, or have several that the name may mean, as `path: column`.",
    ),
    held_back: HELD_BACK,
    detail: described(TEXT, "What is degraded; absent when everything works."),
  },
);

async function health({ gateway }: Exchange, service: Service): Promise<Reply> {
  const connected = await gateway.warehouse.isReachable();
  const degraded = [gateway.rates.degraded, gateway.warehouse.degraded, service.refreshDegraded()];
  const missingRelations = service.missingRelations();
  const details = [...degraded, ...missingRelations.map(service.reasonMissing)].filter(
    (text) => text !== null,
  );
  const missingColumns = service.missingColumns();
  const heldBack = service.heldBack();
  const isComplete = missingRelations.length + missingColumns.length + details.length === 0;
  return json(connected ? 200 : 503, {
    status: connected ? (isComplete ? "ok" : "degraded") : "unavailable",
    database_connected: connected,
    ...(missingRelations.length > 0 && { missing_relations: missingRelations }),
    ...(missingColumns.length > 0 && { missing_columns: missingColumns }),
    ...(heldBack.length > 0 && { held_back: heldBack }),
    ...(details.length > 0 && { detail: details.join(" ") }),
  });
}

export const METRICS: SystemRoute = {
  method: "GET",
  path: "/metrics",
  access: OPEN,
  operation: {
    operationId: "system_metrics",
    summary: "Metrics",
    description:
      "Metrics for Prometheus. Loopback callers need no key; METRICS_PUBLIC=true opens them to all callers.",
    tier: "tier3",
    responses: [textAnswer("Metrics in the Prometheus text format.", "text/plain")],
  },
  handle: metrics,
};

/** For loopback callers and tier3 keys (runtime/docs/operations.md). */
async function metrics(
  { gateway, request, context: { caller } }: Exchange,
  service: Service,
): Promise<Reply | HttpError> {
  const isLocal = isLocalCaller(gateway.addressOf, request);
  if (!service.metricsPublic && !isLocal && (caller.tier !== "tier3" || caller.allowed !== null))
    return httpError("metricsForbidden");
  const headers = { "Content-Type": service.metrics.contentType };
  return { status: 200, body: await service.metrics.text(), headers };
}
