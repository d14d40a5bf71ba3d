import { described, integer, listOf, named, oneOf, openRecord, text, texts } from "../model/schema.js";
import type { Exchange } from "../handler/exchange.js";
import { HELD_BACK, json, jsonAnswer, LIMITED, type Service, type SystemRoute } from "./context.js";
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

export const REFRESH_SCHEMA = openRecord(
  {
    status: oneOf(["reloaded", "unchanged", "error"]),
    models: described("Models in the manifest.", integer),
    endpoints: described("Endpoints served.", integer),
  },
  {
    added: described("New paths.", texts),
    removed: described("Removed paths.", texts),
    changed: described("Paths of changed endpoints.", texts),
    skipped: described(
      "Published models without an endpoint, with the reasons.",
      listOf(openRecord({ model: text, errors: described("Why.", texts) })),
    ),
    held_back: HELD_BACK,
    warnings: described(
      "Effects that an operator should check.",
      listOf(
        openRecord({
          kind: oneOf(["removed", "opened", "skipped", "held_back", "missing_relation"]),
          subject: described("A path, a model, or `schema.name` of a relation.", text),
          reason: text,
        }),
      ),
    ),
    manifest_hash: described("SHA-256 of the active manifest.", text),
    loaded_at: { type: "string", format: "date-time", description: "When it was loaded." },
    detail: described("With `error`: why nothing changed.", text),
  },
);

/** Reads the manifest now. */
async function refresh({ request }: Exchange, service: Service): Promise<Reply> {
  // A body is ignored; unread, it would block the next request of the connection.
  request.resume();
  return json(200, await service.refresh());
}
