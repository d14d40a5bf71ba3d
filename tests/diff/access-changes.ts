import {
  all,
  api,
  type Edit,
  field,
  type Raw,
  requires,
  row,
  type Row,
  tag,
  unfiltered,
} from "./feature-model.js";

/** A model above, by two steps, has these columns. */
const readsFrom =
  (columns: Raw, sql: object = {}): Edit =>
  (model, manifest) => {
    const parent = (name: string, columns: Raw, nodes: string[]): Raw => ({
      resource_type: "model",
      name,
      schema: "staging",
      columns,
      depends_on: { nodes },
    });
    manifest.nodes["model.shop.customers"] = parent("customers", columns, []);
    manifest.nodes["model.shop.joined"] = { ...parent("joined", {}, ["model.shop.customers"]), ...sql };
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

/** Changes of who can read which rows. */
export const ACCESS_CHANGES: readonly Row[] = [
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
  ...(
    [
      ["a hash", "md5(c.email) as email", "compatible column-added email"],
      ["itself and a hash", "md5(email) as email, email as id", "exposing column-exposed email"],
    ] as const
  ).map(([what, columns, forwards]) =>
    row(
      `a private column of a model above appears as ${what}`,
      ({ columns: declared }) => (declared.email = { name: "email", data_type: "text" }),
      forwards,
      "breaking column-removed email",
      readsFrom(
        { email: { name: "email", data_type: "text", meta: { pii: true } } },
        { compiled_code: `select ${columns} from staging.customers c` },
      ),
    ),
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
];
