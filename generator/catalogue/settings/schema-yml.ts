import { listOf, openRecord, type Schema } from "@routewright/runtime/model";
import { withoutOwnKeywords } from "../../manifest/schema-errors.js";
import { META_API_SCHEMA } from "./meta-api.js";
import { META_ROUTEWRIGHT_SCHEMA } from "./meta-routewright.js";

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
