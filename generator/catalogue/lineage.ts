import { byText } from "../manifest/json.js";
import type { Manifest } from "../manifest/manifest.js";

/** What an endpoint is made from: by `unique_id`, each node with the nodes that it reads and the tests on it. */
export type Lineage = ReadonlyMap<string, LineageNode>;

export interface LineageNode {
  readonly parents: readonly string[];
  readonly tests: readonly string[];
}

/** The nodes above these models, and the models themselves. A node that reads nothing and has no test is a parent only. */
export function lineageOf(models: readonly string[], { graph, tests }: Manifest): Lineage {
  const reached = new Set(models);
  const lineage = new Map<string, LineageNode>();
  // A set can be extended while it is walked.
  for (const id of reached) {
    const node = { parents: graph.get(id)?.parents ?? [], tests: tests.get(id) ?? [] };
    for (const parent of node.parents) reached.add(parent);
    if (node.parents.length + node.tests.length > 0) lineage.set(id, node);
  }
  return new Map([...lineage].sort(([a], [b]) => byText(a, b)));
}

const MARKER = "Routewright. Do not edit: it follows the dbt project, run `routewright generate`.";

/**
 * `lineage.json`, one line per node. A file of its own: a refactored upstream model changes it, and neither
 * `catalogue.json` nor any module that reviewers read.
 */
export function lineageText(lineage: Lineage): string {
  const nodes = [...lineage].map(([id, node]) => `    ${JSON.stringify(id)}: ${JSON.stringify(node)}`);
  const body = nodes.length === 0 ? "{}" : `{\n${nodes.join(",\n")}\n  }`;
  return `{\n  "x-generated-by": ${JSON.stringify(MARKER)},\n  "schemaVersion": 1,\n  "nodes": ${body}\n}\n`;
}
