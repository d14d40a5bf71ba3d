import { readFileSync } from "node:fs";
import type { CatalogueOptions } from "../../generator/catalogue/build.js";

/** A manifest that is changed, and what else a folder is generated from. */
export interface Project {
  readonly nodes: Record<string, Node>;
  readonly semantics: { semantic_models: Record<string, Loose>; metrics: Record<string, Loose> };
  docs: Record<string, Loose>;
  options: CatalogueOptions;
  publish: readonly object[];
  title: string | null;
  /** Columns of a catalog by node and name. */
  readonly catalog: Record<string, Record<string, string>>;
  adapter: string;
}

type Loose = Record<string, unknown>;
export interface Node extends Loose {
  tags: string[];
  columns: Record<string, Loose & { name: string }>;
  config: Loose & { meta: Loose };
  depends_on: { nodes: string[] };
}

const STARTER = readFileSync("templates/starter/manifest.json", "utf8");

const volume = {
  name: "volume",
  depends_on: { nodes: ["model.starter.api_bridges_volume_daily"] },
  node_relation: { alias: "api_bridges_volume_daily", schema_name: "analytics" },
  defaults: { agg_time_dimension: "date" },
  entities: [{ name: "flow", type: "primary", expr: "token" }],
  dimensions: [
    { name: "date", type: "time", type_params: { time_granularity: "day" } },
    { name: "token", type: "categorical" },
  ],
  measures: [{ name: "total", agg: "sum", expr: "value" }],
};
const metric = {
  name: "total",
  type: "simple",
  type_params: { measure: { name: "total" } },
  config: {
    tags: ["production", "bridges", "api:total"],
    meta: { routewright: { group_by: ["metric_time"] } },
  },
};

/** The starter with a metric. */
export function starter(): Project {
  const { nodes } = JSON.parse(STARTER) as { nodes: Record<string, Node> };
  return structuredClone({
    nodes,
    semantics: {
      semantic_models: { "semantic_model.starter.volume": volume },
      metrics: { "metric.starter.total": metric },
    },
    docs: {},
    options: {},
    publish: [],
    title: null,
    catalog: {},
    adapter: "postgres",
  });
}

/** The texts of its files. */
export function textsOf({ nodes, semantics, docs, catalog, adapter }: Project) {
  const metadata = {
    dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
    adapter_type: adapter,
    project_name: "starter",
  };
  const columns = Object.entries(catalog).map(([id, types]) => {
    const listed = Object.entries(types).map(([name, type], index) => [name, { name, type, index }]);
    return [id, { columns: Object.fromEntries(listed) as unknown }];
  });
  const schema = "https://schemas.getdbt.com/dbt/catalog/v1.json";
  return {
    manifest: JSON.stringify({ metadata, nodes, docs, saved_queries: {}, ...semantics }),
    catalog: JSON.stringify({ metadata: { dbt_schema_version: schema }, nodes: Object.fromEntries(columns) }),
  };
}

interface Picked {
  readonly project: Project;
  readonly id: string;
  /** A model that is published, or was. */
  readonly node: Node;
  /** Any model. */
  readonly other: Node;
  readonly column: Loose & { name: string };
  /** A setting of `meta.api` and of `meta.routewright`, and of a column. */
  readonly api: Loose;
  readonly own: Loose;
  readonly ofColumn: Loose;
  readonly n: number;
}

function into(owner: Loose, key: string): Loose {
  owner[key] ??= {};
  return owner[key] as Loose;
}

/** Sets a key, or takes it away where it has the value. */
function toggle(owner: Loose, key: string, value: unknown): void {
  if (JSON.stringify(owner[key]) === JSON.stringify(value)) Reflect.deleteProperty(owner, key);
  else owner[key] = value;
}

function test(name: string, { project, id, column }: Picked, more: Loose = {}, config: Loose = {}): void {
  toggle(project.nodes, `test.starter.${name}.${id}.${column.name}`, {
    resource_type: "test",
    test_metadata: { name, kwargs: more },
    column_name: column.name,
    attached_node: id,
    config: { severity: "ERROR", ...config },
    depends_on: { nodes: [id] },
  });
}

const TYPES = [
  "text",
  "bigint",
  "numeric(20,0)",
  "date",
  "timestamptz",
  "double precision",
  "jsonb",
  "int[]",
];
const TAGS = [
  "tier0",
  "tier1",
  "tier3",
  "production",
  "nightly",
  "pii",
  "granularity:daily",
  "teir1",
  "api:volume",
];

