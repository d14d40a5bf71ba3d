import { jsonAnswer, named, OPEN, record, type Schema, type SystemEndpoint } from "./operation.js";
import { type Context, json } from "./context.js";
import type { Reply } from "../response/send.js";

export const STATUS: SystemEndpoint = {
  ...OPEN,
  path: "/",
  operationId: "system_status",
  summary: "Service status",
  description: "Status of the service, and the path of its documentation.",
  responses: { 200: jsonAnswer("The service is online.", named("ServiceStatus")) },
};

export const STATUS_SCHEMA: Schema = record({
  status: { type: "string", enum: ["online"] },
  service: { type: "string", description: "Title of the API." },
  docs: { type: "string", description: "Path of the interactive documentation." },
});

export function status({ service }: Context): Reply {
  return json(200, { status: "online", service: service.title, docs: "/docs" });
}
