import { api, config, field, parameter, row, type Row, sunset } from "./feature-model.js";

/** Changes of columns, their order, deprecation and descriptions. */
export const ROW_CHANGES: readonly Row[] = [
  // Columns.
  row(
    "a column goes",
    ({ columns }) => delete columns.payload,
    "breaking column-removed payload",
    "compatible column-added payload",
  ),
  row(
    "two columns swap places",
    (model) => {
      const { labels, payload, ...rest } = model.columns;
      model.columns = { ...rest, payload, labels };
    },
    "warning column-order-changed",
    "warning column-order-changed",
  ),
  row(
    "a column comes in the middle",
    (model) => {
      const { payload, ...rest } = model.columns;
      model.columns = { ...rest, extra: { name: "extra", data_type: "text" }, payload };
    },
    ["warning column-order-changed", "compatible column-added extra"],
    ["breaking column-removed extra"],
  ),
  row(
    "no column is declared any more",
    (model) => {
      model.columns = {};
      model.config.meta.api = { allow_unfiltered: true };
    },
    "exposing columns-undeclared",
    "warning columns-declared",
    (model) => {
      model.config.meta.api = { allow_unfiltered: true };
    },
  ),
  row(
    "a not_null constraint goes",
    ({ columns }) => (columns.id.constraints = []),
    "breaking column-made-nullable id",
    "compatible column-made-non-null id",
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
      "breaking column-made-nullable id",
      "compatible column-made-non-null id",
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
    "compatible accepted-values-narrowed status",
    "warning accepted-values-widened status",
  ),
  row(
    "a not_null test goes",
    (_, { nodes }) => delete nodes["test.shop.not_null_shop"],
    "warning column-null-test-removed shop",
    "compatible column-made-non-null shop",
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
    ["breaking parameter-values-narrowed shop", "compatible accepted-values-narrowed shop"],
    "warning accepted-values-widened shop",
  ),
  row(
    "accepted_values is narrowed",
    (_, { nodes }) => (nodes["test.shop.values_status"].test_metadata.kwargs.values = ["paid"]),
    "compatible accepted-values-narrowed status",
    "warning accepted-values-widened status",
  ),
  row(
    "the accepted_values test goes",
    (_, { nodes }) => delete nodes["test.shop.values_status"],
    "warning accepted-values-widened status",
    "compatible accepted-values-narrowed status",
  ),
  row(
    "the fixed sort changes",
    api(({ sort }) => (sort[0].direction = "ASC")),
    "breaking sort-changed",
    "breaking sort-changed",
  ),
  row(
    "the fixed sort gets a tie-breaker",
    api(({ sort }) => sort.push({ column: "id", direction: "ASC" })),
    "compatible sort-extended",
    "breaking sort-changed",
  ),
  row(
    "a sortable field goes",
    api((settings) => (settings.sortable_fields = ["day"])),
    "breaking sortable-field-removed amount",
    "compatible sortable-field-added amount",
  ),
  // Deprecation: today is 2030-01-31, the minimum notice 30 days.
  row(
    "a sunset is announced in time",
    sunset("2030-03-02"),
    "warning endpoint-deprecated",
    "warning deprecation-lifted",
  ),
  row(
    "a sunset is announced too late",
    sunset("2030-03-01"),
    "breaking sunset-too-soon",
    "warning deprecation-lifted",
  ),
  row(
    "a sunset is announced in the past",
    sunset("2029-12-31"),
    "breaking sunset-too-soon",
    "warning deprecation-lifted",
  ),
  row(
    "a sunset is brought forward in time",
    sunset("2030-05-01"),
    "warning sunset-brought-forward",
    "compatible sunset-put-off",
    sunset("2030-06-01"),
  ),
  row(
    "a sunset is brought forward below the notice",
    sunset("2030-02-10"),
    "breaking sunset-too-soon",
    "compatible sunset-put-off",
    sunset("2030-06-01"),
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
    ["compatible successor-changed", "compatible endpoint-added"],
    ["breaking endpoint-removed", "compatible successor-changed"],
    (_, { nodes }) => {
      for (const name of Object.keys(nodes).filter((id) => id.startsWith("test.")))
        Reflect.deleteProperty(nodes, name);
    },
  ),
  // Words.
  row(
    "the description changes",
    field({ description: "All sales." }),
    "compatible description-changed",
    "compatible description-changed",
  ),
  row(
    "a column's description changes",
    ({ columns }) => (columns.day.description = "A day."),
    "compatible description-changed column day",
    "compatible description-changed column day",
  ),
  row(
    "a parameter's description changes",
    parameter("shop", { description: "One." }),
    "compatible description-changed parameter shop",
    "compatible description-changed parameter shop",
  ),
];
