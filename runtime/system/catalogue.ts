import { TIERS } from "../model/tier.js";
import {
  INTEGER,
  jsonAnswer,
  listOf,
  named,
  OPEN,
  record,
  type Schema,
  type SystemEndpoint,
  TEXT,
  TEXT_OR_NULL,
  texts,
} from "./operation.js";

export const CATALOGUE: SystemEndpoint = {
  ...OPEN,
  path: "/v1/system/catalogue",
  operationId: "system_catalogue",
  summary: "Catalogue",
  description:
    "The endpoints that the caller's key may call, with their columns, parameters, last dbt build, dbt test results and " +
    "lineage.",
  responses: { 200: jsonAnswer("The catalogue.", named("Catalogue")) },
};

const TESTS: Schema = {
  ...record({
    ...Object.fromEntries(["passed", "warned", "failed", "unknown"].map((name) => [name, INTEGER])),
    completed_at: { type: ["string", "null"], format: "date-time" },
    problems: listOf(
      {
        name: { type: "string" },
        status: { type: "string", enum: ["warn", "fail", "error"] },
        failures: { type: ["integer", "null"] },
      },
      "Those that did not pass.",
    ),
  }),
  type: ["object", "null"],
  description: "The model's dbt tests by their last result; null where it has none.",
};

export const CATALOGUE_SCHEMA: Schema = record({
  title: { type: "string", description: "Title of the API." },
  tier: { type: "string", enum: TIERS, description: "The caller's." },
  endpoints: listOf(
    {
      path: TEXT,
      model: { type: "string", description: "The dbt model." },
      node: { type: "string", description: "The model's `id` in `lineage`." },
      category: TEXT,
      resource: TEXT,
      granularity: TEXT_OR_NULL,
      window: TEXT_OR_NULL,
      tier: { type: "string", enum: TIERS },
      callable: { type: "boolean", description: "Whether the caller may call it." },
      description: TEXT,
      synonyms: texts("Further words for which the search finds it."),
      methods: texts("`GET`, or `GET` and `POST`."),
      columns: listOf(
        { name: TEXT, type: TEXT_OR_NULL, description: TEXT },
        "In the order of the rows' members.",
        { accepted_values: texts("From the model's tests.") },
      ),
      parameters: {
        ...listOf(
          { name: TEXT, column: TEXT, operator: TEXT, type: TEXT, description: TEXT },
          "Null where the endpoint takes none.",
          { accepted_values: texts("The only values that are accepted.") },
        ),
        type: ["array", "null"],
      },
      require_any_of: texts("At least one of these is required; empty: none."),
      pagination: {
        ...record({
          default_limit: INTEGER,
          max_limit: INTEGER,
          response: { type: "string", enum: ["list", "envelope"] },
        }),
        type: ["object", "null"],
      },
      sort: { type: "array", items: texts("Column and direction.") },
      sortable_fields: texts("Values of `sort_by`."),
      deprecation_date: { ...TEXT_OR_NULL, description: "When the endpoint may be removed." },
      successor: TEXT_OR_NULL,
      data_as_of: { ...TEXT_OR_NULL, description: "As in `X-Data-As-Of`." },
      last_build: {
        ...record({
          completed_at: TEXT,
          rows: { type: ["integer", "null"] },
          failed: { type: "boolean" },
        }),
        type: ["object", "null"],
        description: "The model's last dbt build and the rows that it wrote.",
      },
      tests: TESTS,
    },
    "The endpoints that the caller may call.",
    {
      filters: listOf(
        { column: TEXT, operators: texts("As in `amount[gte]`.") },
        "Columns that callers filter by.",
      ),
      fields: { type: "boolean", description: "Whether callers choose columns by `fields`." },
      cursor: texts("Columns that identify a row, where pages follow each other by `cursor`."),
      own_rows: record({ column: TEXT }),
    },
  ),
  locked: {
    type: "object",
    additionalProperties: INTEGER,
    description: "Number of further endpoints per higher tier.",
  },
  lineage: {
    ...listOf(
      {
        id: TEXT,
        name: TEXT,
        kind: TEXT,
        parents: texts("Their ids."),
        last_build: TEXT_OR_NULL,
        tests: TESTS,
      },
      "The upstream nodes of the endpoints' models, by name.",
    ),
    type: ["array", "null"],
  },
});
