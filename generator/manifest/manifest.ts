import { artifactAt, type Outcome, failed, succeeded } from "@routewright/runtime/model";
import { type Graph, graphOf } from "./graph.js";
import { isObject, type JsonObject, objectOr, textOr, textsOf } from "./json.js";
import { parseJson } from "./json-text.js";
import { fileOf, type Model, modelOf } from "./model.js";
import type { ModelColumn } from "./model-columns.js";
import { isPrivate, privateColumnsOf } from "./node-meta.js";
import { NOTHING_PUBLISHED, type Publishing } from "./publishing.js";
import { relationOf } from "./relation-name.js";
import type { Semantics } from "./semantic-layer.js";
import { semanticsOf } from "./semantics.js";
import { readSource } from "../artifacts/source.js";
import type { ArtifactAccess } from "../artifacts/store.js";
import { byText } from "./strings.js";
import { testedColumnsOf, testsByNode } from "./tests.js";

/** Supported versions of dbt's manifest schema. */
const KNOWN_VERSIONS = { first: 4, last: 12 };

/** The parts of a dbt manifest that Routewright uses; models in order of `unique_id`. */
export interface Manifest {
  readonly models: readonly Model[];
  /** Tagged nodes that cannot become endpoints: not a model, or disabled. */
  readonly others: readonly OtherNode[];
  /** dbt's dependency graph. */
  readonly graph: Graph;
  /** `unique_id`s of the tests on each node, sorted. */
  readonly tests: ReadonlyMap<string, readonly string[]>;
  /** The column of each test that is of one. */
  readonly testedColumns: ReadonlyMap<string, string>;
  /** The real columns of nodes, from `catalog.json`; empty without one. */
  readonly warehouseColumns: ReadonlyMap<string, readonly ModelColumn[]>;
  /** Name of dbt's adapter, such as `postgres`; null where the manifest does not name it. */
  readonly adapter: string | null;
  /** Descriptions of categories, from doc blocks `category_<name>`, by the name in lower case. */
  readonly categories: ReadonlyMap<string, string>;
  /** Name of the dbt project; null where the manifest does not name it. */
  readonly project: string | null;
  /** Semantic models, metrics and saved queries. */
  readonly semantics: Semantics;
  /** What dbt's exposures read (`unique_id`s), by their names. */
  readonly exposures: ReadonlyMap<string, readonly string[]>;
  /** What `publish` of the config file made of the models. */
  readonly publishing: Publishing;
  readonly warnings: readonly string[];
}

/** A node that is not an enabled model. */
export interface OtherNode {
  readonly uniqueId: string;
  readonly file: string;
  /** `seed`, `snapshot`, `source`, `analysis`, `disabled model`. */
  readonly kind: string;
  readonly tags: readonly string[];
  readonly privateColumns: readonly string[];
  /** Whether the project marks the whole node as private data. */
  readonly isPrivate: boolean;
  /** Schema and name in the database. */
  readonly relation: readonly [schema: string, name: string];
}

/** Reads a manifest from a file or an address. */
export async function readManifest(location: string, access?: ArtifactAccess): Promise<Outcome<Manifest>> {
  const source = await readSource(artifactAt(location, "manifest"), {}, access);
  return source.ok ? parseManifest(source.value.text, source.value.location) : source;
}

/** Parses a manifest's text; `location` is only for messages. */
export function parseManifest(text: string, location: string): Outcome<Manifest> {
  const json = parseJson(text, location);
  return json.ok ? manifestOfJson(json.value, location) : json;
}

