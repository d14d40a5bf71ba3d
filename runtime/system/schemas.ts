import { TIERS } from "../model/tier.js";

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

const TEXT: Schema = { type: "string" };
const TEXT_OR_NULL: Schema = { type: ["string", "null"] };
const INTEGER: Schema = { type: "integer" };
const TIME: Schema = { type: ["string", "null"], format: "date-time" };

const HELD_BACK = listOf(
  { endpoint: { type: "string" }, changes: texts("What diff calls breaking or exposing.") },
  "Endpoints whose changes the guard holds back.",
);

const TESTS: Schema = {
  ...record({
    ...Object.fromEntries(["passed", "warned", "failed", "unknown"].map((name) => [name, INTEGER])),
    completed_at: TIME,
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

const SUMS = ["requests", "refused", "errors", "rows", "bytes"];

/** Schemas of the system endpoints (runtime/docs/system-endpoints.md). */
export const SYSTEM_SCHEMAS: Readonly<Record<string, Schema>> = {
  ServiceStatus: record({
    status: { type: "string", enum: ["online"] },
    service: { type: "string", description: "Title of the API." },
    docs: { type: "string", description: "Path of the interactive documentation." },
  }),
  Health: record(
    {
      status: { type: "string", enum: ["ok", "degraded", "unavailable"] },
      database_connected: { type: "boolean" },
    },
    {
      missing_relations: texts("Relations of endpoints that the database does not have, as `schema.name`."),
      held_back: HELD_BACK,
      detail: { type: "string", description: "What is degraded; absent when everything works." },
    },
  ),
  Usage: record({
    user: { type: ["string", "null"], description: "Null without a key." },
    tier: { type: "string", enum: TIERS },
    org: { type: ["string", "null"] },
    expires: { type: ["string", "null"], format: "date-time", description: "When the key expires." },
    allowed: {
      type: ["array", "null"],
      items: { type: "string" },
      description: "Categories and paths that the key is limited to.",
    },
    limits: record({
      requests_per_window: { type: "integer" },
      window_seconds: { type: "integer" },
      query_timeout_ms: { type: ["integer", "null"] },
      stream_timeout_ms: { type: ["integer", "null"] },
    }),
    window: record({
      requests: { type: "integer" },
      remaining: { type: "integer" },
      resets_at: { type: "string", format: "date-time" },
    }),
    days: {
      type: ["array", "null"],
      description: "The last 30 days with requests; null without a key, or where usage is not recorded.",
      items: record({
        day: { type: "string", format: "date", description: "In UTC." },
        ...Object.fromEntries(SUMS.map((name) => [name, { type: "integer" }])),
      }),
    },
  }),
  Catalogue: record({
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
          { accepted_values: texts("From the model's tests."), example: {} },
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
    categories: {
      type: "object",
      additionalProperties: TEXT,
      description: "Descriptions of the categories that have one.",
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
  }),
  Refresh: record(
    {
      status: { type: "string", enum: ["reloaded", "unchanged", "error"] },
      models: { type: "integer", description: "Models in the manifest." },
      endpoints: { type: "integer", description: "Endpoints served." },
    },
    {
      added: texts("New paths."),
      removed: texts("Removed paths."),
      changed: texts("Paths of changed endpoints."),
      skipped: listOf(
        { model: TEXT, errors: texts("Why.") },
        "Published models without an endpoint, with the reasons.",
      ),
      held_back: HELD_BACK,
      warnings: listOf(
        {
          kind: {
            type: "string",
            enum: ["removed", "opened", "skipped", "held_back", "missing_relation"],
          },
          subject: { type: "string", description: "A path, a model, or `schema.name` of a relation." },
          reason: TEXT,
        },
        "Effects that an operator should check.",
      ),
      manifest_hash: { type: "string", description: "SHA-256 of the active manifest." },
      loaded_at: { type: "string", format: "date-time", description: "When it was loaded." },
      detail: { type: "string", description: "With `error`: why nothing changed." },
    },
  ),
};

/** A list of objects. */
function listOf(properties: Schema, description: string, optional: Schema = {}): Schema {
  return { type: "array", description, items: record(properties, optional) };
}

function record(properties: Schema, optional: Schema = {}): Schema {
  const required = Object.keys(properties);
  return { type: "object", properties: { ...properties, ...optional }, required };
}

function texts(description: string): Schema {
  return { type: "array", items: TEXT, description };
}
