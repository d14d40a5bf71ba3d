import {
  all,
  api,
  config,
  type Edit,
  field,
  parameter,
  routewright,
  row,
  type Row,
  sunset,
} from "./feature-model.js";

const endsAfter = (after: string): Edit => routewright({ gone_after: after });

/** Changes of columns, their order, deprecation and descriptions. */
export const ROW_CHANGES: readonly Row[] = [
  // Columns.
  row(
    "a column goes",
    ({ columns }) => delete columns.payload,
    "column-removed payload",
    "column-added payload",
  ),
  row(
    "two columns swap places",
    (model) => {
      const { labels, payload, ...rest } = model.columns;
      model.columns = { ...rest, payload, labels };
    },
    "column-order-changed",
    "column-order-changed",
  ),
  row(
    "a column comes in the middle",
    (model) => {
      const { payload, ...rest } = model.columns;
      model.columns = { ...rest, extra: { name: "extra", data_type: "text" }, payload };
    },
    ["column-order-changed", "column-added extra"],
    ["column-removed extra"],
  ),
  row(
    "no column is declared any more",
    (model) => {
      model.columns = {};
      model.config.meta.api = { allow_unfiltered: true };
    },
    ["columns-undeclared", "constraint-removed"],
    ["columns-declared", "constraint-added"],
    (model) => {
      model.config.meta.api = { allow_unfiltered: true };
    },
  ),
  row(
    "a not_null constraint goes",
    ({ columns }) => (columns.id.constraints = []),
    ["column-made-nullable id", "constraint-removed"],
    ["column-made-non-null id", "constraint-added"],
  ),
  ...(
    [
      ["the contract is no longer enforced", config({ contract: { enforced: false } })],
      ["the table becomes a view", config({ materialized: "view" })],
    ] as const
  ).map(([change, edit]) =>
    row(
      `${change}, so dbt builds no constraint`,
      edit,
      ["column-made-nullable id", "constraint-removed"],
      ["column-made-non-null id", "constraint-added"],
    ),
  ),
  row(
    "a second accepted_values test allows fewer",
    (_, manifest) => {
      const { "test.shop.values_status": first, ...nodes } = manifest.nodes;
      const second = {
        ...first,
        test_metadata: { name: "accepted_values", kwargs: { values: ["open", "void"] } },
      };
      manifest.nodes = { "test.shop.values_status_2": second, ...nodes, "test.shop.values_status": first };
    },
    "accepted-values-narrowed status",
    "accepted-values-widened status",
  ),
  row(
    "a not_null test goes",
    (_, { nodes }) => delete nodes["test.shop.not_null_shop"],
    "column-null-test-removed shop",
    "column-made-non-null shop",
  ),
  row(
    "a filtered column gets an accepted_values test",
    (_, { nodes }) => {
      const { test_metadata, ...test } = nodes["test.shop.values_status"];
      const kwargs = { values: ["shop 1", "shop 2", "shop 3"] };
      nodes["test.shop.values_shop"] = {
        ...test,
        column_name: "shop",
        test_metadata: { ...test_metadata, kwargs },
      };
    },
    ["parameter-values-narrowed shop", "accepted-values-narrowed shop"],
    "accepted-values-widened shop",
  ),
  row(
    "accepted_values is narrowed",
    (_, { nodes }) => (nodes["test.shop.values_status"].test_metadata.kwargs.values = ["paid"]),
    "accepted-values-narrowed status",
    "accepted-values-widened status",
  ),
  row(
    "the accepted_values test goes",
    (_, { nodes }) => delete nodes["test.shop.values_status"],
    "accepted-values-widened status",
    "accepted-values-narrowed status",
  ),
  row(
    "the fixed sort changes",
    api(({ sort }) => (sort[0].direction = "ASC")),
    "sort-changed",
    "sort-changed",
  ),
  row(
    "the fixed sort gets a tie-breaker",
    api(({ sort }) => sort.push({ column: "id", direction: "ASC" })),
    "sort-extended",
    "sort-changed",
  ),
  row(
    "a sortable field goes",
    api((settings) => (settings.sortable_fields = ["day"])),
    "sortable-field-removed amount",
    "sortable-field-added amount",
  ),
  // Deprecation: today is 2030-01-31, the minimum notice 30 days.
  row("a sunset is announced in time", sunset("2030-03-02"), "endpoint-deprecated", "deprecation-lifted"),
  row("a sunset is announced too late", sunset("2030-03-01"), "sunset-too-soon", "deprecation-lifted"),
  row("a sunset is announced in the past", sunset("2029-12-31"), "sunset-too-soon", "deprecation-lifted"),
  row(
    "a sunset is brought forward in time",
    sunset("2030-05-01"),
    "sunset-brought-forward",
    "sunset-put-off",
    sunset("2030-06-01"),
  ),
  row(
    "a sunset is brought forward below the notice",
    sunset("2030-02-10"),
    "sunset-too-soon",
    "sunset-put-off",
    sunset("2030-06-01"),
  ),
  // An end is announced by its sunset and the days after it: 30 days after 2030-02-01 is 2030-03-03.
  row("calls will get 410 in time", endsAfter("30d"), "gone-announced", "gone-put-off", sunset("2030-02-01")),
  row("calls will get 410 too soon", endsAfter("1d"), "gone-too-soon", "gone-put-off", sunset("2030-02-01")),
  row(
    "calls get 410 later",
    endsAfter("60d"),
    "gone-put-off",
    "gone-announced",
    all(sunset("2030-02-01"), endsAfter("30d")),
  ),
  row(
    "another version is the latest",
    (_, { nodes }) => {
      for (const version of [1, 2]) nodes[`model.shop.sales.v${version}`].latest_version = 2;
    },
    ["version-changed", "successor-changed", "successor-changed"],
    ["version-changed", "successor-changed", "successor-changed"],
    (model, { nodes }) => {
      for (const name of Object.keys(nodes).filter((id) => id.startsWith("test.")))
        Reflect.deleteProperty(nodes, name);
      nodes["model.shop.sales.v1"] = { ...model, version: 1, latest_version: 1 };
      nodes["model.shop.sales.v2"] = {
        ...model,
        version: 2,
        latest_version: 1,
        alias: "sales_v2",
      };
      delete nodes["model.shop.sales"];
    },
  ),
  row(
    "a newer version of the model appears",
    (model, { nodes }) => {
      const { meta } = model.config;
      nodes["model.shop.sales.v1"] = { ...model, version: 1, latest_version: 2 };
      nodes["model.shop.sales.v2"] = {
        ...model,
        version: 2,
        latest_version: 2,
        alias: "sales_v2",
        tags: model.tags.with(3, "api:sales2"),
        config: { meta },
      };
      delete nodes["model.shop.sales"];
    },
    ["successor-changed", "endpoint-added"],
    ["endpoint-removed", "successor-changed"],
    (_, { nodes }) => {
      for (const name of Object.keys(nodes).filter((id) => id.startsWith("test.")))
        Reflect.deleteProperty(nodes, name);
    },
  ),
  // Words.
  row(
    "the description changes",
    field({ description: "All sales." }),
    "description-changed",
    "description-changed",
  ),
  row(
    "a column's description changes",
    ({ columns }) => (columns.day.description = "A day."),
    "description-changed column day",
    "description-changed column day",
  ),
  row(
    "a parameter's description changes",
    parameter("shop", { description: "One." }),
    "description-changed parameter shop",
    "description-changed parameter shop",
  ),
];