function manifestOfJson(value: unknown, location: string): Outcome<Manifest> {
  const { metadata, nodes, sources, disabled, docs, exposures } = objectOr(value);
  const schema = textOr(objectOr(metadata)["dbt_schema_version"], "");
  const version = /\/manifest\/(?:v(\d+)|[\w.-]+)(?:\.json)?$/.exec(schema);
  if (!version || !isObject(nodes))
    return failed(`${location} is not a dbt manifest: ${notManifest(schema)}`);
  const tests = testsByNode(nodes);
  const adapter = textOr(objectOr(metadata)["adapter_type"], "");
  const models = Object.entries(nodes)
    .filter(([, node]) => isObject(node) && node["resource_type"] === "model")
    .map(([id, node]) => modelOf(id, node as JsonObject, { adapter, tests: tests.get(id) ?? [] }))
    .sort((a, b) => byText(a.uniqueId, b.uniqueId));
  const warnings = versionWarnings(version[1], schema);
  const others = otherNodes({ nodes, sources: objectOr(sources), disabled: objectOr(disabled), adapter });
  return succeeded({
    models,
    others,
    graph: graphOf({ ...nodes, ...objectOr(sources) }, adapter),
    tests: new Map([...tests].map(([id, all]) => [id, all.map((test) => test.id)])),
    testedColumns: testedColumnsOf([...tests.values()].flat()),
    warehouseColumns: new Map(),
    adapter: adapter || null,
    categories: categoriesIn(objectOr(docs)),
    project: textOr(objectOr(metadata)["project_name"], "") || null,
    semantics: semanticsOf(objectOr(value), adapter),
    exposures: exposedNodes(objectOr(exposures)),
    publishing: NOTHING_PUBLISHED,
    warnings,
  });
}

function exposedNodes(exposures: JsonObject): ReadonlyMap<string, readonly string[]> {
  const all = Object.values(exposures).map(objectOr);
  return new Map(
    all.map(({ name, depends_on: parents }) => [textOr(name, ""), textsOf(objectOr(parents)["nodes"])]),
  );
}

/** The first block of a name wins, by its text. */
function categoriesIn(docs: JsonObject): ReadonlyMap<string, string> {
  const blocks = Object.values(docs).flatMap((value): readonly (readonly [string, string])[] => {
    const { name, block_contents: contents } = objectOr(value);
    const category = /^category_(.+)$/s.exec(textOr(name, ""))?.[1]?.toLowerCase() ?? "";
    const text = textOr(contents, "").trim();
    return category === "" || text === "" ? [] : [[category, text]];
  });
  return new Map(blocks.sort(([a, one], [b, other]) => byText(a, b) || byText(other, one)));
}

function notManifest(schema: string): string {
  return schema
    ? `its metadata.dbt_schema_version is ${JSON.stringify(schema.slice(0, 100))}, or it has no nodes. Give target/manifest.json.`
    : "metadata.dbt_schema_version or nodes is missing. Give the manifest.json that dbt writes to target/.";
}

function versionWarnings(version: string | undefined, schema: string): readonly string[] {
  const number = Number(version);
  if (number >= KNOWN_VERSIONS.first && number <= KNOWN_VERSIONS.last) return [];
  const known = `v${String(KNOWN_VERSIONS.first)} to v${String(KNOWN_VERSIONS.last)}`;
  return [
    `The manifest's schema is ${JSON.stringify(schema.slice(0, 100))}; ${known} are supported. It is read as the newest of these.`,
  ];
}

interface OtherNodes {
  readonly nodes: JsonObject;
  readonly sources: JsonObject;
  readonly disabled: JsonObject;
  readonly adapter: string;
}

function otherNodes({ nodes, sources, disabled, adapter }: OtherNodes): readonly OtherNode[] {
  const enabled = [...Object.entries(nodes), ...Object.entries(sources)]
    .map(([id, node]) => [id, objectOr(node)] as const)
    .filter(([, node]) => OTHER_KINDS.has(textOr(node["resource_type"], "")))
    .map(([id, node]) => otherNode(id, node, adapter));
  // dbt lists all disabled nodes of an id; an id that also has an enabled node is not disabled.
  const disabledModels = Object.entries(disabled)
    .filter(([id]) => !Object.hasOwn(nodes, id))
    .map(([id, list]) => otherNode(id, objectOr(Array.isArray(list) ? list[0] : list), adapter))
    .filter(({ kind }) => kind === "model")
    .map((node) => ({ ...node, kind: "disabled model" }));
  return [...enabled, ...disabledModels].sort((a, b) => byText(a.uniqueId, b.uniqueId));
}

const OTHER_KINDS: ReadonlySet<string> = new Set(["seed", "snapshot", "source", "analysis"]);

function otherNode(uniqueId: string, node: JsonObject, adapter: string): OtherNode {
  const tags = [...textsOf(node["tags"]), ...textsOf(objectOr(node["config"])["tags"])];
  const kind = textOr(node["resource_type"], "");
  const file = fileOf(node);
  return {
    uniqueId,
    file,
    kind,
    tags,
    privateColumns: privateColumnsOf(node),
    isPrivate: isPrivate(node),
    relation: relationOf(node, adapter),
  };
}
