import { describe, expect, it } from "vitest";
import { catalogueFrom, onlySkipped, pathsOf, told } from "./catalogues.js";

const parameter = (over: object = {}): object => ({
  name: "token",
  column: "token",
  operator: "=",
  type: "string",
  ...over,
});
const api = (over: object = {}): object => ({ parameters: [parameter()], ...over });
const withParameter = (over: object): object => api({ parameters: [parameter(over)] });

function published(meta: unknown) {
  return catalogueFrom([
    {
      name: "api_flows",
      tags: ["production", "bridges", "api:flows"],
      api: meta,
      columns: { date: "date", token: "text", value: "numeric" },
    },
  ]);
}

/** Each rule of `meta.api`: what violates it, and the location, message and hint of its error. */
// prettier-ignore
const BROKEN: readonly (readonly [rule: string, meta: unknown, problem: string, hint: string])[] = [
  ["the record is an object", [], "$.config.meta.api: [] is not of type object.", "Write an object."],
  ["the record is an object, not a text", "yes", '$.config.meta.api: "yes" is not of type object.', "Write an object."],
  ["methods is a list", api({ methods: "GET" }), '$.config.meta.api.methods: "GET" is not of type array.', "Write a list."],
  ["methods is not empty", api({ methods: [] }), "$.config.meta.api.methods: The list is empty.", "List at least one, or leave the key out."],
  ["methods are GET or POST", api({ methods: ["GET", "PUT"] }), '$.config.meta.api.methods[1]: "PUT" is not allowed here.', 'Use one of "GET", "POST".'],
  ["methods are in capitals", api({ methods: ["post"] }), '$.config.meta.api.methods[0]: "post" is not allowed here.', 'Write "POST".'],
  ["allow_unfiltered is a boolean", api({ allow_unfiltered: "true" }), '$.config.meta.api.allow_unfiltered: "true" is not of type boolean.', "Write true or false."],
  ["allow_unfiltered false needs a parameter", { allow_unfiltered: false }, "$.config.meta.api.allow_unfiltered: It is false and no parameter is declared: every request would be refused.", "Declare a parameter, or write `allow_unfiltered: true`."],
  ["exclude_from_api is a boolean", api({ exclude_from_api: "true" }), '$.config.meta.api.exclude_from_api: "true" is not of type boolean.', "Write true or false."],
  ["require_any_of is a list", api({ require_any_of: "token" }), '$.config.meta.api.require_any_of: "token" is not of type array.', "Write a list."],
  ["require_any_of names parameters", api({ require_any_of: ["token", "tokn"] }), '$.config.meta.api.require_any_of[1]: No parameter is named "tokn".', 'Declare it, or use one of: "token".'],
  ["require_any_of holds names", api({ require_any_of: [""] }), "$.config.meta.api.require_any_of[0]: The text is empty.", "Write at least one character."],
  ["parameters is a list", { parameters: { token: {} } }, "$.config.meta.api.parameters: {…} is not of type array.", "Write a list."],
  ["a parameter is an object", { parameters: ["token"] }, '$.config.meta.api.parameters[0]: "token" is not of type object.', "Write an object."],
  ["a parameter has a name", withParameter({ name: undefined }), "$.config.meta.api.parameters[0]: Missing required key `name`.", "Name the query parameter."],
  ["a name is a text", withParameter({ name: 7 }), "$.config.meta.api.parameters[0].name: 7 is not of type string.", "Name the query parameter."],
  ["a name is not empty", withParameter({ name: "" }), "$.config.meta.api.parameters[0].name: The text is empty.", "Name the query parameter."],
  ["names are unique", api({ parameters: [parameter(), parameter({ column: "value" })] }), '$.config.meta.api.parameters[1].name: The name "token" is used twice.', "Give each parameter its own name."],
  ["a name is not that of a page's field", api({ parameters: [parameter({ name: "limit" })], pagination: { enabled: true, default_limit: 1, max_limit: 1 } }), '$.config.meta.api.parameters[0].name: "limit" is reserved for pagination or sorting.', "Choose another name."],
  ["a name is not that of a sort's field", api({ parameters: [parameter({ name: "sort_by" })], sortable_fields: ["value"] }), '$.config.meta.api.parameters[0].name: "sort_by" is reserved for pagination or sorting.', "Choose another name."],
  ["a parameter has a column", withParameter({ column: undefined }), "$.config.meta.api.parameters[0]: Missing required key `column`.", "Name a column of the model."],
  ["the column exists", withParameter({ column: "tokn" }), '$.config.meta.api.parameters[0].column: The model has no column "tokn".', 'Did you mean "token"? Otherwise list the column in the model\'s schema.yml, or pass --catalog.'],
  ["the column exists, and nothing is like it", withParameter({ column: "counterparty" }), '$.config.meta.api.parameters[0].column: The model has no column "counterparty".', "List the column in the model's schema.yml, or pass --catalog with dbt's catalog.json."],
  ["a parameter has an operator", withParameter({ operator: undefined }), "$.config.meta.api.parameters[0]: Missing required key `operator`.", "Write one of =, >=, <=, ILIKE, IN."],
  ["the operator is known", withParameter({ operator: "LIKE" }), '$.config.meta.api.parameters[0].operator: "LIKE" is not allowed here.', 'Use one of "=", ">=", "<=", "ILIKE", "IN".'],
  ["the operator is in capitals", withParameter({ operator: "ilike" }), '$.config.meta.api.parameters[0].operator: "ilike" is not allowed here.', 'Write "ILIKE".'],
  ["a parameter has a type", withParameter({ type: undefined }), "$.config.meta.api.parameters[0]: Missing required key `type`.", "Write one of string, date, string_list."],
  ["the type is known", withParameter({ type: "integer" }), '$.config.meta.api.parameters[0].type: "integer" is not allowed here.', 'Use one of "string", "date", "string_list".'],
  ["= takes a string", withParameter({ type: "date" }), '$.config.meta.api.parameters[0].type: The operator "=" does not take "date".', 'Write type "string", or use an operator that takes "date".'],
  ["ILIKE takes a string", withParameter({ operator: "ILIKE", type: "string_list" }), '$.config.meta.api.parameters[0].type: The operator "ILIKE" does not take "string_list".', 'Write type "string", or use an operator that takes "string_list".'],
  [">= takes a date", withParameter({ operator: ">=" }), '$.config.meta.api.parameters[0].type: The operator ">=" does not take "string".', 'Write type "date", or use an operator that takes "string".'],
  ["<= takes a date", withParameter({ operator: "<=" }), '$.config.meta.api.parameters[0].type: The operator "<=" does not take "string".', 'Write type "date", or use an operator that takes "string".'],
  ["IN takes a list", withParameter({ operator: "IN" }), '$.config.meta.api.parameters[0].type: The operator "IN" does not take "string".', 'Write type "string_list", or use an operator that takes "string".'],
  ["a list takes IN", withParameter({ type: "string_list" }), '$.config.meta.api.parameters[0].type: The operator "=" does not take "string_list".', 'Write type "string", or use an operator that takes "string_list".'],
  ["a description is a text", withParameter({ description: 1 }), "$.config.meta.api.parameters[0].description: 1 is not of type string.", "Write a text."],
  ["case is lower or upper", withParameter({ case: "title" }), '$.config.meta.api.parameters[0].case: "title" is not allowed here.', 'Use one of "lower", "upper".'],
  ["case is not for dates", withParameter({ column: "date", operator: ">=", type: "date", case: "lower" }), "$.config.meta.api.parameters[0].case: `case` does not apply to a date.", "Leave `case` out."],
  ["max_items is for lists", withParameter({ max_items: 5 }), '$.config.meta.api.parameters[0].max_items: `max_items` does not apply to "string".', "Leave `max_items` out."],
  ["max_items is positive", withParameter({ operator: "IN", type: "string_list", max_items: 0 }), "$.config.meta.api.parameters[0].max_items: 0 is out of range.", "It must be >= 1."],
  ["max_items is whole", withParameter({ operator: "IN", type: "string_list", max_items: 1.5 }), "$.config.meta.api.parameters[0].max_items: 1.5 is not of type integer.", "Write a whole number."],
  ["pagination is an object", api({ pagination: true }), "$.config.meta.api.pagination: true is not of type object.", "Write an object."],
  ["pagination says whether it is enabled", api({ pagination: {} }), "$.config.meta.api.pagination: Missing required key `enabled`.", "Write true or false."],
  ["enabled is a boolean", api({ pagination: { enabled: "yes" } }), '$.config.meta.api.pagination.enabled: "yes" is not of type boolean.', "Write true or false."],
  ["pages have a default", api({ pagination: { enabled: true, max_limit: 5 } }), "$.config.meta.api.pagination: Missing required key `default_limit`.", "Give the number of rows on a page without `limit`."],
  ["pages have a maximum", api({ pagination: { enabled: true, default_limit: 5 } }), "$.config.meta.api.pagination: Missing required key `max_limit`.", "Give the largest `limit` that a request may send."],
  ["the default is positive", api({ pagination: { enabled: true, default_limit: 0, max_limit: 5 } }), "$.config.meta.api.pagination.default_limit: 0 is out of range.", "It must be >= 1."],
  ["the default is a number", api({ pagination: { enabled: true, default_limit: "5", max_limit: 5 } }), '$.config.meta.api.pagination.default_limit: "5" is not of type integer.', "Write a whole number."],
  ["the maximum is positive", api({ pagination: { enabled: true, default_limit: 1, max_limit: -1 } }), "$.config.meta.api.pagination.max_limit: -1 is out of range.", "It must be >= 1."],
  ["the maximum fits an integer", api({ pagination: { enabled: true, default_limit: 1, max_limit: 2 ** 31 } }), "$.config.meta.api.pagination.max_limit: 2147483648 is out of range.", "It must be <= 2147483647."],
  ["the maximum is not below the default", api({ pagination: { enabled: true, default_limit: 6, max_limit: 5 } }), "$.config.meta.api.pagination.max_limit: `max_limit` (5) is below `default_limit` (6).", "Raise `max_limit` or lower `default_limit`."],
  ["response is list or envelope", api({ pagination: { enabled: true, default_limit: 1, max_limit: 1, response: "page" } }), '$.config.meta.api.pagination.response: "page" is not allowed here.', 'Use one of "list", "envelope".'],
  ["sort is a list", api({ sort: { column: "date", direction: "ASC" } }), "$.config.meta.api.sort: {…} is not of type array.", "Write a list."],
  ["a sort key has a column", api({ sort: [{ direction: "ASC" }] }), "$.config.meta.api.sort[0]: Missing required key `column`.", "Name a column of the model."],
  ["a sort key has a direction", api({ sort: [{ column: "date" }] }), "$.config.meta.api.sort[0]: Missing required key `direction`.", "Write one of ASC, DESC."],
  ["a direction is ASC or DESC", api({ sort: [{ column: "date", direction: "desc" }] }), '$.config.meta.api.sort[0].direction: "desc" is not allowed here.', 'Write "DESC".'],
  ["a sort column exists", api({ sort: [{ column: "date", direction: "ASC" }, { column: "bucket", direction: "ASC" }] }), '$.config.meta.api.sort[1].column: The model has no column "bucket".', "List the column in the model's schema.yml, or pass --catalog with dbt's catalog.json."],
  ["sortable_fields is a list", api({ sortable_fields: "date" }), '$.config.meta.api.sortable_fields: "date" is not of type array.', "Write a list."],
  ["a sortable field exists", api({ sortable_fields: ["Value"] }), '$.config.meta.api.sortable_fields[0]: The model has no column "Value".', 'Did you mean "value"? Otherwise list the column in the model\'s schema.yml, or pass --catalog.'],
];

