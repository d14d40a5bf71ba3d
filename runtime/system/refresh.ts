import {
  HELD_BACK,
  jsonAnswer,
  listOf,
  named,
  record,
  type Schema,
  type SystemEndpoint,
  TEXT,
  texts,
} from "./operation.js";
import { type Context, json } from "./context.js";
import type { Reply } from "../response/send.js";

export const REFRESH: SystemEndpoint = {
  path: "/v1/system/manifest/refresh",
  method: "post",
  operationId: "system_manifest_refresh",
  summary: "Refresh the manifest",
  description:
    "Reads the manifest now and updates the endpoints. A manifest that cannot be read changes nothing.",
  tier: "tier3",
  kind: "limited",
  responses: { 200: jsonAnswer("The result of the refresh.", named("Refresh")) },
};

export const REFRESH_SCHEMA: Schema = record(
  {
    status: { type: "string", enum: ["reloaded", "unchanged", "error"] },
    models: { type: "integer", description: "Models in the manifest." },
    endpoints: { type: "integer", description: "Endpoints served." },
  },
  {
    added: texts("New paths."),
    removed: texts("Removed paths."),
    changed: texts("Paths of changed endpoints."),
    skipped: listOf(
      { model: TEXT, errors: texts("Why.") },
      "Published models without an endpoint, with the reasons.",
    ),
    held_back: HELD_BACK,
    warnings: listOf(
      {
        kind: {
          type: "string",
          enum: ["removed", "opened", "skipped", "held_back", "missing_relation"],
        },
        subject: { type: "string", description: "A path, a model, or `schema.name` of a relation." },
        reason: TEXT,
      },
      "Effects that an operator should check.",
    ),
    manifest_hash: { type: "string", description: "SHA-256 of the active manifest." },
    loaded_at: { type: "string", format: "date-time", description: "When it was loaded." },
    detail: { type: "string", description: "With `error`: why nothing changed." },
  },
);

/** Reads the manifest now. */
export async function refresh({ service, request }: Context): Promise<Reply> {
  // A body is ignored; unread, it would block the next request of the connection.
  request.resume();
  return json(200, await service.refresh());
}
