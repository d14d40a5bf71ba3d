import type { TSchema } from "@sinclair/typebox";
import { RAMP_ERRORS, type RampErrorCode } from "../core/ramp-errors.js";
import type { Access, Route } from "./route.js";
import { pathParameters } from "../providers/operations.js";
import * as schemas from "./response-schemas.js";

type Json = Readonly<Record<string, unknown>>;

export const TITLE = "Routewright Ramp API";

/** Errors that an endpoint has by its access. */
const ACCESS_ERRORS: Readonly<Record<Access, readonly RampErrorCode[]>> = {
  project: ["INVALID_CREDENTIALS"],
  customer: ["INVALID_TOKEN"],
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
export function openApiDocument(publicUrl: string, routes: readonly Route[]): Json {
  return {
    openapi: "3.1.0",
    info: { title: TITLE, version: "1.0.0", description: "Payment intents between bank money and tokens." },
    servers: [{ url: publicUrl }],
    paths: pathsOf(routes),
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
  };
}

function pathsOf(routes: readonly Route[]): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  return paths;
}

function operationOf(route: Route): Json {
  const { access, summary, description, body, rawBody } = route;
  return {
    operationId: operationId(route),
    tags: [tagOf(route.path)],
    summary,
    ...(description === undefined ? {} : { description }),
    security: access === "project" || access === "customer" ? [{ [access]: [] }] : [],
    parameters: parametersOf(route),
    ...requestBodyOf(body ?? rawBody ?? null),
    responses: responsesOf(route),
  };
}

function requestBodyOf(schema: TSchema | null): Json {
  if (schema === null) return {};
  const required = Object.keys(schema["properties"] as object).length > 0;
  return { requestBody: { required, content: jsonContent(schema) } };
}

/** The group in the documentation: the first part of the path, such as `customers`. */
function tagOf(path: string): string {
  return path.split("/")[2] ?? "";
}

function operationId({ method, path }: Route): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== "" && word !== "v1");
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

function parametersOf({ path, query, run }: Route): readonly Json[] {
  const properties = (query?.["properties"] ?? {}) as Record<string, TSchema>;
  const required = (query?.["required"] ?? []) as readonly string[];
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema: plain(schema),
  }));
  const key = {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    schema: { type: "string", minLength: 1, maxLength: 256 },
  };
  return [...pathParameters(path), ...inQuery, ...(run.kind === "once" ? [key] : [])];
}

function responsesOf(route: Route): Json {
  const { response, run } = route;
  const replayed = {
    "X-Idempotency-Replayed": {
      description: "`true` on a repeated answer.",
      schema: { type: "string", enum: ["true"] },
    },
  };
  const good = {
    description: response.description,
    ...(run.kind === "once" ? { headers: replayed } : {}),
    ...(response.schema === null ? {} : { content: contentOf(route, response.schema) }),
  };
  const byStatus = new Map<number, RampErrorCode[]>();
  for (const code of errorsOf(route))
    byStatus.set(RAMP_ERRORS[code].status, [...(byStatus.get(RAMP_ERRORS[code].status) ?? []), code]);
  const bad = [...byStatus]
    .sort(([left], [right]) => left - right)
    .map(([status, codes]) => [String(status), errorResponse(codes)] as const);
  return { [String(response.status)]: good, ...Object.fromEntries(bad) };
}

function contentOf(route: Route, schema: TSchema): Json {
  return route.response.description.includes("text/plain")
    ? { "text/plain": { schema: plain(schema) } }
    : jsonContent(schema);
}

/** Every error that the endpoint can respond with. */
export function errorsOf({ access, body, run, errors }: Route): readonly RampErrorCode[] {
  const fields = body !== null ? (["UNSUPPORTED_MEDIA_TYPE"] as const) : [];
  const keyed = run.kind === "once" ? KEY_ERRORS : [];
  return [...new Set([...errors, ...fields, ...keyed, ...ACCESS_ERRORS[access], ...COMMON_ERRORS])];
}

function errorResponse(codes: readonly RampErrorCode[]): Json {
  const schema = {
    allOf: [{ $ref: "#/components/schemas/Error" }, { properties: { error: { enum: codes } } }],
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${RAMP_ERRORS[code].when}.`).join(" "),
    content: { "application/json": { schema } },
  };
}

function jsonContent(schema: TSchema): Json {
  const reference = { $ref: `#/components/schemas/${schema.$id ?? ""}` };
  return { "application/json": { schema: schema.$id === undefined ? plain(schema) : reference } };
}

function componentSchemas(): Json {
  const named = Object.values(schemas as Readonly<Record<string, TSchema>>).filter(
    ({ $id }) => $id !== undefined,
  );
  return {
    ...Object.fromEntries(named.map((schema) => [schema.$id ?? "", plain(schema)] as const)),
    Error: ERROR,
  };
}

const ERROR: Json = {
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

/** A schema as OpenAPI has it: references point into the document, and formats of our own are left to their patterns. */
function plain(schema: TSchema): Json {
  const text = JSON.stringify(schema, (key, value: unknown): unknown => {
    if (key === "$id") return undefined;
    if (key === "$ref") return `#/components/schemas/${String(value)}`;
    return key === "format" && value === "redirect-url" ? "uri" : value;
  });
  return JSON.parse(text) as Json;
}