/** Each boundary satisfied. */
// prettier-ignore
const KEPT: readonly (readonly [boundary: string, meta: unknown])[] = [
  ["a parameter and nothing else", api()],
  ["nothing but allow_unfiltered", { allow_unfiltered: true }],
  ["an empty list of parameters where unfiltered is allowed", { allow_unfiltered: true, parameters: [], sort: [], require_any_of: [] }],
  ["= and ILIKE with a string, in a letter case", api({ parameters: [parameter({ case: "lower" }), parameter({ name: "like", operator: "ILIKE", case: "upper" })] })],
  [">= and <= with a date", api({ parameters: [parameter({ name: "from", column: "date", operator: ">=", type: "date" }), parameter({ name: "to", column: "date", operator: "<=", type: "date" })] })],
  ["IN with a list of one, in a letter case", withParameter({ operator: "IN", type: "string_list", max_items: 1, case: "upper" })],
  ["two parameters on one column", api({ parameters: [parameter(), parameter({ name: "other" })] })],
  ["names that differ in letter case alone", api({ parameters: [parameter(), parameter({ name: "Token" })] })],
  ["a page of one at most one", api({ pagination: { enabled: true, default_limit: 1, max_limit: 1 } })],
  ["the largest page", api({ pagination: { enabled: true, default_limit: 2 ** 31 - 1, max_limit: 2 ** 31 - 1, response: "envelope" } })],
  ["pages turned off without numbers", api({ pagination: { enabled: false } })],
  ["pages turned off with a maximum below the default", api({ pagination: { enabled: false, default_limit: 6, max_limit: 5 } })],
  ["a parameter named limit where there are no pages", withParameter({ name: "limit" })],
  ["a parameter named sort_by where nothing is sortable", withParameter({ name: "sort_by" })],
  ["exclude_from_api false", api({ exclude_from_api: false })],
  ["an empty description", withParameter({ description: "" })],
];

