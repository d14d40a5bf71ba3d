import type { GraphNode, NodeKind } from "../manifest/graph.js";
import { isObject, type JsonObject, objectOr, textOr, textsOf } from "../manifest/json.js";
import type { Manifest } from "../manifest/manifest.js";
import { fileOf } from "../manifest/model.js";
import { tagsOf } from "../manifest/node-meta.js";

/** dbt's graph, as far as it feeds endpoints. */
export interface Project {
  /** By `unique_id`. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** Name of dbt's adapter; a manifest that does not name it is served from PostgreSQL, as all are. */
  readonly adapter: string;
}

/** The graph of a manifest; columns that only the warehouse knows come from dbt's catalog. */
export function projectOf({ graph, adapter, warehouseColumns }: Manifest): Project {
  const nodes = [...graph].map(([id, node]) => {
    return [id, nodeOf(id, node, warehouseColumns.get(id) ?? [])] as const;
  });
  return { nodes: new Map(nodes), adapter: adapter ?? "postgres" };
}

/** A `meta` with its location in the node: dbt keeps it in `config` too, and some versions only there. */
export interface Meta {
  readonly path: string;
  readonly value: JsonObject;
}

/** What may mark a node or a column as private. */
export interface Marked {
  readonly tags: readonly string[];
  readonly metas: readonly Meta[];
  /** dbt's `classifiers`: kinds of private data; null where there are none. */
  readonly classifiers: unknown;
}

export interface NodeColumn extends Marked {
  readonly name: string;
  /** Where it is in its node, as a JSON path. */
  readonly path: string;
}

/** A node of dbt's graph, with the parts that only lint rules read. */
export interface Node extends GraphNode, Marked {
  readonly uniqueId: string;
  /** For people: the model's name, or `<source>.<table>`. */
  readonly name: string;
  readonly file: string | null;
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
    columns: new Map([...found.map(undeclared), ...declaredColumns(json)]),
    metas: metasOf(json, "$"),
    classifiers: json["classifiers"] ?? null,
    config: objectOr(json["config"]),
    access: textOr(json["access"], ""),
  };
}

/** A column that only the warehouse has. */
function undeclared({ name }: { readonly name: string }): readonly [string, NodeColumn] {
  return [name, { name, path: "$.columns", tags: [], metas: [], classifiers: null }];
}

function nameOf(kind: NodeKind, json: JsonObject): string {
  const name = textOr(json["name"], "");
  return kind === "source" ? `${textOr(json["source_name"], "")}.${name}` : name;
}

function declaredColumns(json: JsonObject): readonly (readonly [string, NodeColumn])[] {
  return Object.entries(objectOr(json["columns"])).map(([key, value]) => {
    const column = objectOr(value);
    const name = textOr(column["name"], "") || key;
    const path = `$.columns${member(key)}`;
    const tags = [...textsOf(column["tags"]), ...textsOf(objectOr(column["config"])["tags"])];
    const classifiers = column["classifiers"] ?? null;
    return [name, { name, path, tags, metas: metasOf(column, path), classifiers }];
  });
}

function metasOf(json: JsonObject, at: string): readonly Meta[] {
  const locations = [
    { path: `${at}.config.meta`, value: objectOr(json["config"])["meta"] },
    { path: `${at}.meta`, value: json["meta"] },
  ];
  return locations.flatMap(({ path, value }) => (isObject(value) ? [{ path, value }] : []));
}

/** A key as a step of a JSON path. */
export function member(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
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
  { nodes }: Project,
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
