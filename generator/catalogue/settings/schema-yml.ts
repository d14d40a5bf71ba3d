import { listOf, openRecord, type Schema } from "@routewright/runtime/model";
import { isObject, objectOr } from "../../manifest/json.js";
import { withoutOwnKeywords } from "../../manifest/schema-errors.js";
import { META_API_SCHEMA } from "./meta-api.js";
import { META_ROUTEWRIGHT_SCHEMA } from "./meta-routewright.js";

const meta = openRecord(
  {},
  { api: closed(META_API_SCHEMA), routewright: closed(META_ROUTEWRIGHT_SCHEMA.model) },
);
const columnMeta = openRecord({}, { routewright: closed(META_ROUTEWRIGHT_SCHEMA.column) });
const withMeta = (schema: Schema, more: Readonly<Record<string, Schema>> = {}): Schema =>
  openRecord({}, { meta: schema, config: openRecord({}, { meta: schema }), ...more });

/** An editor marks each key that is none of ours inside of our own: `generate` warns of it, or refuses it. */
function closed(schema: Schema): Schema {
  const { properties, items, additionalProperties } = schema;
  return {
    ...schema,
    ...(isObject(items) && { items: closed(items) }),
    ...(isObject(additionalProperties) && { additionalProperties: closed(additionalProperties) }),
    ...(isObject(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, value]) => [key, closed(objectOr(value))]),
      ),
      ...(additionalProperties === undefined && { additionalProperties: false }),
    }),
  };
}

/** JSON Schema of our settings in a `schema.yml`, for editors (generator/docs/meta-routewright.md, Editors). */
export const SCHEMA_YML_SCHEMA = withoutOwnKeywords({
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Routewright settings in a dbt schema.yml",
  ...openRecord({}, { models: listOf(withMeta(meta, { columns: listOf(withMeta(columnMeta)) })) }),
});
