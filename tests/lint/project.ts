/** A node for a test's manifest: what is left out has a harmless value. */
export interface TestNode {
  readonly kind?: "model" | "seed" | "snapshot";
  readonly tags?: readonly string[];
  /** Names of nodes of this manifest, or whole ids. */
  readonly parents?: readonly string[];
  readonly columns?: readonly string[];
  readonly api?: Readonly<Record<string, unknown>>;
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly constraints?: readonly unknown[];
  /** More of the node as dbt writes it. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Tags of a daily endpoint, whose table is not taken for tiny. */
export const DAILY = ["production", "shop", "tier1", "api:sales", "granularity:daily"];

/** The JSON of a manifest with these nodes by name, and whatever else its `nodes` should hold. */
export function project(
  nodes: Readonly<Record<string, TestNode>>,
  adapter: string | null = "postgres",
  others: Readonly<Record<string, unknown>> = {},
) {
  const idOf = (name: string): string =>
    name.includes(".") ? name : `${nodes[name]?.kind ?? "model"}.shop.${name}`;
  const all = Object.entries(nodes).map(([name, node]) => [idOf(name), jsonOf(name, node, idOf)]);
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      ...(adapter === null ? {} : { adapter_type: adapter }),
    },
    nodes: { ...Object.fromEntries(all), ...others },
  };
}

function jsonOf(name: string, node: TestNode, idOf: (name: string) => string): unknown {
  const { kind = "model", tags = [], parents = [], columns = [], api, meta = {}, config = {} } = node;
  return {
    resource_type: kind,
    name,
    alias: name,
    schema: "analytics",
    description: "A model.",
    original_file_path: `models/${name}.sql`,
    tags,
    columns: Object.fromEntries(
      columns.map((column) => [
        column,
        { name: column, data_type: column === "day" ? "date" : "text", description: "A column." },
      ]),
    ),
    depends_on: { nodes: parents.map(idOf) },
    constraints: node.constraints ?? [],
    config: {
      materialized: "incremental",
      meta: { ...meta, ...(api === undefined ? {} : { api }) },
      ...config,
    },
    ...node.more,
  };
}

/** A test of dbt's on a model. */
export function dbtTest(
  model: string,
  name: string,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const { kwargs = {}, ...others } = more;
  const metadata = { name, kwargs };
  return {
    [`test.shop.${name}_${model}`]: {
      resource_type: "test",
      attached_node: `model.shop.${model}`,
      test_metadata: metadata,
      config: {},
      ...others,
    },
  };
}
