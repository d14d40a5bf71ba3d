import { manifestOf, type TestModel } from "../support/manifest.js";

/** What a newcomer gets wrong. */
export interface Mistake {
  readonly name: string;
  /** Beside the command, by path. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
  readonly command: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
}

const GENERATE = ["generate", "--manifest", "manifest.json"];
const ROWS = { rows: { column: "org_id", equals: "org" } };
const TAGS = ["production", "shop", "api:orders"];
const GOOD: TestModel = { name: "orders", tags: TAGS, columns: { org_id: "text", n: "integer" } };

interface Node {
  config: Record<string, unknown>;
  columns: Record<string, Record<string, unknown>>;
}

/** A manifest of one model, whose node is edited. */
function edited(edit: (node: Node) => void, metadata: Readonly<Record<string, unknown>> = {}): string {
  const manifest = manifestOf([GOOD], { adapter_type: "postgres", ...metadata }) as {
    nodes: Record<string, Node>;
  };
  const node = manifest.nodes["model.test.orders"];
  if (node !== undefined) edit(node);
  return JSON.stringify(manifest);
}

const withMeta = (name: string, meta: object): Mistake => ({
  name,
  files: { "manifest.json": edited((node) => (node.config["meta"] = meta)) },
  command: GENERATE,
});
const withTags = (name: string, tags: readonly string[], ...others: readonly TestModel[]): Mistake => ({
  name,
  files: {
    "manifest.json": JSON.stringify(manifestOf([{ ...GOOD, tags }, ...others], { adapter_type: "postgres" })),
  },
  command: GENERATE,
});
const withColumn = (name: string, column: object): Mistake => ({
  name,
  files: { "manifest.json": edited((node) => Object.assign(node.columns["n"] ?? {}, column)) },
  command: GENERATE,
});
const withMetric = (name: string, config: object): Mistake => ({
  name,
  files: {
    "manifest.json": JSON.stringify({
      ...(manifestOf([GOOD], { adapter_type: "postgres" }) as object),
      metrics: { "metric.test.sold": { name: "sold", type: "simple", config } },
    }),
  },
  command: GENERATE,
});
const METRIC_TAGS = ["production", "shop", "api:sold"];

/** In the manifest: keys and tags that are nearly ours, and settings in the wrong place. */
export const MANIFEST_MISTAKES: readonly Mistake[] = [
  withMeta("a misspelt namespace with own rows", { routewrigth: ROWS }),
  withMeta("a namespace in another letter case", { Routewright: ROWS }),
  withMeta("a namespace two edits away", { rootewrigth: ROWS }),
  withMeta("a plural of api", { apis: { allow_unfiltered: true } }),
  withMeta("look-alikes of api", { арі: { allow_unfiltered: true } }),
  withMeta("a misspelt setting", { routewright: { rowz: ROWS.rows } }),
  withMeta("a misspelt key of own rows", { routewright: { rows: { colum: "org_id", equals: "org" } } }),
  withMeta("own rows of an unknown column", { routewright: { rows: { column: "orgid", equals: "org" } } }),
  withMeta("settings that are a list", { routewright: [ROWS] }),
  withMeta("own rows beside routewright", { ...ROWS, routewright: {} }),
  withMeta("own rows that are null", { routewright: { rows: null } }),
  withMeta("a mark of private data that is null", { pii: null }),
  withMeta("a setting beside routewright", { cursor: true, owner: "me" }),
  withMeta("exclude_from_api beside api", { exclude_from_api: true }),
  withMeta("exclude_from_api that is a text", { api: { exclude_from_api: "yes" } }),
  withMeta("a mark of private data that is nearly one", { contains_pi: true }),
  withMeta("an empty api", { api: {} }),
  withMeta("a parameter of an unknown column", {
    api: {
      allow_unfiltered: true,
      parameters: [{ name: "shop", column: "shp", operator: "=", type: "string" }],
    },
  }),
  withMeta("an unknown operator", {
    api: { allow_unfiltered: true, parameters: [{ name: "n", column: "n", operator: "==", type: "string" }] },
  }),
  {
    name: "settings beside meta",
    files: { "manifest.json": edited((node) => (node.config = { tags: TAGS, routewright: ROWS })) },
    command: GENERATE,
  },
  withColumn("a misspelt namespace of a column", { config: { meta: { routewrigth: { timezone: "UTC" } } } }),
  withColumn("a misspelt setting of a column", { config: { meta: { routewright: { number: "string" } } } }),
  withColumn("numbers of a column that has no wide ones", {
    config: { meta: { routewright: { numbers: "string" } } },
  }),
  withColumn("a tag of a column that is nearly pii", { tags: ["p-i-i"] }),
  withTags("a misspelt tier", [...TAGS, "teir1"]),
  withTags("a tier that does not exist", [...TAGS, "tier4"]),
  withTags("a granularity with another separator", [...TAGS, "granularity=daily"]),
  withTags("a plural of window", [...TAGS, "windows:7d"]),
  withTags("prod for production", ["prod", "api:orders"]),
  withTags("a misspelt production beside another endpoint", ["prodution", "api:orders"], {
    ...GOOD,
    name: "other",
    tags: ["production", "api:other"],
  }),
  withTags("no tag at all", []),
  withTags("a resource with a slash", ["production", "api:a/b"]),
  withMetric("a misspelt namespace of a metric", {
    tags: METRIC_TAGS,
    meta: { routewrigth: { group_by: [] } },
  }),
  withMetric("own rows of a metric", { tags: METRIC_TAGS, meta: { routewright: ROWS } }),
  withMetric("a misspelt tag of a metric", { tags: ["prodution", "api:sold"] }),
];

const FOLDER = { "manifest.json": edited(() => undefined) };
const config = (text: string): Readonly<Record<string, string>> => ({
  ...FOLDER,
  "routewright.config.json": text,
});

/** On the command line and in files: wrong paths, artifacts, formats, quoting and values. */
export const CLI_MISTAKES: readonly Mistake[] = [
  { name: "no manifest is named", command: ["generate"] },
  { name: "a manifest that does not exist", command: ["generate", "--manifest", "target/manifst.json"] },
  { name: "a path of Windows", command: ["generate", "--manifest", "target\\manifest.json"] },
  { name: "a pattern that no shell expanded", command: ["generate", "--manifest", "target/*.json"] },
  {
    name: "quotation marks inside a variable",
    command: ["generate"],
    variables: { DBT_MANIFEST_PATH: '"target/manifest.json"' },
  },
  {
    name: "an address without its scheme",
    command: ["generate"],
    variables: { DBT_MANIFEST_URL: "example.org/manifest.json" },
  },
  { name: "a home folder that no shell expanded", command: ["generate", "--manifest", "~/manifest.json"] },
  {
    name: "a folder for a manifest",
    files: { "target/manifest.json": "{}" },
    command: ["generate", "--manifest", "target"],
  },
  { name: "an empty manifest", files: { "manifest.json": "" }, command: GENERATE },
  {
    name: "a manifest that is cut off",
    files: { "manifest.json": edited(() => undefined).slice(0, 200) },
    command: GENERATE,
  },
  {
    name: "a page of a login for a manifest",
    files: { "manifest.json": "<!doctype html><title>Sign in</title>" },
    command: GENERATE,
  },
  {
    name: "a manifest in UTF-16",
    files: { "manifest.json": Buffer.from(`\ufeff${edited(() => undefined)}`, "utf16le") },
    command: GENERATE,
  },
  {
    name: "run_results.json for a manifest",
    files: {
      "manifest.json": JSON.stringify({
        metadata: { dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json" },
        results: [],
      }),
    },
    command: GENERATE,
  },
  {
    name: "catalog.json for a manifest",
    files: {
      "manifest.json": JSON.stringify({
        metadata: { dbt_schema_version: "https://schemas.getdbt.com/dbt/catalog/v1.json" },
        nodes: {},
      }),
    },
    command: GENERATE,
  },
  {
    name: "dbt_project.yml for a manifest",
    files: { "manifest.json": "name: shop\nversion: 1.0\n" },
    command: GENERATE,
  },
  {
    name: "a manifest of an old dbt",
    files: {
      "manifest.json": edited(() => undefined, {
        dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v1.json",
      }),
    },
    command: GENERATE,
  },
  { name: "a manifest for a catalog", files: FOLDER, command: [...GENERATE, "--catalog", "manifest.json"] },
  {
    name: "a catalog that does not exist",
    files: FOLDER,
    command: [...GENERATE, "--catalog", "catalog.json"],
  },
  {
    name: "an adapter that no engine serves",
    files: { "manifest.json": edited(() => undefined, { adapter_type: "snowflake" }) },
    command: GENERATE,
  },
  { name: "an output that is a file", files: { ...FOLDER, generated: "text" }, command: GENERATE },
  { name: "a misspelt command", command: ["genrate"] },
  { name: "a misspelt option", command: ["generate", "--manifset", "manifest.json"] },
  { name: "an option without its value", command: ["generate", "--manifest"] },
  { name: "a word too many", files: FOLDER, command: ["generate", "manifest.json"] },
  {
    name: "a value that an option does not have",
    files: FOLDER,
    command: ["lint", "--manifest", "manifest.json", "--fail-on", "all"],
  },
  {
    name: "a config file with a comma too many",
    files: config('{"manifest": "manifest.json",}'),
    command: ["generate"],
  },
  {
    name: "a config file with a misspelt key",
    files: config('{"manifset": "manifest.json"}'),
    command: ["generate"],
  },
  {
    name: "a config file with a value of another type",
    files: config('{"manifest": ["manifest.json"]}'),
    command: ["generate"],
  },
  { name: "a config file that is empty", files: config(""), command: ["generate"] },
  { name: "a config file that is a list", files: config("[]"), command: ["generate"] },
  {
    name: "two config files",
    files: { ...config("{}"), "routewright.config.yml": "{}" },
    command: ["generate"],
  },
  {
    name: "a config file of YAML with a tab",
    files: { ...FOLDER, "routewright.config.yml": "lint:\r\n\tmissing-owner: error\r\n" },
    command: ["generate"],
  },
  {
    name: "a lint rule that does not exist",
    files: config('{"manifest": "manifest.json", "lint": {"missing-owners": "error"}}'),
    command: ["lint"],
  },
  {
    name: "a severity that does not exist",
    files: config('{"manifest": "manifest.json", "lint": {"missing-owner": "warn"}}'),
    command: ["lint"],
  },
  {
    name: "a tier that does not exist",
    files: FOLDER,
    command: GENERATE,
    variables: { DEFAULT_ENDPOINT_TIER: "tier9" },
  },
  {
    name: "a database of another kind",
    files: FOLDER,
    command: ["columns", "pull", "--manifest", "manifest.json"],
    variables: { DATABASE_URL: "mysql://localhost/shop" },
  },
  {
    name: "a password with an @",
    files: FOLDER,
    command: ["columns", "pull", "--manifest", "manifest.json"],
    variables: { DATABASE_URL: "postgres://me:p@ss#1@localhost/shop" },
  },
  { name: "a base that is no revision", files: FOLDER, command: ["diff", "git:mian", "manifest.json"] },
  {
    name: "a base that does not exist",
    files: FOLDER,
    command: ["diff", "old/manifest.json", "manifest.json"],
  },
  {
    name: "a folder that was not generated",
    files: { ...FOLDER, "src/index.ts": "" },
    command: ["diff", "src", "manifest.json"],
  },
  {
    name: "an accept file that does not exist",
    files: FOLDER,
    command: ["diff", "manifest.json", "manifest.json", "--accept", "accepted.json"],
  },
  {
    name: "an accept file that is broken",
    files: { ...FOLDER, ".routewright-accept.json": "{" },
    command: ["diff", "manifest.json", "manifest.json"],
  },
  { name: "serving nothing", command: ["serve", "--only", "data"] },
  { name: "a port that is no number", command: ["serve", "--only", "data", "--port", "http"] },
  { name: "a port that is too large", command: ["serve", "--only", "data", "--port", "80000"] },
  {
    name: "keys that are no JSON",
    files: FOLDER,
    command: ["serve", "--only", "data"],
    variables: { API_KEYS: "{sk_live_x: tier1}" },
  },
  {
    name: "a key's tier that does not exist",
    files: FOLDER,
    command: ["serve", "--only", "data"],
    variables: { API_KEYS: '{"sk_live_x": "gold"}' },
  },
  { name: "a day that is none", command: ["usage", "--since", "yesterday"] },
  {
    name: "tests before anything was generated",
    files: { ...FOLDER, "api-tests/orders.yml": "name: orders" },
    command: ["test"],
  },
  {
    name: "exposures without an owner",
    files: FOLDER,
    command: ["exposures", "--manifest", "manifest.json"],
  },
  {
    name: "exposures at no address",
    files: FOLDER,
    command: ["exposures", "--manifest", "manifest.json", "--owner", "Data", "--url", "api.example.org"],
  },
  { name: "purging without a cache", files: FOLDER, command: ["purge"] },
  {
    name: "a changelog that is damaged",
    files: { ...FOLDER, "generated/changelog.json": "{" },
    command: ["changelog", "manifest.json", "manifest.json"],
  },
];
