import type { Schema } from "../model/schema.js";

/** `QUERY` (RFC 10008) has no operation in OpenAPI 3.1. */
export type HttpMethod = "GET" | "POST" | "QUERY" | "PATCH" | "DELETE";

/** JSON whose keys have an order. Texts of a manifest are keys of a `Map`: an object would move "2024" to the front. */
export type Json = string | number | boolean | null | readonly Json[] | JsonRecord | JsonMap;
export interface JsonRecord {
  readonly [key: string]: Json;
}
export type JsonMap = ReadonlyMap<string, Json>;

/** The successful response of a route. */
export interface DescribedResponse {
  readonly status: number;
  readonly description: string;
  readonly mediaType: string;
  /** Null: no content. */
  readonly schema: Schema | null;
}

/** What a document says of a route, beside its path, its method and who may call it. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string | undefined;
  /** Schema of the parameters in the query string, as an object. */
  readonly query?: Schema | null;
  readonly body?: Schema | null;
  readonly responses: readonly DescribedResponse[];
  /** What is said of `QUERY` at the same path, for which OpenAPI 3.1 has no operation. */
  readonly queryMethod?: string;
}

/** An operation object (OpenAPI 3.1) before its keys are in order. */
export interface OperationParts {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string | undefined;
  readonly deprecated?: boolean;
  /** Specification extensions. */
  readonly extensions?: Readonly<Record<`x-${string}`, Json>>;
  readonly security: Json;
  readonly parameters?: readonly Json[] | undefined;
  readonly requestBody?: Json | undefined;
  /** By status, in any order. */
  readonly responses: readonly (readonly [status: string, Json])[];
}

/** Writes an operation object. */
export function operationObject(parts: OperationParts): JsonRecord {
  const { operationId, tags, summary, description, deprecated, extensions, security, parameters } = parts;
  const { requestBody, responses } = parts;
  return {
    operationId,
    tags,
    summary,
    ...(description !== undefined && { description }),
    ...(deprecated === true && { deprecated }),
    ...extensions,
    security,
    ...(parameters !== undefined && { parameters }),
    ...(requestBody !== undefined && { requestBody }),
    responses: new Map([...responses].sort(([a], [b]) => Number(a) - Number(b))),
  };
}

/** Writes the operations of a service as `paths`, in the order in which their paths come first. */
export function pathsObject(
  operations: Iterable<readonly [path: string, method: HttpMethod, operation: Json]>,
): JsonMap {
  const paths = new Map<string, Map<string, Json>>();
  for (const [path, method, operation] of operations) {
    const item = paths.get(path) ?? new Map<string, Json>();
    paths.set(path, item.set(method.toLowerCase(), operation));
  }
  return paths;
}

/** The parameters that an object's schema describes. */
export function parametersOf(schema: Schema | null | undefined): readonly JsonRecord[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, JsonRecord>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: "query",
    ...(required.includes(name) && { required: true }),
    ...(description !== undefined && { description }),
    schema: rest,
  }));
}

/** A response object with content of one media type. */
export function responseObject(
  description: string,
  mediaType: string,
  content: JsonRecord | null,
  headers?: JsonRecord,
): JsonRecord {
  return {
    description,
    ...(headers !== undefined && { headers }),
    ...(content !== null && { content: { [mediaType]: content } }),
  };
}

/** A reference to a component. */
export function ref(kind: "headers" | "responses" | "schemas", name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** A document before its keys are in order. */
interface OpenApiParts {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  /** Further members of `info`. */
  readonly info?: JsonRecord;
  readonly server: string;
  /** Extensions after `openapi`. */
  readonly extensions?: Readonly<Record<`x-${string}`, Json>>;
  readonly tags?: readonly Json[];
  /** The groups of Redoc's menu. */
  readonly tagGroups?: readonly Json[];
  readonly paths: JsonMap;
  readonly components: JsonRecord;
}

/** Writes an OpenAPI 3.1 document. */
export function openApiObject(parts: OpenApiParts) {
  const { title, version, description, info, server, extensions, tags, tagGroups, paths, components } = parts;
  return {
    openapi: "3.1.0",
    ...extensions,
    info: { title, version, description, ...info },
    servers: [{ url: server }],
    ...(tags !== undefined && { tags }),
    ...(tagGroups !== undefined && { "x-tagGroups": tagGroups }),
    paths,
    components,
  } satisfies JsonRecord;
}

/** A value without maps, as `JSON.stringify` takes it. */
export function plainJson(value: Json): unknown {
  if (value instanceof Map)
    return Object.fromEntries([...(value as JsonMap)].map(([key, item]) => [key, plainJson(item)]));
  if (Array.isArray(value)) return value.map((item) => plainJson(item as Json));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plainJson(item as Json)]));
}
