import { described, HELD_BACK, INTEGER, listOf, named, oneOf, record, TEXT, texts } from "../model/schema.js";
import type { Exchange } from "../handler/exchange.js";
import { json, jsonAnswer, LIMITED, type Service, type SystemRoute } from "./context.js";
import type { Reply } from "../http/send.js";

export const REFRESH: SystemRoute = {
  method: "POST",
  path: "/v1/system/manifest/refresh",
  access: { ...LIMITED, tier: "tier3" },
  operation: {
    operationId: "system_manifest_refresh",
    summary: "Refresh the manifest",
    description:
      "Reads the manifest now and updates the endpoints. A manifest that cannot be read changes nothing.",
    responses: [jsonAnswer("The result of the refresh.", named("Refresh"))],
  },
  handle: refresh,
};

export const REFRESH_SCHEMA = record(
  {
    status: oneOf(["reloaded", "unchanged", "error"]),
    models: described(INTEGER, "Models in the manifest."),
    endpoints: described(INTEGER, "Endpoints served."),
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
        kind: oneOf(["removed", "opened", "skipped", "held_back", "missing_relation"]),
        subject: described(TEXT, "A path, a model, or `schema.name` of a relation."),
        reason: TEXT,
      },
      "Effects that an operator should check.",
    ),
    manifest_hash: described(TEXT, "SHA-256 of the active manifest."),
    loaded_at: { type: "string", format: "date-time", description: "When it was loaded." },
    detail: described(TEXT, "With `error`: why nothing changed."),
  },
);

/** Reads the manifest now. */
async function refresh({ request }: Exchange, service: Service): Promise<Reply> {
  // A body is ignored; unread, it would block the next request of the connection.
  request.resume();
  return json(200, await service.refresh());
}