describe("a rule of meta.api", () => {
  it.each(BROKEN)("refuses the model unless %s", (_, meta, problem, hint) => {
    const catalogue = published(meta);
    const { reason, model, file, problems } = onlySkipped(catalogue);
    expect(catalogue.entries).toEqual([]);
    expect({ reason, model, file }).toEqual({
      reason: "invalid",
      model: "model.test.api_flows",
      file: "models/api_flows.sql",
    });
    expect(told(problems)).toEqual([problem]);
    expect(problems[0]?.hint).toBe(hint);
  });

  it.each(KEPT)("allows %s", (_, meta) => {
    const catalogue = published(meta);
    expect(catalogue.skipped).toEqual([]);
    expect(pathsOf(catalogue)).toEqual(["/v1/bridges/flows"]);
  });

  it("collapses duplicates of methods, required parameters and sortable fields", () => {
    const twice = {
      methods: ["POST", "GET", "POST"],
      require_any_of: ["token", "token"],
      sortable_fields: ["date", "date"],
    };
    expect(published(api(twice)).entries[0]).toMatchObject({
      methods: ["GET", "POST"],
      requireAnyOf: ["token"],
      sortableFields: ["date"],
    });
  });

  it("allows GET always, also where only POST is listed", () => {
    expect(published(api({ methods: ["POST"] })).entries[0]?.methods).toEqual(["GET", "POST"]);
  });

  it("fills in every default of a record that says nothing more", () => {
    expect(published(api()).entries[0]).toEqual({
      path: "/v1/bridges/flows",
      model: "api_flows",
      uniqueId: expect.any(String),
      file: expect.any(String),
      category: "bridges",
      resource: "flows",
      granularity: null,
      window: null,
      hasTierTag: false,
      private: false,
      description: "",
      tier: "tier0",
      relation: ["analytics", "api_flows"],
      columns: [
        { name: "date", type: "date null" },
        { name: "token", type: "text null" },
        { name: "value", type: "numeric null", wide: true },
      ],
      methods: ["GET"],
      legacy: false,
      parameters: [{ name: "token", column: "token", operator: "=", type: "string" }],
      allowUnfiltered: false,
      requireAnyOf: [],
      pagination: null,
      sort: [],
      sortableFields: [],
      deprecationDate: null,
      successor: null,
    });
  });
});
