import type { Parameter } from "../model/endpoint.js";
import { type Tier, TIERS } from "../model/tier.js";
import {
  described,
  FLAG,
  INTEGER,
  INTEGER_OR_NULL,
  listOf,
  oneOf,
  orNull,
  record,
  type Schema,
  TEXT,
  TEXT_OR_NULL,
  texts,
  TIME,
} from "../model/schema.js";

const TESTS = orNull(
  record({
    ...{ passed: INTEGER, warned: INTEGER, failed: INTEGER, unknown: INTEGER },
    /** When the last of them ran. */
    completed_at: orNull(TIME),
    problems: listOf(
      { name: TEXT, status: oneOf(["warn", "fail", "error"]), failures: INTEGER_OR_NULL },
      "Those that did not pass.",
    ),
  }),
  "The model's dbt tests by their last result; null where it has none.",
);

const PARAMETER = {
  name: TEXT,
  column: TEXT,
  operator: TEXT as Schema<Parameter["operator"]>,
  type: TEXT as Schema<Parameter["type"]>,
  description: TEXT,
};

const SORT: Schema<readonly (readonly [column: string, direction: string])[]> = {
  type: "array",
  items: texts("Column and direction."),
};

const LOCKED: Schema<Readonly<Partial<Record<Tier, number>>>> = {
  type: "object",
  additionalProperties: INTEGER,
  description: "Number of further endpoints per higher tier.",
};

export const CATALOGUE_SCHEMA = record({
  title: described(TEXT, "Title of the API."),
  tier: described(oneOf(TIERS), "The caller's."),
  endpoints: listOf(
    {
      path: TEXT,
      model: described(TEXT, "The dbt model."),
      node: described(TEXT, "The model's `id` in `lineage`."),
      category: TEXT,
      resource: TEXT,
      granularity: TEXT_OR_NULL,
      window: TEXT_OR_NULL,
      tier: oneOf(TIERS),
      // Of others neither builds nor tests are listed.
      callable: described(FLAG, "Whether the caller may call it."),
      description: TEXT,
      synonyms: texts("Further words for which the search finds it."),
      methods: texts("`GET`, or `GET` and `POST`."),
      columns: listOf(
        // The type is the database's; null where the model declares none.
        { name: TEXT, type: TEXT_OR_NULL, description: TEXT },
        "In the order of the rows' members.",
        {
          accepted_values: texts("From the model's tests."),
          example: described({}, "Of a row that everybody may read, else the project's own."),
        },
      ),
      parameters: orNull(
        listOf(PARAMETER, "Null where the endpoint takes none.", {
          accepted_values: texts("The only values that are accepted."),
        }),
      ),
      require_any_of: texts("At least one of these is required; empty: none."),
      pagination: orNull(
        record({ default_limit: INTEGER, max_limit: INTEGER, response: oneOf(["list", "envelope"]) }),
      ),
      sort: SORT,
      sortable_fields: texts("Values of `sort_by`."),
      deprecation_date: described(TEXT_OR_NULL, "When the endpoint may be removed."),
      successor: TEXT_OR_NULL,
      data_as_of: described(TEXT_OR_NULL, "As in `X-Data-As-Of`."),
      // Of a failed build the rows may be the earlier ones.
      last_build: orNull(
        record({ completed_at: TEXT, rows: INTEGER_OR_NULL, failed: FLAG }),
        "The model's last dbt build and the rows that it wrote.",
      ),
      tests: TESTS,
    },
    "The endpoints that the caller may call.",
    {
      stability: described(oneOf(["preview"]), "`preview`: it may change without notice."),
      filters: listOf(
        { column: TEXT, operators: texts("As in `amount[gte]`.") },
        "Columns that callers filter by.",
      ),
      fields: described(FLAG, "Whether callers choose columns by `fields`."),
      cursor: texts("Columns that identify a row, where pages follow each other by `cursor`."),
      former_paths: listOf(
        { path: TEXT, sunset: TEXT_OR_NULL },
        "Deprecated paths at which it answers too, each with its sunset.",
      ),
      aggregate: record({
        of: described(oneOf(["measures", "metrics"]), "The parameter that chooses among `measures`."),
        rows: described(FLAG, "Whether the rows themselves are served too."),
        is_saved: described(FLAG, "Whether groups and measures are fixed: a saved query."),
        groups: listOf(
          { name: TEXT },
          "Values of `group_by`; of a time with a grain, `metric_time__month`.",
          {
            grains: texts("Of a time, from fine to coarse."),
          },
        ),
        measures: listOf(
          { name: TEXT, label: TEXT_OR_NULL, description: TEXT, groups: texts("Names of its groups.") },
          "Sums and counts by group.",
        ),
        filters: listOf(
          { column: TEXT, operators: texts("As in `region[ne]`.") },
          "Groups that callers filter by.",
        ),
      }),
      // Callers get the rows whose column equals the organization of their key.
      own_rows: record({ column: TEXT }),
    },
  ),
  locked: LOCKED,
  lineage: orNull(
    listOf(
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
  ),
});
