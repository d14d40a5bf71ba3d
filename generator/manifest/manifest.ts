import { isObject, objectOr, textOr, textsOf, byText, type JsonObject } from "./json.js";
import { fail, readSource, type Failure } from "./source.js";

/** dbt's manifest schema versions whose models are read as they are (decisions.md §A). */
const KNOWN_VERSIONS = { first: 4, last: 12 };

/** A column as `schema.yml` or `catalog.json` tells it. */
export interface ModelColumn {
  readonly name: string;
  /** The warehouse's type text, or null when none is declared. */
  readonly type: string | null;
  readonly description: string;
}

/** What of a dbt model node the API is made from. */
export interface Model {
  readonly uniqueId: string;
  readonly name: string;
  /** Path of the SQL file in its dbt project. */
  readonly file: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly schema: string;
  /** Name of the relation in the warehouse. */
  readonly alias: string;
  readonly columns: readonly ModelColumn[];
  /** `meta.api` as written, and where; absent for a legacy model. */
  readonly api: { readonly value: unknown; readonly path: string } | null;
}

/** A dbt manifest, reduced to its models in order of `unique_id`. */
export interface Manifest {
  readonly models: readonly Model[];
  readonly warnings: readonly string[];
}

export type ManifestReading = { readonly ok: true; readonly manifest: Manifest } | Failure;

/** Reads a manifest from a file or an http(s) address. */
export async function readManifest(location: string): Promise<ManifestReading> {
  const source = await readSource(location);
  return source.ok ? parseManifest(source.text, location) : source;
}

/** Makes a manifest of its text; `location` is only for messages. */
export function parseManifest(text: string, location: string): ManifestReading {
  const json = parseJson(text, location);
  if (!json.ok) return json;
  const { metadata, nodes } = objectOr(json.value);
  const schema = textOr(objectOr(metadata)["dbt_schema_version"], "");
  const version = /\/manifest\/(?:v(\d+)|[\w.-]+)(?:\.json)?$/.exec(schema);
  if (!version || !isObject(nodes)) return fail(`${location} is not a dbt manifest: ${notManifest(schema)}`);
  const models = Object.entries(nodes)
    .filter(([, node]) => isObject(node) && node["resource_type"] === "model")
    .map(([id, node]) => modelOf(id, node as JsonObject))
    .sort((a, b) => byText(a.uniqueId, b.uniqueId));
  return { ok: true, manifest: { models, warnings: versionWarnings(version[1], schema) } };
}

/** Parses JSON text; a problem names the place and what it probably is instead. */
export function parseJson(
  text: string,
  location: string,
): { readonly ok: true; readonly value: unknown } | Failure {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    const hint = /^\s*</.test(text)
      ? "it looks like an HTML page; give the address of the file itself."
      : (error as Error).message;
    return fail(`${location} is not JSON${text.trim() === "" ? ": it is empty." : `: ${hint}`}`);
  }
}

function notManifest(schema: string): string {
  return schema
    ? `its metadata.dbt_schema_version is ${JSON.stringify(schema.slice(0, 100))}, or it has no nodes. Give target/manifest.json.`
    : "metadata.dbt_schema_version or nodes is missing. Give the manifest.json that dbt writes to target/.";
}

function versionWarnings(version: string | undefined, schema: string): readonly string[] {
  const number = Number(version);
  if (number >= KNOWN_VERSIONS.first && number <= KNOWN_VERSIONS.last) return [];
  const known = `v${KNOWN_VERSIONS.first} to v${KNOWN_VERSIONS.last}`;
  return [
    `The manifest's schema is ${schema}; ${known} are known. It is read as if it were the newest of them.`,
  ];
}

function modelOf(id: string, node: JsonObject): Model {
  const config = objectOr(node["config"]);
  const name = textOr(node["name"], "");
  const tags = textsOf(node["tags"]);
  return {
    uniqueId: textOr(node["unique_id"], id),
    name,
    file: textOr(node["original_file_path"], textOr(node["path"], "")),
    description: textOr(node["description"], ""),
    tags: tags.length > 0 ? tags : textsOf(config["tags"]),
    schema: textOr(node["schema"], ""),
    alias: textOr(node["alias"], "") || name,
    columns: Object.entries(objectOr(node["columns"])).map(([key, column]) =>
      columnOf(key, objectOr(column)),
    ),
    api: apiOf(node, config),
  };
}

function columnOf(key: string, column: JsonObject): ModelColumn {
  return {
    name: textOr(column["name"], "") || key,
    type: textOr(column["data_type"], "").trim() || null,
    description: textOr(column["description"], ""),
  };
}

/** `config.meta.api` wins over `meta.api` (decisions.md §A). */
function apiOf(node: JsonObject, config: JsonObject): Model["api"] {
  const places = [
    { meta: objectOr(config["meta"]), path: "$.config.meta.api" },
    { meta: objectOr(node["meta"]), path: "$.meta.api" },
  ];
  const place = places.find(({ meta }) => Object.hasOwn(meta, "api"));
  return place ? { value: place.meta["api"], path: place.path } : null;
}
