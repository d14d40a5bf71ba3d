/** What the description of a system endpoint is made of. Light on purpose: the generator imports it. */
import type { Tier } from "../model/tier.js";

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

interface Answer {
  readonly description: string;
  readonly mediaType: string;
  readonly schema: Schema;
}

/** A system endpoint as the OpenAPI document describes it. */
export interface SystemEndpoint {
  readonly path: string;
  readonly method: "get" | "post";
  /** Begins with `system_`; those of data operations begin with their method. */
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tier: Tier;
  readonly kind: "open" | "openapi" | "limited" | "metrics";
  readonly parameters?: readonly Schema[];
  /** By status, those without an error. */
  readonly responses: Readonly<Record<string, Answer>>;
}

export const OPEN = { method: "get", tier: "tier0", kind: "open" } as const;

export function jsonAnswer(description: string, schema: Schema): Answer {
  return { description, mediaType: "application/json", schema };
}

export function named(schema: string): Schema {
  return { $ref: `#/components/schemas/${schema}` };
}

export function textAnswer(description: string, mediaType: string): Answer {
  return { description, mediaType, schema: { type: "string" } };
}

export const TEXT: Schema = { type: "string" };
export const TEXT_OR_NULL: Schema = { type: ["string", "null"] };
export const INTEGER: Schema = { type: "integer" };

/** A list of objects. */
export function listOf(properties: Schema, description: string, optional: Schema = {}): Schema {
  return { type: "array", description, items: record(properties, optional) };
}

export function record(properties: Schema, optional: Schema = {}): Schema {
  const required = Object.keys(properties);
  return { type: "object", properties: { ...properties, ...optional }, required };
}

export function texts(description: string): Schema {
  return { type: "array", items: TEXT, description };
}

export const HELD_BACK = listOf(
  { endpoint: { type: "string" }, changes: texts("What diff calls breaking or exposing.") },
  "Endpoints whose changes the guard holds back.",
);
