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
  row("the model is no longer published", tag("production", null), "endpoint-removed", "endpoint-added"),
  row(
    "the endpoint goes after its sunset",
    tag("production", null),
    "endpoint-retired",
    "endpoint-added",
    sunset("2030-01-30"),
  ),
  row(
    "the model is excluded",
    api((settings) => (settings.exclude_from_api = true)),
    "endpoint-removed",
    "endpoint-added",
  ),
  row(
    "the model becomes invalid",
    parameter("shop", { column: "nowhere" }),
    "endpoint-removed",
    "endpoint-added",
  ),
  row("the path moves", tag("api:sales", "api:orders"), "path-moved", "path-moved"),
  row(
    "the path moves and the old one answers long enough",
    moved("2030-03-02"),
    ["endpoint-added", "path-moved-with-notice"],
    ["endpoint-removed", "deprecation-lifted", "successor-changed"],
  ),
  row(
    "the path moves and the old one answers too briefly",
    moved("2030-03-01"),
    ["sunset-too-soon", "endpoint-added", "successor-changed"],
    ["endpoint-removed", "deprecation-lifted", "successor-changed"],
  ),
  row(
    "an old path goes before its sunset",
    routewright({ former_paths: [] }),
    "endpoint-removed",
    "endpoint-added",
    moved("2030-02-01"),
  ),
  row(
    "an old path goes on its sunset",
    routewright({ former_paths: [] }),
    "endpoint-retired",
    "endpoint-added",
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
    "model-changed",
    "model-changed",
  ),
  row("the schema changes", field({ schema: "mart" }), "relation-changed schema", "relation-changed schema"),
  row("the alias changes", field({ alias: "sales_2" }), "relation-changed name", "relation-changed name"),
  row(
    "POST goes",
    api((settings) => (settings.methods = ["GET"])),
    "method-removed POST",
    "method-added POST",
  ),
  // Rows of organizations, choice of columns.
  row(
    "rows are kept apart by organization",
    routewright({ rows: { column: "shop", equals: "org" } }),
    "own-rows-added",
    "own-rows-removed",
  ),
  row(
    "rows are kept apart by another column",
    routewright({ rows: { column: "code", equals: "org" } }),
    "own-rows-changed",
    "own-rows-changed",
    routewright({ rows: { column: "shop", equals: "org" } }),
  ),
  row("pages follow each other by cursor", routewright({ cursor: true }), "cursor-added", "cursor-removed"),
  row(
    "other columns end the sort of pages",
    api((settings) => settings.sort.push({ column: "shop", direction: "ASC" })),
    ["cursor-changed", "sort-extended"],
    ["cursor-changed", "sort-changed"],
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
  row("columns can be chosen", routewright({ fields: true }), "fields-added", "fields-removed"),
  row(
    "old rows can be refused",
    routewright({ fresh_within: "26h", require_fresh: true }),
    "require-fresh-added",
    "require-fresh-removed",
    routewright({ fresh_within: "26h" }),
  ),
  row(
    "conditions can be combined",
    routewright({ filters: ["amount"], filter: true }),
    "expression-added",
    "expression-removed",
    routewright({ filters: ["amount"] }),
  ),
  // Filtered columns.
  row(
    "a column can be filtered",
    routewright({ filters: ["amount"] }),
    "filter-added amount",
    "filter-removed amount",
  ),
  row(
    "a filtered column becomes a number of another kind",
    type("quantity", "numeric(20,4)"),
    "column-retyped quantity",
    ["filter-type-changed quantity", "column-scale-lowered quantity"],
    routewright({ filters: ["quantity"] }),
  ),
  row(
    "a range of a column can match all rows where a known value was needed",
    routewright({ filters: ["amount"] }),
    ["unfiltered-allowed amount", "filter-added amount"],
    "filter-removed amount",
    all(
      unfiltered(false),
      api((settings) => (settings.parameters = settings.parameters.slice(0, 1))),
    ),
  ),
  // Parameters.
  row(
    "a parameter goes",
    api(({ parameters }) => parameters.pop()),
    "parameter-removed to",
    "parameter-added to",
  ),
  row(
    "a parameter is renamed",
    parameter("to", { name: "until" }),
    ["parameter-removed to", "parameter-added until"],
    ["parameter-removed until", "parameter-added to"],
  ),
  row(
    "a parameter filters another column",
    parameter("shop", { column: "status" }),
    "parameter-column-changed shop",
    "parameter-column-changed shop",
  ),
  row(
    "= becomes ILIKE",
    parameter("shop", { operator: "ILIKE" }),
    "parameter-operator-changed shop",
    "parameter-operator-changed shop",
  ),
  row(
    ">= becomes <=",
    parameter("from", { operator: "<=" }),
    "parameter-operator-changed from",
    "parameter-operator-changed from",
  ),
  row(
    "= becomes IN",
    parameter("shop", { operator: "IN", type: "string_list" }),
    "parameter-takes-list shop",
    "parameter-operator-changed shop",
  ),
  row(
    "letter case is folded",
    parameter("shop", { case: "upper" }),
    "parameter-case-added shop",
    "parameter-case-removed shop",
  ),
  row(
    "letter case is folded the other way",
    parameter("code", { case: "upper" }),
    "parameter-case-added code",
    "parameter-case-added code",
  ),
  row("ILIKE folds letter case too", parameter("search", { case: "upper" }), [], []),
  row(
    "max_items is lowered",
    parameter("ids", { max_items: 3 }),
    "max-items-lowered ids",
    "max-items-raised ids",
  ),
  row(
    "max_items is left out",
    parameter("ids", { max_items: undefined }),
    "max-items-raised ids",
    "max-items-lowered ids",
  ),
  row(
    "max_length is set",
    parameter("shop", { max_length: 20 }),
    "max-length-lowered shop",
    "max-length-raised shop",
  ),
  row(
    "a filter is required",
    unfiltered(false),
    "unfiltered-refused allow_unfiltered",
    "unfiltered-allowed allow_unfiltered",
  ),
  row(
    "require_any_of is added",
    requires("shop"),
    "require-any-of-added require_any_of",
    ["unfiltered-allowed search", "require-any-of-loosened require_any_of"],
    unfiltered(false),
  ),
  row(
    "require_any_of is added to a table that all may read",
    requires("shop"),
    "require-any-of-added require_any_of",
    ["unfiltered-allowed allow_unfiltered", "require-any-of-loosened require_any_of"],
  ),
  row(
    "require_any_of names all parameters",
    requires("shop", "code", "ids", "search", "from", "to"),
    [],
    "require-any-of-loosened require_any_of",
    unfiltered(false),
  ),
  row(
    "require_any_of names all parameters where a filtered column was enough",
    requires("shop", "code", "ids", "search", "from", "to"),
    "require-any-of-added require_any_of",
    "require-any-of-loosened require_any_of",
    all(unfiltered(false), routewright({ filters: ["amount"] })),
  ),
  row(
    "require_any_of is narrowed",
    requires("shop"),
    "require-any-of-narrowed require_any_of",
    "require-any-of-loosened require_any_of",
    all(unfiltered(false), requires("shop", "code")),
  ),
  row(
    "require_any_of names another",
    requires("code"),
    "require-any-of-narrowed require_any_of",
    "require-any-of-narrowed require_any_of",
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
    "pagination-disabled",
    "pagination-enabled",
  ),
  row(
    "default_limit is lowered",
    api(({ pagination }) => (pagination.default_limit = 5)),
    "default-limit-lowered",
    "default-limit-raised",
  ),
  row(
    "max_limit is lowered",
    api(({ pagination }) => (pagination.max_limit = 50)),
    "max-limit-lowered",
    "max-limit-raised",
  ),
  row(
    "the response becomes an envelope",
    api(({ pagination }) => (pagination.response = "envelope")),
    "response-mode-changed",
    "response-mode-changed",
  ),
];
