import { groupedBy } from "@routewright/runtime/internal/core/model/grouped.js";
import {
  integer,
  oneOf,
  openRecord,
  type Schema,
  time,
} from "@routewright/runtime/internal/core/model/schema.js";
import { EVENT_TYPES, type EventType } from "../webhooks/events.js";
import { EVENT_DATA } from "./event-schemas.js";
import { exampleOf, parameterExample } from "./examples.js";
import { RAMP_ERRORS, type RampErrorCode } from "../core/ramp-errors.js";
import type { ApiRoute, RampAccess } from "./route.js";
import {
  type Json,
  type JsonRecord,
  openApiObject,
  operationObject,
  parametersOf,
  pathsObject,
  responseObject,
} from "@routewright/runtime/internal/core/http/openapi.js";
import { pathParameters } from "../providers/operations.js";
import * as schemas from "./response-schemas.js";

export const TITLE = "Routewright Ramp API";

/** The security schemes of an endpoint, each enough alone. */
const SCHEMES: Readonly<Record<RampAccess, readonly ("project" | "customer")[]>> = {
  project: ["project"],
  customer: ["customer"],
  either: ["project", "customer"],
  provider: [],
  public: [],
};

/** Errors that an endpoint has by its access. */
const ACCESS_ERRORS: Readonly<Record<RampAccess, readonly RampErrorCode[]>> = {
  project: ["INVALID_CREDENTIALS"],
  customer: ["INVALID_TOKEN"],
  either: ["INVALID_CREDENTIALS", "INVALID_TOKEN"],
  provider: [],
  public: [],
};

/** Every endpoint reads its query and its body within limits, even where it uses neither. */
const COMMON_ERRORS: readonly RampErrorCode[] = [
  "INVALID_REQUEST",
  "BODY_TOO_LARGE",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE",
];
const KEY_ERRORS: readonly RampErrorCode[] = [
  "INVALID_IDEMPOTENCY_KEY",
  "IDEMPOTENCY_IN_PROGRESS",
  "IDEMPOTENCY_KEY_REUSED",
];

/** The ramp's own OpenAPI 3.1 document, made from the routes and their schemas. */
export function openApiDocument(publicUrl: string, routes: readonly ApiRoute[]): JsonRecord {
  const document = openApiObject({
    title: TITLE,
    version: "1.0.0",
    description: INTRODUCTION,
    server: publicUrl,
    tags: TAGS.map(([name, about]) => ({ name, description: about })),
    paths: pathsObject(routes.map((route) => [route.path, route.method, operationOf(route)])),
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        project: { type: "http", scheme: "basic", description: "Client id and client secret of a project." },
        customer: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: "Access token of a customer.",
        },
      },
    },
  });
  return { ...document, webhooks: webhooksOf() };
}

/** Who sends which credentials, and the calls of a payment in their order. */
const INTRODUCTION = [
  "Payment intents between bank money and tokens.",
  "",
  "**Guide.** [`/guide`](guide) has the pages of the documentation, as Markdown: [intents](guide/intents.md), [webhooks](guide/webhooks.md), " +
    "[the sandbox](guide/sandbox.md), [errors](guide/errors.md), and for providers [their protocol](guide/provider-protocol.md).",
  "",
  "**Credentials.** A project's server sends client id and secret as HTTP Basic (`project`); keep them off apps and pages. What a customer " +
    "does is called with the customer's access token, `Authorization: Bearer` (`customer`), which `POST /v1/customers` returns. Try it here: Authorize, then each operation.",
  "",
  "**A payment, in order**",
  "",
  "1. `POST /v1/customers`: the customer, with an access token (project).",
  "2. `GET /v1/currencies/supported`: what can be exchanged for what. `GET /v1/intent/requirements`: what both accounts need (project).",
  "3. `GET /v1/intent/quote`: what each provider gives, and its fees (project or customer).",
  "4. `POST /v1/intent`: the payment intent. Send the customer to its `onboardingUrl` (customer).",
  "5. `POST /v1/intent/{id}/transaction`: the payment itself, where `autoExecute` was not set and no hosted page does it (customer).",
  "6. `GET /v1/intent/{id}`, or events by webhook: how far it is (customer).",
  "",
  'A repeated `POST` with the same `Idempotency-Key` does nothing twice. Errors are `{"error", "message"}`; `error` is one of the codes that an operation lists.',
].join("\n");

/** The groups of the documentation, by the first part of the path, in the order of the routes; a test compares them with these. */
const TAGS: readonly (readonly [name: string, description: string])[] = [
  ["customers", "A project's customers, their tokens, external accounts and deposit accounts."],
  ["currencies", "What can be exchanged for what, over which rails, in which countries."],
  ["providers", "Who moves the money."],
  ["intent", "A customer's payments: what they need, what they cost, how they are made and paid."],
  ["intents", "All payments of a project, for its back office: read, cancel, refund, resolve."],
  ["deposit-accounts", "All deposit accounts of a project, for its back office."],
  ["events", "What has happened, in the order of the commits, and its deliveries."],
  ["webhooks", "Addresses that get the project's events."],
  ["auth", "Sign-in with a wallet, whose token stands for the customer's identity."],
  ["provider-callbacks", "For providers: an order has changed."],
];

