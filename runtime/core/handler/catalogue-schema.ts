import { VALUE_KINDS } from "../model/column-types.js";
import type { Parameter } from "../model/endpoint.js";
import { type Tier, TIERS } from "../model/tier.js";
import {
  described,
  flag,
  integer,
  listOf,
  oneOf,
  openRecord,
  orNull,
  text,
  textOrNull,
  texts,
  time,
  type Schema,
} from "../model/schema.js";

const TESTS = described(
  "The model's dbt tests by their last result; null where it has none.",
  orNull(
    openRecord({
      ...{ passed: integer, warned: integer, failed: integer },
      skipped: described("Those that dbt skipped last.", integer),
      unknown: described("Those that never ran.", integer),
      /** When the last of them ran. */
      completed_at: orNull(time),
      problems: described(
        "Those that did not pass.",
        listOf(
          openRecord({
            name: text,
            status: oneOf(["warn", "fail", "error", "skipped"]),
            failures: orNull(integer),
          }),
        ),
      ),
    }),
  ),
);

const PARAMETER = {
  name: text,
  column: text,
  operator: text as Schema<Parameter["operator"]>,
  type: text as Schema<Parameter["type"]>,
  description: text,
};

const FILTER = openRecord({
  column: text,
  type: described("What its values are.", oneOf(VALUE_KINDS)),
  operators: described("As in `amount[gte]`.", texts),
});

const SORT: Schema<readonly (readonly [column: string, direction: string])[]> = {
  type: "array",
  items: described("Column and direction.", texts),
};

const LOCKED: Schema<Readonly<Partial<Record<Tier, number>>>> = {
  type: "object",
  additionalProperties: integer,
  description: "Number of further endpoints per higher tier.",
};

export const CATALOGUE_SCHEMA = openRecord({
  title: described("Title of the API.", text),
  about: described(
    "What the operator says of the API.",
    openRecord({
      description: text,
      contact: described("An https: or mailto: address.", textOrNull),
      terms_of_service: textOrNull,
    }),
  ),
  tier: described("The caller's.", oneOf(TIERS)),
  categories: described(
    "Of these endpoints, in their order; without a text where the project has none.",
    listOf(openRecord({ name: text, description: text })),
  ),
  endpoints: described(
    "The endpoints that the caller may call.",
    listOf(
      openRecord(
        {
          path: text,
          title: described("In words.", text),
          model: described("The dbt model.", text),
          node: described("The model's `id` in `lineage`.", text),
          category: text,
          resource: text,
          granularity: textOrNull,
          window: textOrNull,
          tier: oneOf(TIERS),
          // Of others neither builds nor tests are listed.
          callable: described("Whether the caller may call it.", flag),
          description: text,
          synonyms: described("Further words for which the search finds it.", texts),
          methods: described("`GET`, or `GET` and `POST`.", texts),
          columns: described(
            "In the order of the rows' members.",
            listOf(
              openRecord(
                // The type is the database's; null where the model declares none.
                { name: text, type: textOrNull, description: text },
                {
                  accepted_values: described("From the model's tests.", texts),
                  tests: described("Of the column; absent where it has none.", TESTS),
                  example: described("Of a row that everybody may read, else the project's own.", {}),
                },
              ),
            ),
          ),
          parameters: orNull(
            described(
              "Null where the endpoint takes none.",
              listOf(
                openRecord(PARAMETER, {
                  accepted_values: described("The only values that are accepted.", texts),
                }),
              ),
            ),
          ),
          require_any_of: described("At least one of these is required; empty: none.", texts),
          pagination: orNull(
            openRecord({ default_limit: integer, max_limit: integer, response: oneOf(["list", "envelope"]) }),
          ),
          sort: SORT,
          sortable_fields: described("Values of `sort_by`.", texts),
          deprecation_date: described("When the endpoint may be removed.", textOrNull),
          successor: textOrNull,
          data_as_of: described("As in `X-Data-As-Of`.", textOrNull),
          // Of a failed build the rows may be the earlier ones.
          last_build: described(
            "The model's last dbt build and the rows that it wrote.",
            orNull(openRecord({ completed_at: text, rows: orNull(integer), failed: flag })),
          ),
          tests: TESTS,
        },
        {
          gone_at: described("From when on it answers 410.", text),
          successor_changes: described("What changes for callers who move to the successor.", texts),
          version: described("dbt's version of the model.", text),
          version_path: described("The path that stays at this version.", text),
          stability: described("`preview`: it may change without notice.", oneOf(["preview"])),
          filters: described("Columns that callers filter by.", listOf(FILTER)),
          freshness: described(
            "How old the rows may be.",
            openRecord(
              {
                promise: described("As `by 06:00 Europe/Vienna, at most 26 hours old`.", text),
                due: described(
                  "As in `X-Data-Freshness`; null: no build is known, or only a warning is promised.",
                  textOrNull,
                ),
              },
              {
                within_seconds: integer,
                warn_after_seconds: described("After the last load of rows.", integer),
                error_after_seconds: described("After the last load of rows.", integer),
                warn_at: described("From when on the rows are nearly too old.", textOrNull),
                late_nodes: described("Sources and models above that are late, for who sees lineage.", texts),
                by: described("The time of day by which they are of a build of that day.", text),
              },
            ),
          ),
          quality: described(
            "As in `X-Data-Quality`; absent where the model has no tests.",
            oneOf(["passed", "failed", "unknown"]),
          ),
          enforced: described(
            "What is enforced when rows are built: `contract` (names and types of columns), and constraints of the database.",
            texts,
          ),
          on_failed_test: described("`refuse`: no rows are served while a test fails.", oneOf(["refuse"])),
          filter: described("Whether callers combine conditions on these columns by `filter`.", flag),
          fields: described("Whether callers choose columns by `fields`.", flag),
          require_fresh: described("Whether callers may refuse rows that are older than promised.", flag),
          cursor: described("Columns that identify a row, where pages follow each other by `cursor`.", texts),
          former_paths: described(
            "Deprecated paths at which it answers too, each with its sunset.",
            listOf(openRecord({ path: text, sunset: textOrNull })),
          ),
          aggregate: openRecord({
            of: described("The parameter that chooses among `measures`.", oneOf(["measures", "metrics"])),
            rows: described("Whether the rows themselves are served too.", flag),
            is_saved: described("Whether groups and measures are fixed: a saved query.", flag),
            groups: described(
              "Values of `group_by`; of a time with a grain, `metric_time__month`.",
              listOf(
                openRecord(
                  { name: text },
                  {
                    grains: described("Of a time, from fine to coarse.", texts),
                  },
                ),
              ),
            ),
            measures: described(
              "Sums and counts by group.",
              listOf(
                openRecord({
                  name: text,
                  label: textOrNull,
                  description: text,
                  groups: described("Names of its groups.", texts),
                }),
              ),
            ),
            filters: described("Groups that callers filter by.", listOf(FILTER)),
          }),
          // Callers get the rows whose column equals the organization of their key.
          own_rows: openRecord({ column: text }),
        },
      ),
    ),
  ),
  locked: LOCKED,
  lineage: orNull(
    described(
      "The upstream nodes of the endpoints' models, by name.",
      listOf(
        openRecord({
          id: text,
          name: text,
          kind: text,
          parents: described("Their ids.", texts),
          last_build: textOrNull,
          tests: TESTS,
        }),
      ),
    ),
  ),
});
