import fc from "fast-check";

/** Types that a column of the test's table may be documented as; the values fit all of them. */
const TYPES = {
  id: ["integer", "bigint", "smallint", "numeric(20,0)", null],
  shop: ["text", "varchar(40)", "varchar(80)", null],
  code: ["varchar(10)", "text", null],
  day: ["date", null],
  amount: ["numeric(20,4)", "numeric(20,2)", "numeric", "double precision", null],
  flag: ["boolean", null],
} as const;
type ColumnName = keyof typeof TYPES;
const NAMES = Object.keys(TYPES) as readonly ColumnName[];

export interface RandomColumn {
  readonly name: ColumnName;
  readonly type: string | null;
  readonly description: string;
}

const column = fc.constantFrom(...NAMES).chain((name) =>
  fc.record({
    name: fc.constant(name),
    type: fc.constantFrom(...TYPES[name]),
    description: fc.constantFrom("", "Words."),
  }),
) as fc.Arbitrary<RandomColumn>;

export interface RandomParameter {
  readonly name: string;
  readonly column: ColumnName;
  readonly operator: string;
  readonly type: string;
  readonly case?: string;
  readonly max_items?: number;
}

const text = fc.constantFrom<ColumnName>("shop", "code");
const parameter: fc.Arbitrary<RandomParameter> = fc.oneof(
  fc.record({
    name: fc.constantFrom("a", "b"),
    column: text,
    operator: fc.constantFrom("=", "ILIKE"),
    type: fc.constant("string"),
  }),
  fc.record({
    name: fc.constantFrom("a", "c"),
    column: fc.constant<ColumnName>("id"),
    operator: fc.constant("="),
    type: fc.constant("string"),
  }),
  fc.record({
    name: fc.constantFrom("a", "b"),
    column: text,
    operator: fc.constant("="),
    type: fc.constant("string"),
    case: fc.constantFrom("lower", "upper"),
  }),
  fc.record({
    name: fc.constantFrom("from", "to"),
    column: fc.constant<ColumnName>("day"),
    operator: fc.constantFrom(">=", "<="),
    type: fc.constant("date"),
  }),
  fc.record({
    name: fc.constantFrom("a", "ids"),
    column: fc.constantFrom<ColumnName>("id", "shop"),
    operator: fc.constant("IN"),
    type: fc.constant("string_list"),
    max_items: fc.integer({ min: 2, max: 5 }),
  }),
);

/** What a model and its `meta.api` say. */
export interface RandomModel {
  readonly tier: string;
  readonly description: string;
  readonly columns: readonly RandomColumn[];
  readonly parameters: readonly RandomParameter[];
  readonly unfiltered: boolean;
  readonly required: readonly string[];
  readonly post: boolean;
  readonly pages: {
    readonly default_limit: number;
    readonly max_limit: number;
    readonly response: string;
  } | null;
  readonly sort: readonly string[];
  readonly sortable: readonly string[];
}

/** A part of a model, valid or not: `asModel` makes it valid. */
const parts = fc.record({
  tier: fc.constantFrom("tier0", "tier1", "tier2"),
  description: fc.constantFrom("", "A model."),
  columns: fc.uniqueArray(column, { minLength: 2, maxLength: 6, selector: ({ name }) => name }),
  parameters: fc.uniqueArray(parameter, { maxLength: 4, selector: ({ name }) => name }),
  unfiltered: fc.boolean(),
  required: fc.uniqueArray(fc.constantFrom("a", "b", "c", "ids"), { maxLength: 2 }),
  post: fc.boolean(),
  pages: fc.option(
    fc.record({
      default_limit: fc.integer({ min: 1, max: 9 }),
      max_limit: fc.integer({ min: 10, max: 20 }),
      response: fc.constantFrom("list", "envelope"),
    }),
  ),
  sort: fc.uniqueArray(fc.constantFrom("id", "shop", "day"), { maxLength: 2 }),
  sortable: fc.uniqueArray(fc.constantFrom("id", "shop", "day"), { maxLength: 2 }),
});

