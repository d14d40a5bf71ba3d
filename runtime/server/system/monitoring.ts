import { ROUTES } from "../../core/handler/system-routes.js";
import { isLocalCaller } from "../../core/http/headers.js";
import { originProblem } from "../../core/http/origins.js";
import { httpError, type HttpError } from "../../core/model/errors.js";
import type { Reply } from "../../core/http/send.js";
import type { Exchange } from "../../core/handler/exchange.js";
import { json, type Service, type SystemRoute } from "./context.js";

export const STATUS: SystemRoute = {
  ...ROUTES.status,
  handle: status,
};

function status({ gateway, request }: Exchange, service: Service): Reply {
  const { prefix } = gateway.publicAddressOf(request);
  return json(200, { status: "online", service: service.title, docs: `${prefix}/docs` });
}

export const HEALTH: SystemRoute = {
  ...ROUTES.health,
  handle: health,
};

/** In two forms: names of relations, paths and columns are for operators, everybody else gets their number. */
async function health(exchange: Exchange, service: Service): Promise<Reply> {
  const { gateway } = exchange;
  const connected = await gateway.warehouse.isReachable();
  const degraded = [gateway.rates.degraded, gateway.warehouse.degraded, ...service.degraded()];
  const missingRelations = service.missingRelations();
  const details = [...degraded, ...missingRelations.map(service.reasonMissing)].filter(
    (text) => text !== null,
  );
  const lists = {
    missing_relations: missingRelations,
    missing_columns: service.missingColumns(),
    failing_endpoints: service.failingEndpoints(),
    stale_copies: service.staleCopies(),
    late_endpoints: service.lateEndpoints(),
    late_nodes: service.lateNodes(),
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
function isForOperator(exchange: Exchange, { metricsPublic, origins }: Service): boolean {
  if (originProblem(origins, exchange.request) !== null) return false;
  return metricsPublic || isOperator(exchange);
}

function isOperator({ gateway, request, context: { caller } }: Exchange): boolean {
  return (caller.tier === "tier3" && caller.allowed === null) || isLocalCaller(gateway.addressOf, request);
}

export const METRICS: SystemRoute = {
  ...ROUTES.metrics,
  handle: metrics,
};

/** For loopback callers and tier3 keys (runtime/docs/operations.md). */
async function metrics(exchange: Exchange, service: Service): Promise<Reply | HttpError> {
  if (!isForOperator(exchange, service)) return refusalOf(exchange, service);
  const { contentType, text, recentText } = service.metrics;
  const body = await (isOperator(exchange) ? text() : recentText());
  return { status: 200, body, headers: { "Content-Type": contentType } };
}

function refusalOf({ request }: Exchange, { origins }: Service): HttpError {
  const problem = originProblem(origins, request);
  return problem === "Host" || problem === "Origin"
    ? httpError("hostNotLocal", { header: problem })
    : httpError("metricsForbidden");
}
