/** Writes `templates/starter/manifest.json` from the one that dbt wrote to `target/`: templates/starter/README.md. */
import { readFileSync, writeFileSync } from "node:fs";

/** A JSON value as dbt's manifest holds it. */
type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

/** What of a node matters to a generator or to the demo builder. The rest depends on the machine, or on nothing here. */
const NODE_KEYS = [
  "alias",
  "attached_node",
  "column_name",
  "description",
  "fqn",
  "meta",
  "name",
  "original_file_path",
  "package_name",
  "path",
  "resource_type",
  "schema",
  "tags",
  "test_metadata",
  "unique_id",
];
const KINDS: ReadonlySet<Json | undefined> = new Set(["model", "seed", "test"]);
const CONFIG_KEYS = [
  "column_types",
  "contract",
  "enabled",
  "indexes",
  "materialized",
  "meta",
  "severity",
  "tags",
  "where",
];
const COLUMN_KEYS = ["data_type", "description", "meta", "name"];
const METADATA_KEYS = ["adapter_type", "dbt_schema_version", "dbt_version", "project_name"];

/**
 * Cuts dbt's manifest down to models, seeds and tests that say the same on every machine and at any time, as JSON text. Keys are
 * sorted, except for columns: their order is the order of the relation.
 */
export function slimManifest(manifest: JsonObject): string {
  const nodes = Object.values(object(manifest["nodes"]))
    .map(object)
    .filter((node) => KINDS.has(node["resource_type"]))
    .sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
  const inAnyDatabase = twoPartNames(nodes);
  const slim = {
    metadata: pick(object(manifest["metadata"]), METADATA_KEYS),
    nodes: Object.fromEntries(nodes.map((node) => [idOf(node), slimNode(node, inAnyDatabase)])),
  };
  return `${JSON.stringify(slim, null, 2)}\n`;
}

function idOf(node: JsonObject): string {
  return node["unique_id"] as string;
}

function slimNode(node: JsonObject, inAnyDatabase: (sql: string) => string): JsonObject {
  const columns = Object.entries(object(node["columns"])).map(([name, column]) => [
    name,
    slimColumn(object(column)),
  ]);
  const dependsOn = (object(node["depends_on"] ?? {})["nodes"] ?? []) as readonly string[];
  const code = node["compiled_code"];
  const slim: JsonObject = {
    ...pick(node, NODE_KEYS),
    ...(node["resource_type"] !== "test" && { columns: Object.fromEntries(columns) as JsonObject }),
    config: withoutEmpty(pick(object(node["config"]), CONFIG_KEYS), ["column_types", "indexes"]),
    depends_on: { nodes: [...dependsOn].sort() },
    ...(typeof code === "string" ? { compiled_code: inAnyDatabase(code.trim()) } : {}),
  };
  return Object.fromEntries(Object.entries(slim).sort(byKey));
}

/** Of a constraint only its type is kept: `not_null` is how dbt says that a column never holds a null. */
function slimColumn(column: JsonObject): JsonObject {
  const constraints = (column["constraints"] ?? []) as readonly JsonObject[];
  const types = constraints.map((constraint) => pick(constraint, ["type"]));
  return withoutEmpty({ constraints: types, ...pick(column, COLUMN_KEYS) }, ["constraints"]);
}

/** Takes the database's name out of every relation that the SQL mentions. */
function twoPartNames(nodes: readonly JsonObject[]): (sql: string) => string {
  const names = nodes.flatMap(({ relation_name: name, database }) =>
    typeof name === "string" && typeof database === "string"
      ? [[name, name.replace(`"${database}".`, "")] as const]
      : [],
  );
  return (sql) => names.reduce((text, [long, short]) => text.replaceAll(long, short), sql);
}

/** The listed keys that are there and say something, their values with sorted keys. */
function pick(from: JsonObject, keys: readonly string[]): JsonObject {
  const kept = keys.filter((key) => from[key] !== undefined && from[key] !== null);
  return Object.fromEntries(kept.map((key) => [key, sortKeys(from[key] as Json)]));
}

function withoutEmpty(from: JsonObject, keys: readonly string[]): JsonObject {
  const isEmpty = (value: Json): boolean => Object.keys(value ?? {}).length === 0;
  return Object.fromEntries(
    Object.entries(from).filter(([key, value]) => !(keys.includes(key) && isEmpty(value))),
  );
}

function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(byKey)
      .map(([key, inner]) => [key, sortKeys(inner)]),
  );
}

function byKey([a]: readonly [string, Json], [b]: readonly [string, Json]): number {
  return a < b ? -1 : 1;
}

function object(value: Json | undefined): JsonObject {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new Error("This is not a dbt manifest: an object is missing where nodes or metadata should be.");
  }
  return value as JsonObject;
}

const inStarter = (file: string): URL => new URL(`../../templates/starter/${file}`, import.meta.url);

if (process.argv[1] === import.meta.filename) {
  const built = JSON.parse(readFileSync(inStarter("target/manifest.json"), "utf8")) as JsonObject;
  writeFileSync(inStarter("manifest.json"), slimManifest(built));
}
