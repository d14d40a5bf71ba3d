import {
  all,
  api,
  field,
  parameter,
  requires,
  routewright,
  row,
  type Row,
  sunset,
  tag,
  type,
  unfiltered,
} from "./feature-model.js";

/** The model under another resource, which answers at its first path until the sunset. */
const moved = (date: string) =>
  all(
    tag("api:sales", "api:orders"),
    routewright({ former_paths: [{ path: "/v1/shop/sales/daily", sunset: date }] }),
  );

/** Changes of endpoints, parameters and pages. */
export const REQUEST_CHANGES: readonly Row[] = [
  // Endpoints.
  row(
    "the model is no longer published",
    tag("production", null),
    "breaking endpoint-removed",
    "compatible endpoint-added",
  ),
  row(
    "the endpoint goes after its sunset",
    tag("production", null),
    "compatible endpoint-retired",
    "compatible endpoint-added",
    sunset("2030-01-30"),
  ),
  row(
    "the model is excluded",
    api((settings) => (settings.exclude_from_api = true)),
    "breaking endpoint-removed",
    "compatible endpoint-added",
  ),
  row(
    "the model becomes invalid",
    parameter("shop", { column: "nowhere" }),
    "breaking endpoint-removed",
    "compatible endpoint-added",
  ),
  row("the path moves", tag("api:sales", "api:orders"), "breaking path-moved", "breaking path-moved"),
  row(
    "the path moves and the old one answers long enough",
    moved("2030-03-02"),
    ["compatible endpoint-added", "compatible path-moved-with-notice"],
    ["breaking endpoint-removed", "warning deprecation-lifted", "compatible successor-changed"],
  ),
  row(
    "the path moves and the old one answers too briefly",
    moved("2030-03-01"),
    ["breaking sunset-too-soon", "compatible endpoint-added", "compatible successor-changed"],
    ["breaking endpoint-removed", "warning deprecation-lifted", "compatible successor-changed"],
  ),
  row(
    "an old path goes before its sunset",
    routewright({ former_paths: [] }),
    "breaking endpoint-removed",
    "compatible endpoint-added",
    moved("2030-02-01"),
  ),
  row(
    "an old path goes on its sunset",
    routewright({ former_paths: [] }),
    "compatible endpoint-retired",
    "compatible endpoint-added",
    moved("2030-01-31"),
  ),
  row(
    "another model serves the path",
    (_, { nodes }) => {
      nodes["model.shop.other"] = { ...nodes["model.shop.sales"], name: "other", alias: "other" };
      for (const key of Object.keys(nodes)) {
        if (nodes[key].attached_node) nodes[key].attached_node = "model.shop.other";
      }
      delete nodes["model.shop.sales"];
    },
    "warning model-changed",
    "warning model-changed",
  ),
  row(
    "the schema changes",
    field({ schema: "mart" }),
    "warning relation-changed schema",
    "warning relation-changed schema",
  ),
  row(
    "the alias changes",
    field({ alias: "sales_2" }),
    "warning relation-changed name",
    "warning relation-changed name",
  ),
  row(
    "POST goes",
    api((settings) => (settings.methods = ["GET"])),
    "breaking method-removed POST",
    "compatible method-added POST",
  ),
  // Rows of organizations, choice of columns.
  row(
    "rows are kept apart by organization",
    routewright({ rows: { column: "shop", equals: "org" } }),
    "breaking own-rows-added",
    "exposing own-rows-removed",
  ),
  row(
    "rows are kept apart by another column",
    routewright({ rows: { column: "code", equals: "org" } }),
    "exposing own-rows-changed",
    "exposing own-rows-changed",
    routewright({ rows: { column: "shop", equals: "org" } }),
  ),
  row(
    "pages follow each other by cursor",
    routewright({ cursor: true }),
    "compatible cursor-added",
    "breaking cursor-removed",
  ),
  row(
    "other columns end the sort of pages",
    api((settings) => settings.sort.push({ column: "shop", direction: "ASC" })),
    ["breaking cursor-changed", "compatible sort-extended"],
    ["breaking cursor-changed", "breaking sort-changed"],
    all(routewright({ cursor: true }), (_, manifest) => {
      manifest.nodes["test.shop.unique_day_shop"] = {
        resource_type: "test",
        attached_node: "model.shop.sales",
        test_metadata: {
          name: "unique_combination_of_columns",
          kwargs: { combination_of_columns: ["day", "shop"] },
        },
        config: {},
      };
    }),
  ),
  row(
    "columns can be chosen",
    routewright({ fields: true }),
    "compatible fields-added",
    "breaking fields-removed",
  ),
  // Filtered columns.
  row(
    "a column can be filtered",
    routewright({ filters: ["amount"] }),
    "compatible filter-added amount",
    "breaking filter-removed amount",
  ),
  row(
    "a filtered column becomes a number of another kind",
    type("quantity", "numeric(20,4)"),
    "breaking column-retyped quantity",
    ["breaking filter-type-changed quantity", "breaking column-scale-lowered quantity"],
    routewright({ filters: ["quantity"] }),
  ),
  row(
    "a range of a column can match all rows where a known value was needed",
    routewright({ filters: ["amount"] }),
    ["exposing unfiltered-allowed amount", "compatible filter-added amount"],
    "breaking filter-removed amount",
    all(
      unfiltered(false),
      api((settings) => (settings.parameters = settings.parameters.slice(0, 1))),
    ),
  ),
  // Parameters.
  row(
    "a parameter goes",
    api(({ parameters }) => parameters.pop()),
    "breaking parameter-removed to",
    "compatible parameter-added to",
  ),
  row(
    "a parameter is renamed",
    parameter("to", { name: "until" }),
    ["breaking parameter-removed to", "compatible parameter-added until"],
    ["breaking parameter-removed until", "compatible parameter-added to"],
  ),
  row(
    "a parameter filters another column",
    parameter("shop", { column: "status" }),
    "breaking parameter-column-changed shop",
    "breaking parameter-column-changed shop",
  ),
  row(
    "= becomes ILIKE",
    parameter("shop", { operator: "ILIKE" }),
    "breaking parameter-operator-changed shop",
    "breaking parameter-operator-changed shop",
  ),
  row(
    ">= becomes <=",
    parameter("from", { operator: "<=" }),
    "breaking parameter-operator-changed from",
    "breaking parameter-operator-changed from",
  ),
  row(
    "= becomes IN",
    parameter("shop", { operator: "IN", type: "string_list" }),
    "warning parameter-takes-list shop",
    "breaking parameter-operator-changed shop",
  ),
  row(
    "letter case is folded",
    parameter("shop", { case: "upper" }),
    "warning parameter-case-added shop",
    "breaking parameter-case-removed shop",
  ),
  row(
    "letter case is folded the other way",
    parameter("code", { case: "upper" }),
    "warning parameter-case-added code",
    "warning parameter-case-added code",
  ),
  row("ILIKE folds letter case too", parameter("search", { case: "upper" }), [], []),
  row(
    "max_items is lowered",
    parameter("ids", { max_items: 3 }),
    "breaking max-items-lowered ids",
    "compatible max-items-raised ids",
  ),
  row(
    "max_items is left out",
    parameter("ids", { max_items: undefined }),
    "compatible max-items-raised ids",
    "breaking max-items-lowered ids",
  ),
  row(
    "max_length is set",
    parameter("shop", { max_length: 20 }),
    "breaking max-length-lowered shop",
    "compatible max-length-raised shop",
  ),
  row(
    "a filter is required",
    unfiltered(false),
    "breaking unfiltered-refused allow_unfiltered",
    "exposing unfiltered-allowed allow_unfiltered",
  ),
  row(
    "require_any_of is added",
    requires("shop"),
    "breaking require-any-of-added require_any_of",
    ["exposing unfiltered-allowed search", "compatible require-any-of-loosened require_any_of"],
    unfiltered(false),
  ),
  row(
    "require_any_of is added to a table that all may read",
    requires("shop"),
    "breaking require-any-of-added require_any_of",
    ["exposing unfiltered-allowed allow_unfiltered", "compatible require-any-of-loosened require_any_of"],
  ),
  row(
    "require_any_of names all parameters",
    requires("shop", "code", "ids", "search", "from", "to"),
    [],
    "compatible require-any-of-loosened require_any_of",
    unfiltered(false),
  ),
  row(
    "require_any_of is narrowed",
    requires("shop"),
    "breaking require-any-of-narrowed require_any_of",
    "compatible require-any-of-loosened require_any_of",
    all(unfiltered(false), requires("shop", "code")),
  ),
  row(
    "require_any_of names another",
    requires("code"),
    "breaking require-any-of-narrowed require_any_of",
    "breaking require-any-of-narrowed require_any_of",
    all(unfiltered(false), requires("shop")),
  ),
  row(
    "require_any_of is reordered",
    requires("code", "shop"),
    [],
    [],
    all(unfiltered(false), requires("shop", "code")),
  ),
  // Pages.
  row(
    "pagination is turned off",
    api((settings) => delete settings.pagination),
    "breaking pagination-disabled",
    "breaking pagination-enabled",
  ),
  row(
    "default_limit is lowered",
    api(({ pagination }) => (pagination.default_limit = 5)),
    "breaking default-limit-lowered",
    "warning default-limit-raised",
  ),
  row(
    "max_limit is lowered",
    api(({ pagination }) => (pagination.max_limit = 50)),
    "breaking max-limit-lowered",
    "compatible max-limit-raised",
  ),
  row(
    "the response becomes an envelope",
    api(({ pagination }) => (pagination.response = "envelope")),
    "breaking response-mode-changed",
    "breaking response-mode-changed",
  ),
];
