import type { DataRoute } from "../../../core/handler/exchange.js";
import {
  type Json,
  type JsonRecord,
  operationObject,
  parametersOf,
  pathsObject,
  plainJson,
  ref,
  responseObject,
} from "../../../core/http/openapi.js";

/** What the OpenAPI document says of these routes, as `paths`. Errors and headers are those of the generated document. */
export function describedPaths(routes: readonly DataRoute[]): Readonly<Record<string, object>> {
  const paths = pathsObject(routes.map((route) => [route.path, route.method, operationIn(route)]));
  return plainJson(paths) as Readonly<Record<string, object>>;
}

function operationIn({ method, path, operation }: DataRoute): Json {
  const { operationId = "", summary = "", description, query, body, responses = [] } = operation ?? {};
  const answers = responses.map(({ status, description: text, mediaType, schema }): [string, Json] => [
    String(status),
    responseObject(text, mediaType, { schema: schema as JsonRecord }, HEADERS),
  ]);
  return operationObject({
    operationId,
    tags: ["System"],
    summary,
    description: [description, "For a tier3 key whose `allowed` names `system`."].filter(Boolean).join(" "),
    extensions: { "x-tier": "tier3" },
    security: [{ ApiKeyAuth: [] }],
    parameters: [
      ...(path.includes("{id}") ? [ID] : []),
      ...(method === "GET" ? parametersOf(query) : [IDEMPOTENCY_KEY]),
    ],
    requestBody: body && { content: { "application/json": { schema: body as unknown as JsonRecord } } },
    responses: [...answers, ...ERRORS],
  });
}

const ID: JsonRecord = { name: "id", in: "path", required: true, schema: { type: "string" } };

const IDEMPOTENCY_KEY: JsonRecord = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "The same request with the same key has the first one's response for a day, and changes nothing.",
  schema: { type: "string", minLength: 1, maxLength: 256 },
};

const HEADERS: JsonRecord = Object.fromEntries(
  [
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "RateLimit",
    "RateLimit-Policy",
    "X-Request-Id",
  ].map((name) => [name, ref("headers", name)]),
);

const ERRORS: readonly (readonly [string, Json])[] = [
  ["400", ref("responses", "BadRequest")],
  ["401", ref("responses", "Unauthorized")],
  ["403", ref("responses", "Forbidden")],
  ["404", ref("responses", "NotFound")],
  ["408", ref("responses", "RequestTimeout")],
  ["413", ref("responses", "ContentTooLarge")],
  ["429", ref("responses", "TooManyRequests")],
  ["500", ref("responses", "InternalServerError")],
  ["503", ref("responses", "ServiceUnavailable")],
];
