/** A model for a test's manifest; what is left out has a harmless value. */
export interface TestModel {
  readonly name: string;
  /** Left out: those of the public endpoint `/v1/shop/<name>`. */
  readonly tags?: readonly string[];
  /** `meta.api`; absent for a legacy model. */
  readonly api?: unknown;
  /** `meta.routewright`. */
  readonly routewright?: unknown;
  /** Column name → type text. */
  readonly columns?: Readonly<Record<string, string | null>>;
  readonly schema?: string;
  /** The name of its relation; its own when left out. */
  readonly alias?: string;
  /** A column with the tests `unique` and `not_null`. */
  readonly key?: string;
  readonly description?: string;
  /** How dbt keeps it; a view that does not say so when left out. */
  readonly materialized?: string;
  /** `unique_id`s of the nodes that it reads. */
  readonly parents?: readonly string[];
  /** dbt's `deprecation_date`. */
  readonly sunset?: string;
}

/** The JSON of a dbt manifest with these models, as dbt 1.x writes it. */
export function manifestOf(
  models: readonly TestModel[],
  metadata: Readonly<Record<string, unknown>> = {},
): unknown {
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: process.env["TEST_ENGINE"] ?? "postgres",
      project_name: "test",
      ...metadata,
    },
    nodes: Object.fromEntries(
      models.flatMap((model) => [[`model.test.${model.name}`, nodeOf(model)], ...keyTests(model)]),
    ),
  };
}

function keyTests({ name, key }: TestModel) {
  if (key === undefined) return [];
  return ["unique", "not_null"].map((test) => [
    `test.test.${test}_${name}_${key}`,
    {
      resource_type: "test",
      test_metadata: {
        name: test,
        kwargs: { column_name: key, model: `{{ get_where_subquery(ref('${name}')) }}` },
      },
      column_name: key,
      attached_node: `model.test.${name}`,
      config: { severity: "ERROR" },
      depends_on: { nodes: [`model.test.${name}`] },
    },
  ]);
}

function nodeOf({
  name,
  tags = ["production", "shop", `api:${name}`],
  api,
  routewright,
  columns = {},
  schema = "analytics",
  alias = name,
  description = "",
  materialized,
  parents,
  sunset,
}: TestModel): unknown {
  return {
    resource_type: "model",
    unique_id: `model.test.${name}`,
    name,
    alias,
    schema,
    description,
    ...(sunset && { deprecation_date: sunset }),
    original_file_path: `models/${name}.sql`,
    tags,
    ...(parents && { depends_on: { nodes: parents }, compiled_code: "select 1" }),
    columns: Object.fromEntries(
      Object.entries(columns).map(([column, type]) => [
        column,
        { name: column, data_type: type, description: "" },
      ]),
    ),
    config: {
      tags,
      meta: { ...(api !== undefined && { api }), ...(routewright !== undefined && { routewright }) },
      ...(materialized && { materialized }),
    },
  };
}
