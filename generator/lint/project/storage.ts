import { isView } from "../../manifest/graph.js";
import type { Node } from "./node.js";
import type { Project } from "./project.js";

/** Kinds of models that keep their rows, and so can have an index; a custom one is not guessed at. */
const STORED: ReadonlySet<string> = new Set([
  "table",
  "incremental",
  "materialized_view",
  "distributed_table",
  "distributed_incremental",
]);

/**
 * The tables that a column's values are read from, through views by the column's name; null where the manifest does
 * not tell: a parent is a source, a seed or missing, or lists no columns, or none lists this one, or they go round in a circle.
 */
export function tablesOf(start: Node, column: string, { nodes }: Project): readonly Node[] | null {
  const reached = new Set<Node>([start]);
  const tables: Node[] = [];
  // A set can be extended while it is walked.
  for (const node of reached) {
    if (node.kind === "snapshot" || (node.kind === "model" && STORED.has(node.materialized))) {
      tables.push(node);
      continue;
    }
    const parents = isView(node) ? node.parents.map((id) => nodes.get(id)) : [];
    const known = parents.filter((parent) => parent !== undefined && parent.columns.size > 0) as Node[];
    const carriers = known.filter(({ columns }) => columns.has(column));
    if (known.length < parents.length || carriers.length === 0) return null;
    for (const parent of carriers) reached.add(parent);
  }
  return tables.length === 0 ? null : tables;
}