/** Drops what refers to a column or parameter that is not there. */
function asModel(model: RandomModel): RandomModel {
  const columns = model.columns.map(({ name }) => name as string);
  const parameters = model.parameters.filter((one) => columns.includes(one.column));
  const names = parameters.map(({ name }) => name);
  return {
    ...model,
    parameters,
    unfiltered: model.unfiltered || names.length === 0,
    required: model.required.filter((name) => names.includes(name)),
    sort: model.sort.filter((name) => columns.includes(name)),
    sortable: model.sortable.filter((name) => columns.includes(name)),
  };
}

/** A model, and the same one with some of its parts as another model has them. */
export const evolution: fc.Arbitrary<readonly [base: RandomModel, head: RandomModel]> = fc
  .tuple(
    parts,
    parts,
    fc.subarray(
      [
        "description",
        "columns",
        "parameters",
        "unfiltered",
        "required",
        "post",
        "pages",
        "sort",
        "sortable",
      ] as const,
      { minLength: 1, maxLength: 2 },
    ),
    fc.nat(9),
  )
  .map(([base, other, changed, mix]) => {
    const lists = {
      columns: mixed(base.columns, other.columns, mix),
      parameters: mixed(base.parameters, other.parameters, mix),
    };
    const taken = Object.fromEntries(changed.map((key) => [key, { ...other, ...lists }[key]]));
    return [asModel(base), asModel({ ...base, ...taken })] as const;
  });

/** Mostly the old list with additions: whole new lists rarely are compatible. */
function mixed<Item extends { readonly name: string }>(
  base: readonly Item[],
  other: readonly Item[],
  mix: number,
): readonly Item[] {
  if (mix === 0) return other;
  const added = other.filter(({ name }) => !base.some((one) => one.name === name));
  const kept = mix < 5 ? base.map((one) => other.find(({ name }) => name === one.name) ?? one) : base;
  return [...kept, ...added];
}

/** The node of a model that serves `relation`. */
export function nodeOf(
  resource: string,
  model: RandomModel,
  [schema, alias]: readonly [string, string],
): unknown {
  return {
    resource_type: "model",
    name: resource,
    alias,
    schema,
    description: model.description,
    original_file_path: `models/${resource}.sql`,
    tags: ["production", "random", model.tier, `api:${resource}`],
    columns: Object.fromEntries(
      model.columns.map(({ type, ...one }) => [one.name, { ...one, data_type: type }]),
    ),
    config: {
      meta: {
        api: {
          methods: model.post ? ["GET", "POST"] : ["GET"],
          allow_unfiltered: model.unfiltered,
          parameters: model.parameters,
          require_any_of: model.required,
          ...(model.pages && { pagination: { enabled: true, ...model.pages } }),
          sort: model.sort.map((name) => ({ column: name, direction: "ASC" })),
          sortable_fields: model.sortable,
        },
      },
    },
  };
}

export function manifestWith(nodes: readonly unknown[]): unknown {
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: "postgres",
    },
    nodes: Object.fromEntries(nodes.map((node) => [`model.random.${(node as { name: string }).name}`, node])),
  };
}

const VALUES = {
  id: ["1", "7", "199", "5000"],
  shop: ["shop 1", "SHOP 2", "none"],
  code: ["c1", "C2"],
  day: ["2026-01-03", "2026-02-01"],
  amount: ["1.5"],
  flag: ["true"],
} as const satisfies Record<ColumnName, readonly string[]>;

/** Requests that may work on a model: random parameters, pages and sorts. */
export function requestsOf(model: RandomModel): fc.Arbitrary<Readonly<Record<string, string>>> {
  const filters = model.parameters.map(({ name, column, operator, max_items = 1 }) =>
    fc
      .array(fc.constantFrom(...VALUES[column]), {
        minLength: 1,
        maxLength: operator === "IN" ? max_items : 1,
      })
      .map((values) => [name, values.join(",")] as const),
  );
  const pages =
    model.pages === null
      ? []
      : [
          fc
            .integer({ min: 1, max: model.pages.max_limit })
            .map((limit) => ["limit", String(limit)] as const),
        ];
  const sorts =
    model.sortable.length === 0
      ? []
      : [fc.constantFrom(...model.sortable).map((field) => ["sort_by", field] as const)];
  const all = [...filters, ...pages, ...sorts];
  return fc
    .tuple(...all.map((one) => fc.option(one)))
    .map((chosen) => Object.fromEntries(chosen.filter((one) => one !== null)));
}
