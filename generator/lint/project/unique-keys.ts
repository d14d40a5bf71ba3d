import { isView } from "../../manifest/graph.js";
import { textsOf } from "../../manifest/json.js";
import { splitList } from "./expression.js";
import type { Node } from "./node.js";
import type { Project } from "./project.js";

/** Columns of which no two rows have the same values. */
export type UniqueKey = readonly string[];

/**
 * What a project promises to be unique in a node: by constraint, test, unique index or `unique_key`. A view over one
 * node alone has that one's keys as well. ClickHouse's `order_by` and `primary_key` promise nothing: they sort, and
 * rows may share them.
 */
export function uniqueKeysOf(start: Node, project: Project): readonly UniqueKey[] {
  const keys: UniqueKey[] = [];
  const seen = new Set<string>();
  for (
    let node: Node | undefined = start;
    node && !seen.has(node.uniqueId);
    node = onlyParent(node, project)
  ) {
    seen.add(node.uniqueId);
    keys.push(...ownKeys(node), ...(project.testedKeys.get(node.uniqueId) ?? []));
  }
  return keys;
}

function onlyParent(node: Node, { nodes }: Project): Node | undefined {
  const [parent, another] = node.parents;
  return isView(node) && parent !== undefined && another === undefined ? nodes.get(parent) : undefined;
}

function ownKeys(node: Node): readonly UniqueKey[] {
  const columns = [...node.columns.values()].filter(({ constraints }) => constraints.some(isUnique));
  const indexes = Array.isArray(node.config["indexes"]) ? node.config["indexes"] : [];
  const together = [...node.constraints.filter(isUnique), ...indexes.filter(isUniqueIndex)];
  return [
    ...columns.map(({ name }) => [name]),
    ...together.map(({ columns }) => textsOf(columns)),
    uniqueKeyOf(node),
  ].filter((key) => key.length > 0);
}

function isUnique({ type }: { readonly type?: unknown }): boolean {
  return type === "unique" || type === "primary_key";
}

function isUniqueIndex(index: unknown): index is { readonly columns?: unknown } {
  return (index as { readonly unique?: unknown } | null)?.unique === true;
}

/** Strategies under which dbt leaves rows of the same `unique_key` standing. */
const KEEP_DUPLICATES: readonly unknown[] = ["append", "insert_overwrite", "microbatch"];

/** A snapshot has a row per version of each key. */
function uniqueKeyOf({ kind, config }: Node): UniqueKey {
  if (kind !== "model" || KEEP_DUPLICATES.includes(config["incremental_strategy"])) return [];
  return splitList(config["unique_key"]);
}
