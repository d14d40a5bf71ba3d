import { isLocalCaller } from "../http/headers.js";
import { originProblem } from "../http/origins.js";
import { httpError, type HttpError } from "../model/errors.js";
import type { Reply } from "../http/send.js";
import type { Exchange } from "../handler/exchange.js";
import {
  DOCUMENT,
  HELD_BACK,
  json,
  jsonAnswer,
  type Service,
  type SystemRoute,
  textAnswer,
  UNLIMITED,
} from "./context.js";
import { described, flag, integer, named, oneOf, openRecord, text, texts } from "../model/schema.js";

export const STATUS: SystemRoute = {
  method: "GET",
  path: "/",
  access: DOCUMENT,
  operation: {
    operationId: "system_status",
    summary: "Service status",
    description: "Status of the service, and the path of its documentation.",
    responses: [jsonAnswer("The service is online.", named("ServiceStatus"))],
  },
  handle: status,
};

export const STATUS_SCHEMA = openRecord({
  status: oneOf(["online"]),
  service: described("Title of the API.", text),
  docs: described("Path of the interactive documentation.", text),
});

function status({ gateway, request }: Exchange, service: Service): Reply {
  const { prefix } = gateway.publicAddressOf(request);
  return json(200, { status: "online", service: service.title, docs: `${prefix}/docs` });
}

export const HEALTH: SystemRoute = {
  method: "GET",
  path: "/health",
  access: UNLIMITED,
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

export const HEALTH_SCHEMA = openRecord(
  {
    status: oneOf(["ok", "degraded", "unavailable"]),
    database_connected: flag,
  },
  {
    missing_relations: described(
      "Relations of endpoints that the database does not have, as `schema.name`.",
      texts,
    ),
    missing_columns: described(
      "Columns of endpoints that their relations lack, or have several that the name may mean, as `path: column`.",
      texts,
    ),
    failing_endpoints: described(
      "Paths of endpoints whose every request fails while the database responds: the last three or more, in the last ten minutes.",
      texts,
    ),
    stale_copies: described(
      "Relations whose copy is older than the last build of its source, as `schema.name`.",
      texts,
    ),
    held_back: HELD_BACK,
    counts: described(
      "For callers who get no names: how many there are of each.",
      openRecord(
        {},
        {
          ...{ missing_relations: integer, missing_columns: integer, failing_endpoints: integer },
          ...{ stale_copies: integer, held_back: integer },
        },
      ),
    ),
    detail: described("What is degraded; absent when everything works.", text),
  },
);

/** In two forms: names of relations, paths and columns are for operators, everybody else gets their number. */
async function health(exchange: Exchange, service: Service): Promise<Reply> {
  const { gateway } = exchange;
  const connected = await gateway.warehouse.isReachable();
  const degraded = [gateway.rates.degraded, gateway.warehouse.degraded, service.refreshDegraded()];
  const missingRelations = service.missingRelations();
  const details = [...degraded, ...missingRelations.map(service.reasonMissing)].filter(
    (text) => text !== null,
  );
  const lists = {
    missing_relations: missingRelations,
    missing_columns: service.missingColumns(),
    failing_endpoints: service.failingEndpoints(),
    stale_copies: service.staleCopies(),
    held_back: service.heldBack(),
  };
  const named = Object.entries(lists).filter(([, { length }]) => length > 0);
  const counts = Object.fromEntries(named.map(([name, { length }]) => [name, length]));
  const lacking = [missingRelations, lists.missing_columns, lists.failing_endpoints, details];
  const isComplete = lacking.every(({ length }) => length === 0);
  exchange.isForOperators = isForOperator(exchange, service);
  return json(connected ? 200 : 503, {
    status: connected ? (isComplete ? "ok" : "degraded") : "unavailable",
    database_connected: connected,
    ...(exchange.isForOperators
      ? { ...Object.fromEntries(named), ...(details.length > 0 && { detail: details.join(" ") }) }
      : named.length > 0 && { counts }),
  });
}

/** Callers of this machine and of tier3, and everybody with METRICS_PUBLIC; no page of another origin. */
function isForOperator(
  { gateway, request, context: { caller } }: Exchange,
  { metricsPublic, origins }: Service,
): boolean {
  if (originProblem(origins, request) !== null) return false;
  const isOperator = caller.tier === "tier3" && caller.allowed === null;
  return metricsPublic || isOperator || isLocalCaller(gateway.addressOf, request);
}

export const METRICS: SystemRoute = {
  method: "GET",
  path: "/metrics",
  access: { ...UNLIMITED, isForOperators: true },
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
async function metrics(exchange: Exchange, service: Service): Promise<Reply | HttpError> {
  if (!isForOperator(exchange, service)) return refusalOf(exchange, service);
  const headers = { "Content-Type": service.metrics.contentType };
  return { status: 200, body: await service.metrics.text(), headers };
}

function refusalOf({ request }: Exchange, { origins }: Service): HttpError {
  const problem = originProblem(origins, request);
  return problem === "Host" || problem === "Origin"
    ? httpError("hostNotLocal", { header: problem })
    : httpError("metricsForbidden");
}
