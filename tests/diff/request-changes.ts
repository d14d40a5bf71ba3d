import {
  type Raw,
  type Edit,
  all,
  api,
  field,
  parameter,
  requires,
  row,
  type Row,
  sunset,
  tag,
  unfiltered,
} from "./feature-model.js";

/** A model above, by two steps, has these columns. */
const readsFrom =
  (columns: Raw): Edit =>
  (model, manifest) => {
    const parent = (name: string, columns: Raw, nodes: string[]): Raw => ({
      resource_type: "model",
      name,
      schema: "staging",
      columns,
      depends_on: { nodes },
    });
    manifest.nodes["model.shop.customers"] = parent("customers", columns, []);
    manifest.nodes["model.shop.joined"] = parent("joined", {}, ["model.shop.customers"]);
    model.depends_on = { nodes: ["model.shop.joined"] };
  };

/** The endpoint's model reads a source, a seed or a snapshot through another model. */
const readsFromOther =
  (id: string, node: object): Edit =>
  (model, manifest) => {
    const other = { original_file_path: "models/raw.yml", tags: [], config: {}, ...node };
    if (id.startsWith("source.")) manifest.sources = { [id]: other };
    else manifest.nodes[id] = other;
    manifest.nodes["model.shop.staged"] = {
      resource_type: "model",
      name: "staged",
      original_file_path: "models/staged.sql",
      tags: [],
      columns: {},
      config: {},
      depends_on: { nodes: [id] },
    };
    model.depends_on = { nodes: ["model.shop.staged"] };
  };

const withParameter = (values: object): Edit =>
  api((settings) => {
    settings.parameters.push({ name: "extra", type: "string", ...values });
    settings.require_any_of = [...settings.require_any_of, "extra"];
  });

/** Edits after which everybody can read all rows, with the subject of the change and what else is reported. */
const OPENED_AT_TIER0: readonly (readonly [
  change: string,
  edit: Edit,
  subject: string,
  ...more: string[],
])[] = [
  [
    "require_any_of goes",
    api((settings) => delete settings.require_any_of),
    "allow_unfiltered",
    "compatible require-any-of-loosened require_any_of",
  ],
  [
    "require_any_of is empty",
    requires(),
    "allow_unfiltered",
    "compatible require-any-of-loosened require_any_of",
  ],
  [
    "require_any_of is misspelt",
    api((settings) => {
      settings.require_any_off = settings.require_any_of;
      delete settings.require_any_of;
    }),
    "allow_unfiltered",
    "compatible require-any-of-loosened require_any_of",
  ],
  [
    "a search suffices",
    requires("shop", "search"),
    "search",
    "compatible require-any-of-loosened require_any_of",
  ],
  ["a date suffices", requires("shop", "to"), "to", "compatible require-any-of-loosened require_any_of"],
  ["any parameter suffices", requires(), "search", "compatible require-any-of-loosened require_any_of"],
  [
    "a new parameter >= suffices",
    withParameter({ column: "day", operator: ">=", type: "date" }),
    "extra",
    "compatible parameter-added extra",
    "compatible require-any-of-loosened require_any_of",
  ],
  [
    "a new parameter with published values suffices",
    withParameter({ column: "status", operator: "=" }),
    "extra",
    "compatible parameter-added extra",
    "compatible require-any-of-loosened require_any_of",
  ],
];

const CLOSED: readonly string[] = ["breaking require-any-of-added require_any_of"];
const NARROWED: readonly string[] = ["breaking require-any-of-narrowed require_any_of"];
const WITHOUT_EXTRA: readonly string[] = ["breaking parameter-removed extra", ...NARROWED];
const CLOSED_AGAIN: Readonly<Record<string, readonly string[]>> = {
  "require_any_of goes": CLOSED,
  "require_any_of is empty": CLOSED,
  "require_any_of is misspelt": CLOSED,
  "any parameter suffices": CLOSED,
  "a search suffices": NARROWED,
  "a date suffices": NARROWED,
  "a new parameter >= suffices": WITHOUT_EXTRA,
  "a new parameter with published values suffices": WITHOUT_EXTRA,
};

