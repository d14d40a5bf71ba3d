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

const CLOSED = "require-any-of-added require_any_of";
const NARROWED = "require-any-of-narrowed require_any_of";

/** Edits after which everybody can read all rows, with the subject of the change and what is reported backwards. */
const OPENED_AT_TIER0: readonly (readonly [change: string, edit: Edit, subject: string, back: string])[] = [
  ["require_any_of goes", api((settings) => delete settings.require_any_of), "allow_unfiltered", CLOSED],
  ["require_any_of is empty", requires(), "allow_unfiltered", CLOSED],
  [
    "require_any_of is misspelt",
    api((settings) => {
      settings.require_any_off = settings.require_any_of;
      delete settings.require_any_of;
    }),
    "allow_unfiltered",
    CLOSED,
  ],
  ["a search suffices", requires("shop", "search"), "search", NARROWED],
  ["a date suffices", requires("shop", "to"), "to", NARROWED],
  ["any parameter suffices", requires(), "search", CLOSED],
  [
    "a new parameter >= suffices",
    withParameter({ column: "day", operator: ">=", type: "date" }),
    "extra",
    NARROWED,
  ],
  [
    "a new parameter with published values suffices",
    withParameter({ column: "status", operator: "=" }),
    "extra",
    NARROWED,
  ],
];

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

const SHOP_IS_PRIVATE: Edit = ({ columns }) => (columns.shop.meta = { pii: true });
const unmarked: Edit = ({ columns }) => {
  for (const column of Object.values<Raw>(columns)) delete column.meta;
};
const privateColumn = (name: string) => ({ [name]: { name, data_type: "text", meta: { pii: true } } });

/** A column appears on the model, which exposes private data or not. */
const appears = (change: string, kind: "exposed" | "added", given: Edit, name = "email"): Row =>
  row(
    change,
    ({ columns }) => (columns[name] = { name, data_type: "text" }),
    `column-${kind} ${name}`,
    `column-removed ${name}`,
    given,
  );

/** Changes of who can read which rows. */
export const ACCESS_CHANGES: readonly Row[] = [
  row("the tier is lowered", tag("tier1", "tier0"), "tier-lowered", "tier-raised"),
  row("the tier tag is lost", tag("tier1", null), "tier-lowered", "tier-raised"),
  row("the tier tag of a tier0 endpoint is lost", tag("tier0", null), [], [], tag("tier1", "tier0")),
  appears("a column appears on a model with a private one", "exposed", SHOP_IS_PRIVATE),
  appears(
    "a column appears that a model above marks private",
    "exposed",
    readsFrom({ Email: { name: "Email", data_type: "text", meta: { pii: true } } }),
  ),
  ...(
    [
      ["a hash", "md5(c.email) as email", "added"],
      ["itself and a hash", "md5(email) as email, email as id", "exposed"],
    ] as const
  ).map(([what, columns, kind]) =>
    appears(
      `a private column of a model above appears as ${what}`,
      kind,
      readsFrom(privateColumn("email"), { compiled_code: `select ${columns} from staging.customers c` }),
    ),
  ),
  appears(
    "a column appears beside one that is private in a model above",
    "exposed",
    readsFrom(privateColumn("shop")),
    "note",
  ),
  appears(
    "a column appears that has another name than the private one of a model above",
    "added",
    readsFrom(privateColumn("email")),
    "note",
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
      appears(
        `a column appears that ${what} above ${how}`,
        "exposed",
        readsFromOther(id, { resource_type: kind, name: "customers", ...node }),
      ),
    ),
  ),
  appears(
    "a column appears that a source above marks as not private",
    "added",
    readsFromOther("source.shop.raw.customers", {
      resource_type: "source",
      name: "customers",
      columns: { email: { name: "email", meta: { pii: false } } },
    }),
  ),
  appears(
    "a column appears on a model marked private",
    "exposed",
    (model) => (model.config.meta.contains_pii = true),
  ),
  row(
    "the tier tag is misspelt: the model is skipped, never served to everybody",
    tag("tier1", "teir1"),
    "endpoint-removed",
    "endpoint-added",
  ),
  row("the mark of a private column goes", unmarked, "private-mark-removed shop", [], SHOP_IS_PRIVATE),
  row(
    "the mark of a private column goes, and callers filter by it",
    all(unmarked, (model) => (model.config.meta.routewright = { filters: ["total"] })),
    ["private-mark-removed total", "filter-exposed total"],
    "filter-removed total",
    ({ columns }) => (columns.total.meta = { pii: true }),
  ),
  row(
    "allow_unfiltered is turned on at tier0",
    unfiltered(true),
    "unfiltered-allowed-at-tier0 allow_unfiltered",
    "unfiltered-refused allow_unfiltered",
    all(tag("tier1", "tier0"), unfiltered(false)),
  ),
  ...OPENED_AT_TIER0.map(([change, edit, subject, back]) => {
    const isNew = subject === "extra";
    return row(
      `at tier0, where a known shop is needed: ${change}`,
      edit,
      [
        `unfiltered-allowed-at-tier0 ${subject}`,
        ...(isNew ? ["parameter-added extra"] : []),
        "require-any-of-loosened require_any_of",
      ],
      [...(isNew ? ["parameter-removed extra"] : []), back],
      all(tag("tier1", "tier0"), unfiltered(subject === "allow_unfiltered"), requires("shop")),
    );
  }),
  ...(
    [
      ["tier0", ["private-endpoint-added", "endpoint-added"]],
      ["tier3", ["endpoint-added"]],
    ] as const
  ).map(([tier, forwards]) =>
    row(
      `a model with a private column is published at ${tier}`,
      tag("staging", "production"),
      forwards,
      "endpoint-removed",
      all(tag("tier1", tier), tag("production", "staging"), SHOP_IS_PRIVATE),
    ),
  ),
  ...(
    [
      ["the relation of a private source", { identifier: "people", tags: ["pii"] }],
      [
        "a source with a private column",
        { name: "people", columns: { Shop: { name: "Shop", meta: { pii: true } } } },
      ],
    ] as const
  ).map(([what, node]) =>
    row(
      `the alias names ${what}`,
      field({ alias: "people" }),
      ["rows-exposed", "relation-changed name"],
      "relation-changed name",
      withSource(node),
    ),
  ),
  ...(
    [
      ["two models of one tier swap their api: tags", "tier1", "rows-exchanged"],
      ["a model of tier3 takes the path and the tier of another", "tier3", "rows-exposed"],
    ] as const
  ).map(([change, tier, first]) => {
    const both = [first, "rows-exchanged", "model-changed", "model-changed"];
    return row(change, swapTags, both, both, withOther(tier));
  }),
  row(
    "the relation of an endpoint of tier3 gets a path at tier1",
    (_, { nodes }) =>
      (nodes["model.shop.again"] = {
        ...nodes["model.shop.other"],
        name: "again",
        tags: ["production", "tier1", "shop", "api:again"],
      }),
    ["rows-exposed", "endpoint-added"],
    "endpoint-removed",
    withOther("tier3"),
  ),
];
