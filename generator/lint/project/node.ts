import { type GraphNode, graphNodeOf, type NodeKind } from "../../manifest/graph.js";
import { isObject, objectOr, textOr, textsOf, type JsonObject } from "../../manifest/json.js";

/** A `meta` with its place in the node: dbt keeps it in `config` too, and some versions only there. */
export interface Meta {
  readonly path: string;
  readonly value: JsonObject;
}

export interface NodeColumn {
  readonly name: string;
  readonly metas: readonly Meta[];
  readonly constraints: readonly JsonObject[];
}

/** A node of dbt's graph, with what the rules ask beyond the API's own `Model`. */
export interface Node extends GraphNode {
  readonly uniqueId: string;
  /** For people: the model's name, or `<source>.<table>`. */
  readonly name: string;
  readonly file: string | null;
  readonly tags: readonly string[];
  readonly columns: ReadonlyMap<string, NodeColumn>;
  readonly constraints: readonly JsonObject[];
  readonly metas: readonly Meta[];
  readonly config: JsonObject;
}

/** Reads a node; null for what feeds no endpoint, such as a test. */
export function nodeOf(uniqueId: string, json: JsonObject): Node | null {
  const node = graphNodeOf(json);
  if (node === null) return null;
  const config = objectOr(json["config"]);
  const tags = textsOf(json["tags"]);
  return {
    ...node,
    uniqueId,
    name: nameOf(node.kind, json) || uniqueId,
    file: textOr(json["original_file_path"], textOr(json["path"], "")) || null,
    tags: tags.length > 0 ? tags : textsOf(config["tags"]),
    columns: columnsOf(json),
    constraints: objectsOf(json["constraints"]),
    metas: metasOf(json, "$"),
    config,
  };
}

function nameOf(kind: NodeKind, json: JsonObject): string {
  const name = textOr(json["name"], "");
  return kind === "source" ? `${textOr(json["source_name"], "")}.${name}` : name;
}

function columnsOf(json: JsonObject): ReadonlyMap<string, NodeColumn> {
  const columns = Object.entries(objectOr(json["columns"])).map(([key, value]) => {
    const column = objectOr(value);
    const name = textOr(column["name"], "") || key;
    const metas = metasOf(column, `$.columns${member(key)}`);
    return [name, { name, metas, constraints: objectsOf(column["constraints"]) }] as const;
  });
  return new Map(columns);
}

function metasOf(json: JsonObject, at: string): readonly Meta[] {
  const places = [
    { path: `${at}.config.meta`, value: objectOr(json["config"])["meta"] },
    { path: `${at}.meta`, value: json["meta"] },
  ];
  return places.flatMap(({ path, value }) => (isObject(value) ? [{ path, value }] : []));
}

function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A key as a step of a JSON path. */
export function member(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
