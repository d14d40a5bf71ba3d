import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "vitest";
import { COMPILED_ONCE } from "./compiled-once.js";

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { schema: unknown }>> }>
  >;
}

/**
 * Sends a request to a running server and checks its JSON answer against the server's own OpenAPI document, in which every
 * member of the answer must be described. Returns the answer.
 */
export async function described(
  url: string,
  method: "GET" | "POST",
  path: string,
  key?: string,
): Promise<unknown> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
  const headers: Record<string, string> = key === undefined ? {} : { "X-API-Key": key };
  const response = await fetch(url + path, { method, headers });
  const body: unknown = await response.json();
  const answer = document.paths[path]?.[method.toLowerCase()]?.responses[response.status];
  expect(answer, `${method} ${path} ${String(response.status)}`).toBeDefined();
  const ajv = new Ajv2020({ ...COMPILED_ONCE, strict: false, allErrors: true });
  addFormats.default(ajv);
  const schema = closed({
    ...(answer?.content["application/json"]?.schema as object),
    components: document.components,
  });
  const validate = ajv.compile(schema as object);
  validate(body);
  expect(validate.errors, `${method} ${path}`).toBeNull();
  return body;
}

/** The schema without members that it does not name. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const inside = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  const isOpen = !("properties" in schema) || "additionalProperties" in schema;
  return isOpen ? inside : { ...inside, additionalProperties: false };
}
