import { readTemplate } from "../manifest/filter-template.js";
import type { GraphNode, NodeKind } from "../manifest/graph.js";
import { type JsonObject, member, objectOr, textOr } from "../manifest/json.js";
import type { Manifest } from "../manifest/manifest.js";
import { fileOf, type Model } from "../manifest/model.js";
import { columnEntries, type Mark, marksOf, tagsOf } from "../manifest/node-meta.js";
import type { SemanticMetric } from "../manifest/semantic-layer.js";

/** dbt's graph, as far as it feeds endpoints. */
export interface DbtGraph {
  /** By `unique_id`. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** Name of dbt's adapter; a manifest that does not name it is served from PostgreSQL, as all are. */
  readonly adapter: string;
  /** The dbt models below semantic models, by the names of these. */
  readonly semantic: ReadonlyMap<string, Model>;
  /** Metrics by name; among `nodes`, too, with the saved queries. What they take in are their parents. */
  readonly metrics: ReadonlyMap<string, Node>;
}

/** The graph of a manifest; columns that only the warehouse knows come from dbt's catalog. */
export function projectOf({ graph, adapter, warehouseColumns, models, semantics }: Manifest): DbtGraph {
  const nodes = [...graph].map(([id, node]) => {
    return [id, nodeOf(id, node, warehouseColumns.get(id) ?? [])] as const;
  });
  const byId = new Map(models.map((model) => [model.uniqueId, model]));
  const semantic = semantics.models.flatMap(({ name, model }) => {
    const node = byId.get(model);
    return node === undefined ? [] : [[name, node] as const];
  });
  const { metrics, queries } = semantics;
  const ids = new Map(metrics.map(({ name, node }) => [name, node.uniqueId]));
  const idsOf = (names: readonly string[]): readonly string[] => names.flatMap((name) => ids.get(name) ?? []);
  const ofMetrics = metrics.map((metric) => measuredNode(metric, idsOf(inputsOf(metric))));
  const ofQueries = queries.map((query) =>
    measuredNode(query, idsOf([...query.metrics, ...comparedIn(query.filters)])),
  );
  return {
    nodes: new Map([...nodes, ...[...ofMetrics, ...ofQueries].map((node) => [node.uniqueId, node] as const)]),
    adapter: adapter ?? "postgres",
    semantic: new Map(semantic),
    metrics: new Map(ofMetrics.map((node) => [node.name, node])),
  };
}

/** The metrics that one takes in, and those that its filters compare. */
function inputsOf(metric: SemanticMetric): readonly string[] {
  const { inputs, simple, cumulative, conversion } = metric;
  const others = [simple, cumulative?.metric, cumulative?.of, conversion?.base, conversion?.conversion];
  const all = [...inputs, ...others.flatMap((each) => each ?? [])];
  const names = all.flatMap((each) => ("metric" in each ? [each.metric] : []));
  return [...names, ...comparedIn([metric, ...all].flatMap(({ filters }) => filters))];
}

function comparedIn(filters: readonly string[]): readonly string[] {
  return filters.flatMap((text) => {
    const read = readTemplate(text);
    const parts = "problem" in read ? [] : read.parts;
    return parts.flatMap((part) => (typeof part !== "string" && "metric" in part ? [part.metric] : []));
  });
}

export interface NodeColumn {
  readonly name: string;
  readonly marks: readonly Mark[];
}

/** A node of dbt's graph, with the parts that only lint rules read. */
export interface Node extends GraphNode {
  readonly uniqueId: string;
  /** For people: the model's name, or `<source>.<table>`. */
  readonly name: string;
  readonly file: string | null;
  readonly tags: readonly string[];
  /** What marks the whole node as private. */
  readonly marks: readonly Mark[];
  readonly columns: ReadonlyMap<string, NodeColumn>;
  readonly config: JsonObject;
  /** dbt's `access`: `private`, `protected` or `public`; empty where the manifest has none. */
  readonly access: string;
}

function nodeOf(uniqueId: string, node: GraphNode, found: readonly { readonly name: string }[]): Node {
  const { kind, json } = node;
  return {
    ...node,
    uniqueId,
    name: nameOf(kind, json) || uniqueId,
    file: fileOf(json) || null,
    tags: tagsOf(json),
    marks: marksOf(json),
    // Columns that only the warehouse has are not marked.
    columns: new Map([
      ...found.map(({ name }) => [name, { name, marks: [] }] as const),
      ...declaredColumns(json),
    ]),
    config: objectOr(json["config"]),
    access: textOr(json["access"], ""),
  };
}

/** A metric or a saved query as a node: no relation of its own, and what it reads is in its endpoint. */
function measuredNode(
  { json, node }: Pick<SemanticMetric, "json" | "node">,
  parents: readonly string[],
): Node {
  const { uniqueId, name, file, tags, routewright, schema, alias } = node;
  return {
    kind: "model",
    materialized: "",
    parents,
    relation: [schema, alias],
    code: [],
    isBuilt: false,
    json: { config: { meta: { routewright } } },
    uniqueId,
    name,
    file: file || null,
    tags,
    marks: marksOf(json),
    columns: new Map(),
    config: {},
    access: "",
  };
}

function nameOf(kind: NodeKind, json: JsonObject): string {
  const name = textOr(json["name"], "");
  return kind === "source" ? `${textOr(json["source_name"], "")}.${name}` : name;
}

function declaredColumns(json: JsonObject): readonly (readonly [string, NodeColumn])[] {
  return columnEntries(json).map(([key, column]) => {
    const name = textOr(column["name"], "") || key;
    return [name, { name, marks: marksOf(column, `$.columns${member(key)}`) }];
  });
}

/** An upstream node, and the shortest lineage from it to the node that it feeds. */
export interface Ancestor {
  readonly node: Node;
  /** Names, from the ancestor to the node that it feeds, both included. */
  readonly lineage: readonly string[];
}

/**
 * Everything that feeds a node through `depends_on`, nearest first; a parent that the manifest lacks is left out.
 * `expand` decides whose parents count, `follow` which of them.
 */
export function ancestorsOf(
  start: Node,
  { nodes }: DbtGraph,
  expand: (node: Node) => boolean = () => true,
  follow: (parent: Node) => boolean = () => true,
): readonly Ancestor[] {
  const found = new Map<string, Ancestor>([[start.uniqueId, { node: start, lineage: [start.name] }]]);
  // Iterating a map visits the items added meanwhile: this is a breadth-first search.
  for (const { node, lineage } of found.values()) {
    if (!expand(node)) continue;
    for (const id of node.parents) {
      const parent = nodes.get(id);
      if (parent && follow(parent) && !found.has(id))
        found.set(id, { node: parent, lineage: [parent.name, ...lineage] });
    }
  }
  return [...found.values()].slice(1);
}
