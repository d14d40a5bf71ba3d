import { isProviderSchema } from "./json-schema.js";
import { linearPattern } from "./linear-pattern.js";

/** Length of a provider's schema as JSON. */
const MAX_SCHEMA_LENGTH = 65_536;
/** Levels that it may be nested. */
const MAX_DEPTH = 20;
/** Instructions of all its patterns: with the longest value (json-schema.ts) the worst check takes about 2 s, an ordinary one under 1 ms. */
const MAX_PATTERN_SIZE = 4_000;

/**
 * Keywords that a provider's schema may not have. References can double the work with each level and run in circles; ids are shared by
 * all schemas of the process; `$async` answers with a promise; `uniqueItems` compares each item with each.
 */
const REFUSED: ReadonlySet<string> = new Set([
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
  "$id",
  "id",
  "$anchor",
  "$dynamicAnchor",
  "$async",
  "uniqueItems",
]);

/** Keywords whose value is a map of names to schemas; those of `patternProperties` are patterns. */
const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);
/** Keywords whose value is no schema. */
const VALUES: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "required"]);

/** What `schemaProblem` says of something else. */
export const NO_SCHEMA = "it is not a JSON Schema";

/** Why a provider's schema cannot be used, or null: a check takes bounded time and memory. */
export function schemaProblem(schema: object): string | null {
  if (JSON.stringify(schema).length > MAX_SCHEMA_LENGTH)
    return `it is longer than ${String(MAX_SCHEMA_LENGTH)} characters`;
  const patterns: string[] = [];
  const problem = keywordProblem(schema, patterns, 0);
  if (problem !== null) return problem;
  try {
    const size = patterns.reduce((sum, pattern) => sum + linearPattern(pattern).size, 0);
    if (size > MAX_PATTERN_SIZE) return "its patterns are too large";
  } catch (error) {
    return `a pattern does not run in linear time (RE2): ${(error as Error).message}`;
  }
  return isProviderSchema(schema) ? null : NO_SCHEMA;
}

/** Looks for refused keywords, and collects the patterns. */
function keywordProblem(schema: unknown, patterns: string[], depth: number): string | null {
  if (typeof schema !== "object" || schema === null) return null;
  if (depth > MAX_DEPTH) return `it is nested more than ${String(MAX_DEPTH)} levels deep`;
  for (const [keyword, value] of Object.entries(schema)) {
    if (REFUSED.has(keyword) && !Array.isArray(schema)) return `the keyword ${keyword} is not supported`;
    if (keyword === "pattern" && typeof value === "string") patterns.push(value);
    if (VALUES.has(keyword)) continue;
    const isMap = MAPS.has(keyword) && typeof value === "object" && value !== null;
    if (isMap && keyword === "patternProperties") patterns.push(...Object.keys(value as object));
    const parts: readonly unknown[] = isMap ? Object.values(value as object) : [value];
    for (const part of parts) {
      const problem = keywordProblem(part, patterns, depth + 1);
      if (problem !== null) return problem;
    }
  }
  return null;
}
