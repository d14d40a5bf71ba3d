import { type Graph, type GraphNode, isBuilt, isEphemeral, isView } from "../manifest/graph.js";
import { variesByItself } from "./volatile-sql.js";

/**
 * The nodes whose builds alone change a model's rows (`Endpoint.upstreamNodes`), for each of these models whose rows
 * nothing else changes. A table has itself alone: what is under it shows when it is built again. A view has itself and,
 * through views, the views, tables, seeds and snapshots that it reads.
 */
export function upstreamNodesOf(
  models: readonly string[],
  graph: Graph,
): ReadonlyMap<string, readonly string[]> {
  const unsettled = unsettledNodes(models, graph);
  const settled = models.filter((id) => !unsettled.has(id) && hasRelation(id, graph));
  return new Map(settled.map((id) => [id, nodesBehind(id, graph)]));
}

/**
 * What may change without a build, and every view on it. Found from the roots up and for all models at once: walking
 * down from each would take the square of a long chain of views.
 */
function unsettledNodes(models: readonly string[], graph: Graph): ReadonlySet<string> {
  const reached = new Set(models);
  const readers = new Map<string, string[]>();
  const unsettled = new Set<string>();
  // A set can be extended while it is walked.
  for (const id of reached) {
    const node = graph.get(id);
    if (node === undefined || !isSettled(node)) unsettled.add(id);
    for (const parent of readBy(node)) {
      const known = readers.get(parent);
      if (known === undefined) readers.set(parent, [id]);
      else known.push(id);
      reached.add(parent);
    }
  }
  for (const id of unsettled) {
    for (const reader of readers.get(id) ?? []) unsettled.add(reader);
  }
  return unsettled;
}

/** Whether builds alone change what a node adds itself. A view that names no parent reads what dbt does not know of. */
function isSettled(node: GraphNode): boolean {
  return isView(node) ? node.parents.length > 0 && !node.code.some(variesByItself) : isBuilt(node);
}

/** What is looked up whenever a node is read. */
function readBy(node: GraphNode | undefined): readonly string[] {
  return node !== undefined && isView(node) ? node.parents : [];
}

function nodesBehind(model: string, graph: Graph): readonly string[] {
  const reached = new Set([model]);
  for (const id of reached) {
    for (const parent of readBy(graph.get(id))) reached.add(parent);
  }
  return [...reached].filter((id) => hasRelation(id, graph)).sort();
}

function hasRelation(id: string, graph: Graph): boolean {
  const node = graph.get(id);
  return node !== undefined && !isEphemeral(node);
}
