import { CHANGELOG_SCHEMA } from "../model/changelog.js";
import {
  described,
  flag,
  integer,
  listOf,
  named,
  oneOf,
  openRecord,
  orNull,
  type Schema,
  text,
  textOrNull,
  texts,
  time,
} from "../model/schema.js";
import { TIERS } from "../model/tier.js";
import { CATALOGUE_SCHEMA } from "./catalogue-schema.js";
import { SUMS } from "./request-record.js";

const HELD_BACK = described(
  "Endpoints whose changes the guard holds back.",
  listOf(openRecord({ endpoint: text, changes: described("What diff calls breaking or exposing.", texts) })),
);

const VALUE: Schema = { type: ["string", "number", "boolean", "null"] };

const STATUS_SCHEMA = openRecord({
  status: oneOf(["online"]),
  service: described("Title of the API.", text),
  docs: described("Path of the interactive documentation.", text),
});

const HEALTH_SCHEMA = openRecord(
  {
    status: oneOf(["ok", "degraded", "unavailable"]),
    database_connected: flag,
  },
  {
    missing_relations: described(
      "Relations of endpoints that the database does not have, as `schema.name`.",
      texts,
    ),
    missing_columns: described(
      "Columns of endpoints that their relations lack, or have several that the name may mean, as `path: column`.",
      texts,
    ),
    failing_endpoints: described(
      "Paths of endpoints whose every request fails while the database responds: the last three or more, in the last ten minutes.",
      texts,
    ),
    stale_copies: described(
      "Relations whose copy is older than the last build of its source, as `schema.name`.",
      texts,
    ),
    late_endpoints: described(
      "Paths of endpoints whose rows are older than promised, or of no build that is known.",
      texts,
    ),
    late_nodes: described(
      "Sources and models, by `unique_id`, that are older than dbt's bounds and make an endpoint late.",
      texts,
    ),
    held_back: HELD_BACK,
    counts: described(
      "For callers who get no names: how many there are of each.",
      openRecord(
        {},
        {
          ...{ missing_relations: integer, missing_columns: integer, failing_endpoints: integer },
          ...{ stale_copies: integer, late_endpoints: integer, late_nodes: integer, held_back: integer },
        },
      ),
    ),
    detail: described("What is degraded; absent when everything works.", text),
  },
);

const REFRESH_SCHEMA = openRecord(
  {
    status: oneOf(["reloaded", "unchanged", "error"]),
    models: described("Models in the manifest.", integer),
    endpoints: described("Endpoints served.", integer),
  },
  {
    added: described("New paths.", texts),
    removed: described("Removed paths.", texts),
    changed: described("Paths of changed endpoints.", texts),
    skipped: described(
      "Published models without an endpoint, with the reasons.",
      listOf(openRecord({ model: text, errors: described("Why.", texts) })),
    ),
    held_back: HELD_BACK,
    warnings: described(
      "Effects that an operator should check.",
      listOf(
        openRecord({
          kind: oneOf(["removed", "opened", "skipped", "held_back", "missing_relation"]),
          subject: described("A path, a model, or `schema.name` of a relation.", text),
          reason: text,
        }),
      ),
    ),
    manifest_hash: described("SHA-256 of the active manifest.", text),
    loaded_at: { type: "string", format: "date-time", description: "When it was loaded." },
    detail: described("With `error`: why nothing changed.", text),
  },
);

const USAGE_SCHEMA = openRecord({
  user: described("Null without a key.", textOrNull),
  tier: oneOf(TIERS),
  org: textOrNull,
  expires: described("When the key expires.", orNull(time)),
  allowed: orNull(described("Categories and paths that the key is limited to.", texts)),
  limits: openRecord({
    requests_per_window: integer,
    window_seconds: integer,
    query_timeout_ms: orNull(integer),
    stream_timeout_ms: orNull(integer),
  }),
  window: openRecord({ requests: integer, remaining: integer, resets_at: time }),
  days: {
    type: ["array", "null"],
    description: "The last 30 days with requests; null without a key, or where usage is not recorded.",
    items: openRecord({
      day: { type: "string", format: "date", description: "In UTC." },
      ...Object.fromEntries(SUMS.map((name) => [name, integer])),
    }),
  },
});

const VALUES_SCHEMA = openRecord({
  values: described(
    "The most frequent first; those of a group sorted. Texts of more than 1,000 characters are left out.",
    listOf(
      openRecord(
        {
          value: described("As rows have it; numbers of more than 15 digits are texts here.", VALUE),
        },
        { rows: described("Rows that have it; absent where the endpoint serves no rows.", integer) },
      ),
    ),
  ),
  more: described("Whether there are others.", flag),
});

const FACETS_SCHEMA = openRecord({
  facets: described("The values of each column of `columns`.", {
    type: "object",
    additionalProperties: named("ColumnValues"),
  }),
});

const CHART_SCHEMA = openRecord({
  points: described(
    "Of dates and times in their order, else the largest first sum first.",
    listOf(
      openRecord({
        x: described("As rows have it, or the beginning of its period in UTC.", VALUE),
        by: described("The values of the columns of `by`.", listOf(VALUE)),
        sum: described(
          "The sums of the columns of `y`; null without values. Numbers of more than 15 digits are texts.",
          listOf(VALUE),
        ),
        count: described("How many values each sum has: their quotient is the average.", listOf(integer)),
      }),
    ),
  ),
  more: described("Whether there are others.", flag),
});

/** Schemas of the responses of the service's own routes. */
const SUBSCRIPTION = {
  id: text,
  url: text,
  paths: described("Null: all that the key may call.", orNull(texts)),
  types: described("Null: all that are about endpoints.", orNull(texts)),
  created_at: time,
  last_result: described(
    "HTTP status of the last attempt, or why there was none; null: there was none.",
    textOrNull,
  ),
  last_result_at: orNull(time),
};

export const SYSTEM_SCHEMAS: Readonly<Record<string, Schema>> = {
  ServiceStatus: STATUS_SCHEMA,
  Health: HEALTH_SCHEMA,
  ColumnValues: VALUES_SCHEMA,
  Facets: FACETS_SCHEMA,
  ChartPoints: CHART_SCHEMA,
  Subscriptions: openRecord({ subscriptions: listOf(openRecord(SUBSCRIPTION)) }),
  NewSubscription: openRecord({
    ...SUBSCRIPTION,
    secret: described("Verifies what is sent (Standard Webhooks). It is shown once.", text),
  }),
  Usage: USAGE_SCHEMA,
  Catalogue: CATALOGUE_SCHEMA,
  Changelog: CHANGELOG_SCHEMA,
  Refresh: REFRESH_SCHEMA,
};
