import type { Manifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import { byText } from "../manifest/strings.js";
import type { CatalogueEntry, ColumnFacts, Lineage, LineageNode } from "./catalogue.js";

/** Parents and tests of these models and of all their upstream nodes. A node that has neither has no entry. */
export function lineageOf(models: readonly string[], { graph, tests }: Manifest): Lineage {
  const reached = new Set(models);
  const lineage = new Map<string, LineageNode>();
  // Iterating a set visits the items added meanwhile.
  for (const id of reached) {
    const node = { parents: graph.get(id)?.parents ?? [], tests: tests.get(id) ?? [] };
    for (const parent of node.parents) reached.add(parent);
    if (node.parents.length + node.tests.length > 0) lineage.set(id, node);
  }
  return new Map([...lineage].sort(([a], [b]) => byText(a, b)));
}

const MARKER = "Routewright. Do not edit: change the dbt project, run `routewright generate`.";

/**
 * `lineage.json`, one line per node. A separate file: refactoring an upstream model changes this file only, not
 * `catalogue.json` or a module.
 */
export function lineageText(lineage: Lineage): string {
  const nodes = [...lineage].map(([id, node]) => `    ${JSON.stringify(id)}: ${JSON.stringify(node)}`);
  const body = nodes.length === 0 ? "{}" : `{\n${nodes.join(",\n")}\n  }`;
  return `{\n  "x-generated-by": ${JSON.stringify(MARKER)},\n  "schemaVersion": 1,\n  "nodes": ${body}\n}\n`;
}

/**
 * Marks columns as private that have the name of a private column of an upstream node. `routewright lint` checks whether
 * the SQL between the two selects that column.
 */
export function withInheritedPrivacy(
  entries: readonly CatalogueEntry[],
  manifest: Manifest,
): readonly CatalogueEntry[] {
  const privateColumns = new Map(
    [...manifest.models.map(privateColumnsOf), ...manifest.others].flatMap(
      ({ uniqueId, privateColumns: names }) =>
        names.length === 0 ? [] : [[uniqueId, names.map((name) => name.toLowerCase())] as const],
    ),
  );
  const names = new Set([...privateColumns.values()].flat());
  return entries.map((entry) => {
    const candidates = entry.endpoint.columns
      .map(({ name }) => name)
      .filter((name) => names.has(name.toLowerCase()));
    // Most endpoints have none, and finding the upstream nodes takes much longer.
    if (candidates.length === 0) return entry;
    const inherited = new Set(
      ancestorsOf(entry.uniqueId, manifest).flatMap((id) => privateColumns.get(id) ?? []),
    );
    const marked = candidates.filter((name) => inherited.has(name.toLowerCase()));
    if (marked.length === 0) return entry;
    const columns = new Map(entry.facts.columns);
    for (const name of marked) columns.set(name, { ...(columns.get(name) ?? NO_FACTS), isPrivate: true });
    return { ...entry, facts: { ...entry.facts, columns } };
  });
}

const NO_FACTS: ColumnFacts = { notNull: null, acceptedValues: null, isPrivate: false };

/** A model's private columns: all its columns, those from `catalog.json` too, if the model itself is private. */
function privateColumnsOf({ uniqueId, isPrivate, columns }: Model) {
  const names = columns.filter((column) => isPrivate || column.isPrivate).map(({ name }) => name);
  return { uniqueId, privateColumns: names };
}

/** All upstream nodes of a model. */
function ancestorsOf(model: string, { graph }: Manifest): readonly string[] {
  const reached = new Set([model]);
  for (const id of reached) for (const parent of graph.get(id)?.parents ?? []) reached.add(parent);
  reached.delete(model);
  return [...reached];
}
