import { type Schema, text } from "../model/schema.js";
import type { Tier } from "../model/tier.js";
import type { Operation } from "../http/openapi.js";
import type { DataRoute, RouteAccess } from "./exchange.js";

/** `operationId` begins with `system_`; those of data operations begin with their method. */
export interface SystemOperation extends Operation {
  /** The tier that its handler checks, where the route has none. */
  readonly tier?: Tier;
  /** Whether its handler refuses callers without a key. */
  readonly needsKey?: true;
}

/** A route without its handler. */
export interface DescribedRoute extends Pick<DataRoute, "method" | "path" | "access"> {
  readonly operation: SystemOperation | null;
}

/** An unknown key is refused everywhere. */
export const UNLIMITED: RouteAccess = { limit: "none" };
export const DOCUMENT: RouteAccess = { limit: "document" };
export const LIMITED: RouteAccess = { limit: "caller" };

export function jsonAnswer(
  description: string,
  schema: Schema,
  status = 200,
): Operation["responses"][number] {
  return { status, description, mediaType: "application/json", schema };
}

export function textAnswer(description: string, mediaType: string): Operation["responses"][number] {
  return { status: 200, description, mediaType, schema: text };
}
