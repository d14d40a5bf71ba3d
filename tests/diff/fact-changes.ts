import { all, config, type Edit, field, range, row, type Row, routewright, tag } from "./feature-model.js";

const withConstraints: Edit = ({ columns }) => {
  columns.total.constraints = [{ type: "unique" }];
  columns.code.constraints = [{ type: "foreign_key", to: "ref('codes')", to_columns: ["code"] }];
};

/** Changes of what tests and constraints guarantee, of the owner and of the stability. */
export const FACT_CHANGES: readonly Row[] = [
  ...(
    [
      ["narrower", { min_value: 0.1, max_value: 1 }],
      ["narrower at the top", { min_value: 0, max_value: 0.5 }],
      ["without its bounds themselves", { min_value: 0, max_value: 1, inclusive: false }],
    ] as const
  ).map(([change, kwargs]) =>
    row(
      `the range of a column becomes ${change}`,
      range(kwargs),
      "range-narrowed ratio",
      "range-widened ratio",
    ),
  ),
  ...(
    [
      ["open at the top", { min_value: 0 }],
      ["open at the bottom", { max_value: 1 }],
      ["an expression, which promises nothing,", { min_value: "least(a, b)", max_value: 1 }],
    ] as const
  ).map(([change, kwargs]) =>
    row(
      `the range of a column becomes ${change}`,
      range(kwargs),
      "range-widened ratio",
      "range-narrowed ratio",
    ),
  ),
  row(
    "the range of a column moves up",
    range({ min_value: 1, max_value: 2 }),
    "range-widened ratio",
    "range-widened ratio",
  ),
  row(
    "the range test comes from another package",
    (_, { nodes }) =>
      Object.assign(nodes["test.shop.range_ratio"].test_metadata, {
        name: "expect_column_values_to_be_between",
        namespace: "dbt_expectations",
      }),
    [],
    [],
  ),
  row(
    "the range test goes",
    (_, { nodes }) => delete nodes["test.shop.range_ratio"],
    "range-widened ratio",
    "range-narrowed ratio",
  ),
  row(
    "the range test only warns",
    (_, { nodes }) => (nodes["test.shop.range_ratio"].config.severity = "warn"),
    "range-widened ratio",
    "range-narrowed ratio",
  ),
  row(
    "a unique and a foreign_key constraint go",
    ({ columns }) => {
      columns.total.constraints = [];
      columns.code.constraints = [];
    },
    ["unique-test-removed total", "reference-changed code", "constraint-removed"],
    ["unique-test-added total", "reference-added code", "constraint-added"],
    withConstraints,
  ),
  row(
    "the unique test goes",
    (_, { nodes }) => delete nodes["test.shop.unique_id"],
    "unique-test-removed id",
    "unique-test-added id",
  ),
  row(
    "the relationships test goes",
    (_, { nodes }) => delete nodes["test.shop.shop_in_shops"],
    "reference-changed shop",
    "reference-added shop",
  ),
  row(
    "the relationships test names another model",
    (_, { nodes }) => (nodes["test.shop.shop_in_shops"].test_metadata.kwargs.to = "ref('markets')"),
    "reference-changed shop",
    "reference-changed shop",
  ),
  row("the model has an owner", field({ meta: { owner: "ann" } }), "owner-changed", "owner-changed"),
  row(
    "the model's group is another",
    config({ group: "finance" }),
    "owner-changed",
    "owner-changed",
    config({ group: "sales" }),
  ),
  row(
    "the endpoint becomes a preview",
    routewright({ stability: "preview" }),
    "stability-lowered",
    "stability-raised",
  ),
  row(
    "the rows are promised to be fresh",
    routewright({ fresh_within: "26h" }),
    "freshness-tightened",
    "freshness-loosened",
  ),
  row(
    "rows are refused while a test fails",
    routewright({ on_failed_test: "refuse" }),
    "failed-tests-refused",
    "failed-tests-served",
  ),
  row(
    "the rows may be older",
    routewright({ fresh_within: "2d" }),
    "freshness-loosened",
    "freshness-tightened",
    routewright({ fresh_within: "26h" }),
  ),
  row(
    "the rows are promised for a later time of day",
    routewright({ fresh_by: "06:30 Europe/Vienna" }),
    "freshness-loosened",
    "freshness-tightened",
    routewright({ fresh_by: "06:00 Europe/Vienna" }),
  ),
  row(
    "dbt calls rows an error later",
    config({ freshness: { error_after: { count: 2, period: "day" } } }),
    "freshness-loosened",
    "freshness-tightened",
    config({ freshness: { error_after: { count: 26, period: "hour" } } }),
  ),
  row(
    "the rows are promised in another zone",
    routewright({ fresh_by: "06:00 UTC" }),
    "freshness-loosened",
    "freshness-loosened",
    routewright({ fresh_by: "06:00 Europe/Vienna" }),
  ),
  row(
    "shared caches keep rows longer",
    routewright({ max_age: { max_age: 60, stale_while_revalidate: 600 } }),
    "public-age-raised",
    "public-age-lowered",
    all(tag("tier1", "tier0"), routewright({ max_age: 300 })),
  ),
  row(
    "shared caches keep rows",
    routewright({ max_age: 60 }),
    "public-age-raised",
    "public-age-lowered",
    tag("tier1", "tier0"),
  ),
  row("nobody's rows stay in shared caches, however long", routewright({ max_age: 60 }), [], []),
];