const changes = {
  description: ({ node, n }: Picked) => toggle(node, "description", `Words ${String(n)}.`),
  file: ({ node, n }: Picked) => toggle(node, "original_file_path", `models/${String(n)}.sql`),
  owner: ({ node, n }: Picked) => toggle(node.config.meta, "owner", `team ${String(n)}`),
  schema: ({ node }: Picked) => toggle(node, "schema", "other"),
  alias: ({ node, n }: Picked) => toggle(node, "alias", `other_${String(n)}`),
  tag: ({ node, n }: Picked) => {
    const tag = TAGS[n % TAGS.length] ?? "";
    node.tags = node.tags.includes(tag) ? node.tags.filter((each) => each !== tag) : [...node.tags, tag];
  },
  version: ({ node, n }: Picked) => {
    toggle(node, "version", n % 2);
    node["latest_version"] = 1;
  },
  deprecation: ({ node }: Picked) => toggle(node, "deprecation_date", "2027-03-31"),
  materialized: ({ other, n }: Picked) => toggle(other.config, "materialized", n % 2 ? "table" : "ephemeral"),
  contract: ({ node }: Picked) => toggle(node.config, "contract", { enforced: true }),
  constraints: ({ column }: Picked) => toggle(column, "constraints", [{ type: "not_null" }]),
  parents: ({ project, node, n }: Picked) => {
    const ids = Object.keys(project.nodes);
    node.depends_on.nodes = node.depends_on.nodes.length === 0 ? [ids[n % ids.length] ?? ""] : [];
  },
  code: ({ other, column, n }: Picked) =>
    toggle(other, "raw_code", n % 2 ? `select md5(${column.name}) as ${column.name}` : "select 1"),
  parsedAgain: ({ project, n }: Picked) => {
    for (const node of Object.values(project.nodes))
      Object.assign(node, { created_at: n, compiled_path: `x/${String(n)}` });
  },
  type: ({ column, n }: Picked) => toggle(column, "data_type", TYPES[n % TYPES.length]),
  columnWords: ({ column, n }: Picked) => toggle(column, "description", `Column ${String(n)}.`),
  columnGone: ({ node, column }: Picked) => Reflect.deleteProperty(node.columns, column.name),
  columnAdded: ({ node, n }: Picked) => {
    const name = `c_${String(n % 5)}`;
    toggle(node.columns, name, { name, data_type: "text" });
  },
  columnMark: ({ column }: Picked) => toggle(into(column, "meta"), "pii", true),
  markAbove: ({ other, column }: Picked) =>
    toggle(other.columns, column.name, { name: column.name, meta: { pii: true } }),
  nodeMark: ({ other }: Picked) => toggle(other.config.meta, "sensitive", true),
  example: ({ ofColumn, n }: Picked) => toggle(ofColumn, "example", n % 2 ? "x" : n),
  numbers: ({ own, ofColumn, n }: Picked) => toggle(n % 2 ? own : ofColumn, "numbers", "string"),
  notNull: (picked: Picked) => test("not_null", picked),
  unique: (picked: Picked) => test("unique", picked),
  values: (picked: Picked) => test("accepted_values", picked, { values: ["a", picked.n] }),
  warns: (picked: Picked) => test("not_null", picked, {}, { severity: "WARN" }),
  references: (picked: Picked) =>
    test("relationships", picked, { to: "ref('api_bridges_tokens')", field: "token" }),
  noApi: ({ node }: Picked) => Reflect.deleteProperty(node.config.meta, "api"),
  excluded: ({ api }: Picked) => toggle(api, "exclude_from_api", true),
  pages: ({ api, n }: Picked) =>
    toggle(api, "pagination", {
      enabled: true,
      default_limit: (n % 7) + 1,
      max_limit: 50,
      response: "envelope",
    }),
  methods: ({ api }: Picked) => toggle(api, "methods", ["GET", "POST"]),
  parameter: ({ api, column }: Picked) => {
    toggle(api, "parameters", [{ name: "p", column: column.name, operator: "=", type: "string" }]);
    api["allow_unfiltered"] = true;
  },
  unknownKey: ({ api, own, n }: Picked) => toggle(n % 2 ? api : own, "parameterz", n),
  nearKey: ({ node, n }: Picked) => toggle(node.config.meta, n % 2 ? "routewrite" : "exclude_from_api", {}),
  keyBeside: ({ node }: Picked) => toggle(node.config, "routewright", { fields: true }),
  filters: ({ own, column }: Picked) => toggle(own, "filters", [column.name]),
  fields: ({ own }: Picked) => toggle(own, "fields", true),
  category: ({ own, n }: Picked) => toggle(own, "category", `c${String(n % 3)}`),
  formerPath: ({ own, n }: Picked) =>
    toggle(own, "former_paths", [{ path: n % 2 ? "/v1/bridges/tokens" : "/v1/old/path" }]),
  changesOnBuild: ({ own }: Picked) => toggle(own, "changes", "on_build"),
  fresh: ({ own, n }: Picked) => toggle(own, "fresh_within", `${String((n % 5) + 1)}h`),
  measured: ({ own, column }: Picked) =>
    toggle(own, "aggregate", { group_by: [], measures: { most: { max: column.name } } }),
  undeclared: ({ own }: Picked) => toggle(own, "undeclared", "serve"),
  ownRows: ({ own, column }: Picked) => toggle(own, "rows", { column: column.name, equals: "org" }),
  gone: ({ project, id }: Picked) => Reflect.deleteProperty(project.nodes, id),
  again: ({ project }: Picked) => Object.assign(project.nodes, starter().nodes),
  metric: ({ project, n }: Picked) =>
    toggle(project.semantics.metrics["metric.starter.total"] ?? {}, "description", `Metric ${String(n)}.`),
  noMetric: ({ project }: Picked) => toggle(project.semantics.metrics, "metric.starter.total", metric),
  block: ({ project, n }: Picked) =>
    toggle(project.docs, "doc.starter.a", {
      name: "category_bridges",
      block_contents: `Bridges ${String(n)}.`,
    }),
  catalogType: ({ project, id, column, n }: Picked) =>
    toggle(into(project.catalog, id), column.name, TYPES[n % TYPES.length]),
  catalogColumn: ({ project, id, n }: Picked) =>
    toggle(into(project.catalog, id), `real_${String(n % 3)}`, "text"),
  tier: ({ project, n }: Picked) =>
    toggle(project.options as Loose, "defaultTier", n % 2 ? "tier1" : "tier2"),
  maxAge: ({ project, n }: Picked) => toggle(project.options as Loose, "publicMaxAge", n),
  schemas: ({ project }: Picked) => toggle(project.options as Loose, "schemas", { "an*": "served" }),
  engine: ({ project }: Picked) => toggle(project.options as Loose, "engine", "clickhouse"),
  plans: ({ project, n }: Picked) =>
    toggle(project.options as Loose, "plans", { free: { tier: "tier1", quota: n + 1 } }),
  adapter: ({ project, n }: Picked) => {
    project.adapter = n % 2 ? "postgres" : "clickhouse";
  },
  publish: ({ project, n }: Picked) => {
    project.publish =
      project.publish.length > 0 ? [] : [{ select: "path:models", tier: n % 2 ? "tier2" : "tier3" }];
  },
  title: ({ project, n }: Picked) => {
    project.title = n % 2 ? null : "Shop";
  },
} satisfies Record<string, (picked: Picked) => unknown>;

export type Change = keyof typeof changes;
export const CHANGES = Object.keys(changes) as Change[];

/** Changes one thing; which one of its kind, `place` and `n` say. */
export function change(project: Project, kind: Change, place: number, n: number): void {
  const models = Object.entries(project.nodes).filter(([id]) => id.startsWith("model."));
  const published = models.filter(([, { tags }]) => tags.some((tag) => tag.startsWith("api:")));
  const [id, node] = published[place % published.length] ?? [];
  const [, other] = models[n % models.length] ?? [];
  if (id === undefined || node === undefined || other === undefined) return;
  const columns = Object.values(node.columns);
  const column = columns[n % columns.length] ?? { name: "none" };
  const { meta } = node.config;
  const parts = () => ({
    get api() {
      return into(meta, "api");
    },
    get own() {
      return into(meta, "routewright");
    },
    get ofColumn() {
      return into(into(column, "meta"), "routewright");
    },
  });
  const picked = Object.create(
    parts(),
    Object.getOwnPropertyDescriptors({ project, id, node, other, column, n }),
  ) as Picked;
  changes[kind](picked);
}
