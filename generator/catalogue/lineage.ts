import { type Graph, type GraphNode, isEphemeral, isView, showsOnlyHash } from "../manifest/graph.js";
import type { Manifest } from "../manifest/manifest.js";
import { knownColumns, type Model } from "../manifest/model.js";
import { byText } from "../manifest/strings.js";
import type { CatalogueEntry, Lineage, LineageNode } from "./catalogue.js";

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
 * Marks columns as private that have the name of a private column of an upstream node, unless only a hash of it is passed
 * on, or of a node with the same relation, and endpoints over the relation of a private node. `routewright lint` checks
 * whether the SQL between the two selects that column.
 */
export function withInheritedPrivacy(
  entries: readonly CatalogueEntry[],
  manifest: Manifest,
): readonly CatalogueEntry[] {
  const marked = [...manifest.models.map(markedModel), ...manifest.others].filter(
    (node) => node.isPrivate || node.privateColumns.length > 0,
  );
  const nodes = new Map(marked.map((node) => [node.uniqueId, node]));
  const byRelation = new Map(marked.map((node) => [JSON.stringify(node.relation), node]));
  const names = new Set(marked.flatMap(({ privateColumns }) => privateColumns.map(folded)));
  return entries.map((entry) => {
    const twin = byRelation.get(JSON.stringify(entry.relation));
    const columns = entry.columns.map((column) => {
      // Most columns have no such name, and finding the upstream nodes takes much longer.
      if (!names.has(folded(column.name))) return column;
      const above = ancestorsOf(entry.uniqueId, column.name, manifest).map((id) => nodes.get(id));
      const isMarked = [...above, twin].some((node) =>
        node?.privateColumns.some((marked) => folded(marked) === folded(column.name)),
      );
      return isMarked ? { ...column, private: true } : column;
    });
    return { ...entry, columns, private: entry.private || twin?.isPrivate === true };
  });
}

function folded(name: string): string {
  return name.toLowerCase();
}

/** A model's private columns: all its columns, those from `catalog.json` too, if the model itself is private. */
function markedModel(model: Model) {
  const { uniqueId, isPrivate, schema, alias } = model;
  const privateColumns = knownColumns(model)
    .filter((column) => isPrivate || column.isPrivate)
    .map(({ name }) => name);
  return { uniqueId, isPrivate, privateColumns, relation: [schema, alias] as const };
}

/** The upstream nodes of a model that a column may come from: not beyond a node that passes on only its hash. */
function ancestorsOf(model: string, column: string, { graph }: Manifest): readonly string[] {
  const reached = new Set([model]);
  for (const id of reached) {
    const node = graph.get(id);
    if (node === undefined || showsOnlyHash(node, column)) continue;
    for (const parent of node.parents) reached.add(parent);
  }
  reached.delete(model);
  return [...reached];
}

/**
 * For each model, the nodes whose builds change its rows (`Endpoint.upstreamNodes`). For a table that is the table alone:
 * an upstream change reaches it with its next build. For a view it is the view itself and, through views, the views,
 * tables, seeds and snapshots that it reads. Models whose rows can also change without a build have no entry.
 */
export function upstreamNodesOf(
  models: readonly string[],
  graph: Graph,
): ReadonlyMap<string, readonly string[]> {
  const nondeterministic = nondeterministicNodes(models, graph);
  const deterministic = models.filter((id) => !nondeterministic.has(id) && hasRelation(id, graph));
  return new Map(deterministic.map((id) => [id, upstreamRelationsOf(id, graph)]));
}

/**
 * Nodes whose rows can change without a build, and every view on them. One pass over all models: walking the upstream
 * nodes of each model takes quadratic time in a long chain of views.
 */
function nondeterministicNodes(models: readonly string[], graph: Graph): ReadonlySet<string> {
  const reached = new Set(models);
  const childViews = new Map<string, string[]>();
  const nondeterministic = new Set<string>();
  // Iterating a set visits the items added meanwhile.
  for (const id of reached) {
    const node = graph.get(id);
    if (node === undefined || !isDeterministic(node)) nondeterministic.add(id);
    for (const parent of parentsReadBy(node)) {
      const known = childViews.get(parent);
      if (known === undefined) childViews.set(parent, [id]);
      else known.push(id);
      reached.add(parent);
    }
  }
  for (const id of nondeterministic) {
    for (const view of childViews.get(id) ?? []) nondeterministic.add(view);
  }
  return nondeterministic;
}

/**
 * Whether this node's rows change only through builds, if those of the nodes that it reads do. False for a view whose
 * code is not compiled and calls macros, which are unknown, and for a view without parents, as it reads relations unknown to dbt.
 */
function isDeterministic(node: GraphNode): boolean {
  if (!isView(node)) return node.isBuilt;
  return node.parents.length > 0 && node.isComplete && !node.code.some(isNondeterministic);
}

/** The nodes that every query of this node reads too: a view's parents. */
function parentsReadBy(node: GraphNode | undefined): readonly string[] {
  return node !== undefined && isView(node) ? node.parents : [];
}

function upstreamRelationsOf(model: string, graph: Graph): readonly string[] {
  const reached = new Set([model]);
  for (const id of reached) {
    for (const parent of parentsReadBy(graph.get(id))) reached.add(parent);
  }
  return [...reached].filter((id) => hasRelation(id, graph)).sort();
}

function hasRelation(id: string, graph: Graph): boolean {
  const node = graph.get(id);
  return node !== undefined && !isEphemeral(node);
}

/**
 * SQL that reads the clock, random values or ClickHouse dictionaries (they reload by themselves), for the databases that
 * dbt supports.
 */
const WORDS = ["current_(?:date|time|timestamp|datetime)", "local_?time(?:stamp)?", "tablesample"];
const FUNCTIONS = [
  "now(?:64|inblock)?",
  "today",
  "yesterday",
  "(?:clock|statement|transaction|utc_?|unix_)_?timestamp",
  "utc_(?:date|time)",
  "timeofday",
  "cur(?:date|time)",
  "get(?:utc)?date",
  "sys(?:date|datetime|timestamp|utcdatetime)",
  "rand\\w*",
  "uniform",
  "newid",
  "gen(?:erate|_random)_?uuid(?:v\\d)?",
  "uuid(?:_generate_\\w+|_string|v\\d)",
  "nextval",
  "dictget\\w*",
];
/** PostgreSQL's `age` with one argument reads the clock. */
const AGE = "age\\s*\\([^,()]*\\)";
const NONDETERMINISTIC = new RegExp(
  `\\b(?:(?:${WORDS.join("|")})\\b|(?:${FUNCTIONS.join("|")})\\s*\\(|${AGE})`,
  "i",
);

/**
 * Whether a view with this SQL may return other rows without a build. Words in comments and names match too: an unneeded
 * query is better than an outdated result.
 */
export function isNondeterministic(sql: string): boolean {
  return NONDETERMINISTIC.test(sql);
}
