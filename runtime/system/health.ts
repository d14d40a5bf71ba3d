import {
  HELD_BACK,
  jsonAnswer,
  named,
  OPEN,
  record,
  type Schema,
  type SystemEndpoint,
  texts,
} from "./operation.js";
import { type Context, json } from "./context.js";
import type { Reply } from "../response/send.js";

export const HEALTH: SystemEndpoint = {
  ...OPEN,
  path: "/health",
  operationId: "system_health",
  summary: "Readiness",
  description: "Readiness: 503 while the database is unreachable.",
  responses: {
    200: jsonAnswer("Ready.", named("Health")),
    503: jsonAnswer("The database is unreachable.", named("Health")),
  },
};

export const HEALTH_SCHEMA: Schema = record(
  {
    status: { type: "string", enum: ["ok", "degraded", "unavailable"] },
    database_connected: { type: "boolean" },
  },
  {
    missing_relations: texts("Relations of endpoints that the database does not have, as `schema.name`."),
    held_back: HELD_BACK,
    detail: { type: "string", description: "What is degraded; absent when everything works." },
  },
);

export async function health({ gateway, service }: Context): Promise<Reply> {
  const connected = await gateway.warehouse.isReachable();
  const degraded = [gateway.rates.degraded, gateway.warehouse.degraded, service.refreshDegraded()];
  const details = degraded.filter((text) => text !== null);
  const missingRelations = service.missingRelations();
  const heldBack = service.heldBack();
  return json(connected ? 200 : 503, {
    status: connected ? (missingRelations.length + details.length > 0 ? "degraded" : "ok") : "unavailable",
    database_connected: connected,
    ...(missingRelations.length > 0 && { missing_relations: missingRelations }),
    ...(heldBack.length > 0 && { held_back: heldBack }),
    ...(details.length > 0 && { detail: details.join(" ") }),
  });
}
