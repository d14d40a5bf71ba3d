import { type JsonObject, objectOr, textsOf } from "../manifest/json.js";
import { parseJson } from "../manifest/json-text.js";
import type { Lineage, LineageNode } from "./catalogue.js";

const MARKER = "Routewright. Do not edit: change the dbt project, run `routewright generate`.";

/**
 * `lineage.json`, one line per node. A separate file: refactoring an upstream model changes this file only, not
 * `catalogue.json` or a module.
 */
export function lineageText({
  nodes,
  upstreamNodes,
  rowNodes,
  checkedNodes,
  rollUpNodes,
  tests,
}: Lineage): string {
  const part = (name: string, members: ReadonlyMap<string, unknown> = new Map()): string =>
    members.size === 0 ? "" : `  "${name}": ${linesOf(members)},\n`;
  return `{\n  "x-generated-by": ${JSON.stringify(MARKER)},\n  "schemaVersion": 1,\n  "upstreamNodes": ${linesOf(upstreamNodes)},\n${part("rowNodes", rowNodes)}${part("checkedNodes", checkedNodes)}${part("rollUpNodes", rollUpNodes)}${part("tests", tests)}  "nodes": ${linesOf(nodes)}\n}\n`;
}

/** Reads a `lineage.json`. A damaged file counts as empty. */
export function readLineage(text: string): Lineage {
  const json = parseJson(text, "lineage.json");
  const { nodes, upstreamNodes, rowNodes, checkedNodes, rollUpNodes, tests } = objectOr(
    json.ok ? json.value : null,
  );
  const idsByPath = (value: unknown): ReadonlyMap<string, readonly string[]> =>
    new Map(Object.entries(objectOr(value)).map(([path, ids]) => [path, textsOf(ids)]));
  return {
    nodes: new Map(Object.entries(objectOr(nodes)).map(([id, node]) => [id, lineageNode(objectOr(node))])),
    upstreamNodes: idsByPath(upstreamNodes),
    rowNodes: idsByPath(rowNodes),
    checkedNodes: idsByPath(checkedNodes),
    rollUpNodes: idsByPath(rollUpNodes),
    tests: new Map(
      Object.entries(objectOr(tests)).map(([path, own]) => [
        path,
        objectOr(own) as Readonly<Record<string, string | null>>,
      ]),
    ),
  };
}

function lineageNode({ parents, tests, relation }: JsonObject): LineageNode {
  const [schema, name] = textsOf(relation);
  return {
    parents: textsOf(parents),
    tests: textsOf(tests),
    ...(schema !== undefined && name !== undefined && { relation: [schema, name] as const }),
  };
}

function linesOf(members: ReadonlyMap<string, unknown>): string {
  const lines = [...members].map(([key, value]) => `    ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  return lines.length === 0 ? "{}" : `{\n${lines.join(",\n")}\n  }`;
}
