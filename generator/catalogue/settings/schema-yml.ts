import { HINT, listOf, NOUN, openRecord, type Schema } from "../../manifest/json-schema.js";
import { META_API_SCHEMA } from "./meta-api.js";
import { META_ROUTEWRIGHT_SCHEMA } from "./meta-routewright.js";

const OWN: ReadonlySet<string> = new Set([HINT, NOUN]);

const meta = openRecord({}, { api: META_API_SCHEMA, routewright: META_ROUTEWRIGHT_SCHEMA.model });
const columnMeta = openRecord({}, { routewright: META_ROUTEWRIGHT_SCHEMA.column });
const withMeta = (schema: Schema, more: Readonly<Record<string, Schema>> = {}): Schema =>
  openRecord({}, { meta: schema, config: openRecord({}, { meta: schema }), ...more });

/** JSON Schema of our settings in a `schema.yml`, for editors (generator/docs/meta-routewright.md, Editors). */
export const SCHEMA_YML_SCHEMA = withoutOwnKeywords({
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Routewright settings in a dbt schema.yml",
  ...openRecord({}, { models: listOf(withMeta(meta, { columns: listOf(withMeta(columnMeta)) })) }),
});

/** Editors warn of keywords that they do not know. */
function withoutOwnKeywords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOwnKeywords);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key, item]) => !(OWN.has(key) && typeof item === "string"));
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutOwnKeywords(item)]));
}
