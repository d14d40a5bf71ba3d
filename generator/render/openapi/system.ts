import { SYSTEM_ENDPOINTS, type SystemEndpoint } from "@routewright/runtime/model";
import type { Json, JsonMap, JsonRecord } from "./json-text.js";
import { securityOf } from "./operation.js";
import { errorReferences, response } from "./responses.js";

/** Tag of the system endpoints; categories are in lower case and cannot equal it. */
export const SYSTEM_TAG = "System";

/** The path items of the system endpoints. */
export function systemPaths(): JsonMap {
  return new Map(
    SYSTEM_ENDPOINTS.map((endpoint) => [endpoint.path, { [endpoint.method]: systemOperation(endpoint) }]),
  );
}

/** A key must be valid even where none is required: public operations have the key errors too. */
function systemOperation({
  operationId,
  summary,
  description,
  tier,
  kind,
  parameters,
  responses,
}: SystemEndpoint): JsonRecord {
  const answers = Object.entries(responses).map(
    ([status, { description, mediaType, schema }]): [string, Json] => [
      status,
      response(description, mediaType, { schema: schema as JsonRecord }),
    ],
  );
  const all = [...answers, ...errorReferences(kind)];
  return {
    operationId,
    tags: [SYSTEM_TAG],
    summary,
    description,
    "x-tier": tier,
    security: securityOf(kind === "limited" ? tier : "tier0"),
    ...(parameters && { parameters: parameters as readonly JsonRecord[] }),
    responses: new Map(all.sort(([a], [b]) => Number(a) - Number(b))),
  };
}
