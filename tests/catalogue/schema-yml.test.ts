import { Ajv } from "ajv";
import { expect, it } from "vitest";
import { SCHEMA_YML_SCHEMA } from "../../generator/catalogue/settings/schema-yml.js";

/** Strict: editors, too, know no keywords of ours. */
const validate = new Ajv({ allowUnionTypes: true }).compile(SCHEMA_YML_SCHEMA as object);
const withMeta = (meta: object, column: object = {}): object => ({
  models: [{ name: "orders", config: { meta }, columns: [{ name: "id", meta: { routewright: column } }] }],
});

it("the schema for editors takes what the reader takes", () => {
  const api = { allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }] };
  const routewright = { cursor: true, rows: { column: "org_id", equals: "org" }, numbers: "string" };
  expect(validate(withMeta({ api, routewright, owner: "me" }, { timezone: "UTC" }))).toBe(true);
});

it.each([
  ["a sort without direction", { api: { sort: [{ column: "id" }] } }, {}],
  ["rows without a column", { routewright: { rows: { equals: "org" } } }, {}],
  ["a time zone that is a number", {}, { timezone: 2 }],
])("the schema for editors refuses %s", (_, meta, column) => {
  expect(validate(withMeta(meta, column))).toBe(false);
});
