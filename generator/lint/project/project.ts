import type { WarehouseColumns } from "../../manifest/catalog.js";
import { byText, objectOr, textOr, textsOf, type JsonObject } from "../../manifest/json.js";
import { isBindingTest, testedModel } from "../../manifest/manifest.js";
import { nodeOf, type Node, type NodeColumn } from "./node.js";

/** Databases whose ways to find a row without reading all are known here. */
export type Engine = "postgres" | "clickhouse";

/** dbt's graph, as far as it feeds endpoints. */
export interface Project {
  /** By `unique_id`. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** Null for another database. */
  readonly engine: Engine | null;
  /** Columns that a test of the project finds unique together, by the tested node's `unique_id`. */
  readonly testedKeys: ReadonlyMap<string, readonly (readonly string[])[]>;
}

/** Reads the graph of a manifest's JSON; columns that only the warehouse knows come from `found`. */
export function projectOf(json: unknown, found: WarehouseColumns): Project {
  const { metadata, nodes, sources } = objectOr(json);
  const nodesAndSources = { ...objectOr(nodes), ...objectOr(sources) };
  const read = Object.entries(nodesAndSources).map(([id, node]) => nodeOf(id, objectOr(node)));
  const known = read
    .filter((node) => node !== null)
    .map((node) => withColumns(node, found.get(node.uniqueId) ?? []));
  return {
    nodes: new Map(known.map((node) => [node.uniqueId, node])),
    engine: engineOf(objectOr(metadata)["adapter_type"]),
    testedKeys: testedKeysOf(objectOr(nodes)),
  };
}

function withColumns(node: Node, found: readonly { readonly name: string }[]): Node {
  if (found.length === 0) return node;
  const columns = new Map<string, NodeColumn>(node.columns);
  for (const { name } of found) {
    if (!columns.has(name)) columns.set(name, { name, metas: [], constraints: [] });
  }
  return { ...node, columns };
}

/** A manifest that does not name its adapter is served from PostgreSQL, as all are. */
function engineOf(adapter: unknown): Engine | null {
  switch (textOr(adapter, "")) {
    case "":
    case "postgres":
      return "postgres";
    case "clickhouse":
      return "clickhouse";
    default:
      return null;
  }
}

function testedKeysOf(nodes: JsonObject): Project["testedKeys"] {
  const keys = new Map<string, (readonly string[])[]>();
  const inOrder = Object.entries(nodes).sort(([a], [b]) => byText(a, b));
  for (const [, value] of inOrder) {
    const node = objectOr(value);
    const key = testedKeyOf(node);
    if (key.length > 0) keys.set(testedModel(node), [...(keys.get(testedModel(node)) ?? []), key]);
  }
  return keys;
}

function testedKeyOf(node: JsonObject): readonly string[] {
  if (isBindingTest(node, "unique")) return textsOf([node["column_name"]]);
  if (!isBindingTest(node, "unique_combination_of_columns")) return [];
  const { kwargs } = objectOr(node["test_metadata"]);
  return textsOf(objectOr(kwargs)["combination_of_columns"]);
}