/** Events as a project's webhooks get them, signed as Standard Webhooks are. */
function webhooksOf(): JsonRecord {
  return Object.fromEntries(
    EVENT_TYPES.map((type) => {
      const content = { "application/json": contentOf(eventOf(type)) };
      const responses = { "2XX": { description: "Received. Anything else is delivered again." } };
      const post: JsonRecord = {
        operationId: type,
        summary: type,
        requestBody: { required: true, content },
        responses,
      };
      return [type, { post }] as const;
    }),
  );
}

function eventOf(type: EventType): Schema {
  return openRecord({ type: oneOf([type]), timestamp: time, sequence: integer, data: EVENT_DATA[type] });
}

function operationOf(route: ApiRoute): JsonRecord {
  const { access, path, operation, run } = route;
  const { operationId, summary, description, query, body, rawBody } = operation;
  const inQuery = parametersOf(query && plain(query));
  return operationObject({
    operationId,
    // The group in the documentation: the first part of the path, such as `customers`.
    tags: [path.split("/")[2] ?? ""],
    summary,
    description,
    security: SCHEMES[access].map((scheme) => ({ [scheme]: [] })),
    parameters: [...pathParameters(path), ...inQuery, ...(run.kind === "once" ? [KEY] : [])].map(withExample),
    requestBody: requestBodyOf(body ?? rawBody),
    responses: responsesOf(route),
  });
}

const KEY: JsonRecord = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  schema: { type: "string", minLength: 1, maxLength: 256 },
};

/** A parameter whose values are listed needs no example. */
function withExample(parameter: JsonRecord): JsonRecord {
  const { name, schema } = parameter as { readonly name: string; readonly schema: object };
  return "enum" in schema ? parameter : { ...parameter, example: parameterExample(name) as Json };
}

function requestBodyOf(schema: Schema | null): JsonRecord | undefined {
  if (schema === null) return undefined;
  const { required = [] } = schema as { readonly required?: readonly string[] };
  return { required: required.length > 0, content: { "application/json": contentOf(schema) } };
}

const REPLAYED: JsonRecord = {
  "X-Idempotency-Replayed": {
    description: "`true` on a repeated answer.",
    schema: { type: "string", enum: ["true"] },
  },
};

function responsesOf(route: ApiRoute): readonly (readonly [string, Json])[] {
  const headers = route.run.kind === "once" ? REPLAYED : undefined;
  const good = route.operation.responses.map(
    ({ status, description, mediaType, schema }) =>
      [
        String(status),
        responseObject(
          description,
          mediaType,
          schema && contentOf(schema, mediaType === "text/plain" ? "nonce" : ""),
          headers,
        ),
      ] as const,
  );
  const byStatus = groupedBy(errorsOf(route), (code) => String(RAMP_ERRORS[code].status));
  return [...good, ...[...byStatus].map(([status, codes]) => [status, errorResponse(codes)] as const)];
}

/** Every error that the endpoint can respond with. */
export function errorsOf({ access, run, operation }: ApiRoute): readonly RampErrorCode[] {
  const { body, errors } = operation;
  const fields = body !== null ? (["UNSUPPORTED_MEDIA_TYPE"] as const) : [];
  const keyed = run.kind === "once" ? KEY_ERRORS : [];
  return [...new Set([...errors, ...fields, ...keyed, ...ACCESS_ERRORS[access], ...COMMON_ERRORS])];
}

function errorResponse(codes: readonly RampErrorCode[]): JsonRecord {
  const schema = {
    allOf: [{ $ref: "#/components/schemas/Error" }, { properties: { error: { enum: codes } } }],
  };
  const meaning = codes.map((code) => `\`${code}\`: ${RAMP_ERRORS[code].when}.`).join(" ");
  const examples = Object.fromEntries(
    codes.map((code) => [code, { value: { error: code, message: RAMP_ERRORS[code].message } }] as const),
  );
  return responseObject(meaning, "application/json", { schema, examples });
}

/** A named schema by reference, with an example. */
function contentOf(schema: Schema, field = ""): JsonRecord {
  const { $id: name } = schema;
  return {
    schema: typeof name !== "string" ? plain(schema) : { $ref: `#/components/schemas/${name}` },
    example: exampleOf(schema, field) as Json,
  };
}

function componentSchemas(): JsonRecord {
  const named = Object.values(schemas as Readonly<Record<string, Schema>>).filter(
    ({ $id }) => $id !== undefined,
  );
  return {
    ...Object.fromEntries(named.map((schema) => [String(schema["$id"]), plain(schema)] as const)),
    Error: ERROR,
  };
}

const ERROR: JsonRecord = {
  type: "object",
  required: ["error", "message"],
  properties: {
    error: { type: "string", enum: Object.keys(RAMP_ERRORS) },
    message: { type: "string" },
    details: {
      type: "array",
      items: {
        type: "object",
        required: ["path", "message"],
        properties: { path: { type: "string" }, message: { type: "string" } },
      },
    },
  },
};

/** A schema as OpenAPI has it: formats of our own are left to their patterns. */
function plain(schema: Schema): JsonRecord {
  const text = JSON.stringify(schema, (key, value: unknown): unknown => {
    if (key === "$id") return undefined;
    return key === "format" && value === "redirect-url" ? "uri" : value;
  });
  return JSON.parse(text) as JsonRecord;
}