/** A source beside the model. */
const withSource =
  (node: object): Edit =>
  (_, manifest) => {
    const source = { resource_type: "source", schema: "analytics", config: {}, ...node };
    manifest.sources = { "source.shop.raw.people": source };
  };

/** A second model with an endpoint of its own, and no tests. */
const withOther =
  (tier: string): Edit =>
  ({ columns, description }, { nodes }) => {
    for (const id of Object.keys(nodes).filter((key) => key.startsWith("test.")))
      Reflect.deleteProperty(nodes, id);
    nodes["model.shop.other"] = {
      resource_type: "model",
      name: "other",
      alias: "other",
      schema: "analytics",
      description,
      tags: ["production", tier, "shop", "api:other"],
      columns,
      config: nodes["model.shop.sales"].config,
    };
  };

const swapTags: Edit = (model, { nodes }) => {
  const other = nodes["model.shop.other"];
  [model.tags, other.tags] = [other.tags, model.tags];
};

/** Changes of access, endpoints, parameters and pages. */
export const REQUEST_CHANGES: readonly Row[] = [
  // Access.
  row("the tier is lowered", tag("tier1", "tier0"), "exposing tier-lowered", "breaking tier-raised"),
  row("the tier tag is lost", tag("tier1", null), "exposing tier-lowered", "breaking tier-raised"),
  row("the tier tag of a tier0 endpoint is lost", tag("tier0", null), [], [], tag("tier1", "tier0")),
  row(
    "a column appears on a model with a private one",
    ({ columns }) => (columns.email = { name: "email", data_type: "text" }),
    "exposing column-exposed email",
    "breaking column-removed email",
    ({ columns }) => (columns.shop.meta = { pii: true }),
  ),
  row(
    "a column appears that a model above marks private",
    ({ columns }) => (columns.email = { name: "email", data_type: "text" }),
    "exposing column-exposed email",
    "breaking column-removed email",
    readsFrom({ Email: { name: "Email", data_type: "text", meta: { pii: true } } }),
  ),
  row(
    "a column appears beside one that is private in a model above",
    ({ columns }) => (columns.note = { name: "note", data_type: "text" }),
    "exposing column-exposed note",
    "breaking column-removed note",
    readsFrom({ shop: { name: "shop", data_type: "text", meta: { pii: true } } }),
  ),
  row(
    "a column appears that has another name than the private one of a model above",
    ({ columns }) => (columns.note = { name: "note", data_type: "text" }),
    "compatible column-added note",
    "breaking column-removed note",
    readsFrom({ email: { name: "email", data_type: "text", meta: { pii: true } } }),
  ),
  ...(
    [
      ["a source", "source.shop.raw.customers", "source"],
      ["a seed", "seed.shop.customers", "seed"],
      ["a snapshot", "snapshot.shop.customers", "snapshot"],
    ] as const
  ).flatMap(([what, id, kind]) =>
    (
      [
        ["marks private", { columns: { Email: { name: "Email", meta: { pii: true } } } }],
        ["declares, private as a whole", { columns: { email: { name: "email" } }, tags: ["pii"] }],
      ] as const
    ).map(([how, node]) =>
      row(
        `a column appears that ${what} above ${how}`,
        ({ columns }) => (columns.email = { name: "email", data_type: "text" }),
        "exposing column-exposed email",
        "breaking column-removed email",
        readsFromOther(id, { resource_type: kind, name: "customers", ...node }),
      ),
    ),
  ),
  row(
    "a column appears that a source above marks as not private",
    ({ columns }) => (columns.email = { name: "email", data_type: "text" }),
    "compatible column-added email",
    "breaking column-removed email",
    readsFromOther("source.shop.raw.customers", {
      resource_type: "source",
      name: "customers",
      columns: { email: { name: "email", meta: { pii: false } } },
    }),
  ),
  row(
    "the tier tag is misspelt: the model is skipped, never served to everybody",
    tag("tier1", "teir1"),
    "breaking endpoint-removed",
    "compatible endpoint-added",
  ),
  row(
    "a column appears on a model marked private",
    ({ columns }) => (columns.email = { name: "email", data_type: "text" }),
    "exposing column-exposed email",
    "breaking column-removed email",
    (model) => (model.config.meta.contains_pii = true),
  ),
  row(
    "allow_unfiltered is turned on at tier0",
    unfiltered(true),
    "exposing unfiltered-allowed-at-tier0 allow_unfiltered",
    "breaking unfiltered-refused allow_unfiltered",
    all(tag("tier1", "tier0"), unfiltered(false)),
  ),
  ...OPENED_AT_TIER0.map(([change, edit, subject, ...more]) =>
    row(
      `at tier0, where a known shop is needed: ${change}`,
      edit,
      [`exposing unfiltered-allowed-at-tier0 ${subject}`, ...more],
      CLOSED_AGAIN[change] ?? [],
      all(tag("tier1", "tier0"), unfiltered(subject === "allow_unfiltered"), requires("shop")),
    ),
  ),
  row(
    "a model with a private column is published at tier0",
    tag("staging", "production"),
    ["exposing private-endpoint-added", "compatible endpoint-added"],
    "breaking endpoint-removed",
    all(
      tag("tier1", "tier0"),
      tag("production", "staging"),
      ({ columns }) => (columns.shop.meta = { pii: true }),
    ),
  ),
  row(
    "a model with a private column is published at tier3",
    tag("staging", "production"),
    "compatible endpoint-added",
    "breaking endpoint-removed",
    all(
      tag("tier1", "tier3"),
      tag("production", "staging"),
      ({ columns }) => (columns.shop.meta = { pii: true }),
    ),
  ),
  row(
    "the alias names the relation of a private source",
    field({ alias: "people" }),
    ["exposing rows-exposed", "warning relation-changed name"],
    "warning relation-changed name",
    withSource({ identifier: "people", tags: ["pii"] }),
  ),
  row(
    "the alias names a source with a private column",
    field({ alias: "people" }),
    ["exposing rows-exposed", "warning relation-changed name"],
    "warning relation-changed name",
    withSource({ name: "people", columns: { Shop: { name: "Shop", meta: { pii: true } } } }),
  ),
  row(
    "two models of one tier swap their api: tags",
    swapTags,
    ["breaking rows-exchanged", "breaking rows-exchanged", "warning model-changed", "warning model-changed"],
    ["breaking rows-exchanged", "breaking rows-exchanged", "warning model-changed", "warning model-changed"],
    withOther("tier1"),
  ),
  row(
    "a model of tier3 takes the path and the tier of another",
    swapTags,
    ["exposing rows-exposed", "breaking rows-exchanged", "warning model-changed", "warning model-changed"],
    ["exposing rows-exposed", "breaking rows-exchanged", "warning model-changed", "warning model-changed"],
    withOther("tier3"),
  ),
  row(
    "the relation of an endpoint of tier3 gets a path at tier1",
    (_, { nodes }) =>
      (nodes["model.shop.again"] = {
        ...nodes["model.shop.other"],
        name: "again",
        tags: ["production", "tier1", "shop", "api:again"],
      }),
    ["exposing rows-exposed", "compatible endpoint-added"],
    "breaking endpoint-removed",
    withOther("tier3"),
  ),
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
    "breaking parameter-renamed to",
    "breaking parameter-renamed until",
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
    "warning unfiltered-allowed allow_unfiltered",
  ),
  row(
    "require_any_of is added",
    requires("shop"),
    "breaking require-any-of-added require_any_of",
    ["warning unfiltered-allowed search", "compatible require-any-of-loosened require_any_of"],
    unfiltered(false),
  ),
  row(
    "require_any_of is added to a table that all may read",
    requires("shop"),
    "breaking require-any-of-added require_any_of",
    ["warning unfiltered-allowed allow_unfiltered", "compatible require-any-of-loosened require_any_of"],
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
