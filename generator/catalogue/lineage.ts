import { type Graph, type GraphNode, isBuilt, isEphemeral, isView } from "../manifest/graph.js";
import type { Manifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import { byText } from "../manifest/strings.js";
import type { CatalogueEntry, ColumnFacts, Lineage, LineageNode } from "./catalogue.js";

/** The lineage of these models: themselves and all nodes upstream. A node without parents and tests has no entry. */
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
 * `lineage.json`, one line per node. A file of its own: a refactored upstream model changes it, and neither
 * `catalogue.json` nor any module that reviewers read.
 */
export function lineageText(lineage: Lineage): string {
  const nodes = [...lineage].map(([id, node]) => `    ${JSON.stringify(id)}: ${JSON.stringify(node)}`);
  const body = nodes.length === 0 ? "{}" : `{\n${nodes.join(",\n")}\n  }`;
  return `{\n  "x-generated-by": ${JSON.stringify(MARKER)},\n  "schemaVersion": 1,\n  "nodes": ${body}\n}\n`;
}

/**
 * Marks inherited private columns: those with the name of a private column of an upstream node. Whether the SQL between
 * selects that column is checked by `routewright lint`.
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
    // Most endpoints have none: finding the nodes upstream takes much longer.
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

/** A model's private columns: all of them, those of the warehouse too, where the model itself is private. */
function privateColumnsOf({ uniqueId, isPrivate, columns }: Model) {
  const names = columns.filter((column) => isPrivate || column.isPrivate).map(({ name }) => name);
  return { uniqueId, privateColumns: names };
}

/** All nodes upstream of a model. */
function ancestorsOf(model: string, { graph }: Manifest): readonly string[] {
  const reached = new Set([model]);
  for (const id of reached) for (const parent of graph.get(id)?.parents ?? []) reached.add(parent);
  reached.delete(model);
  return [...reached];
}

/**
 * The nodes whose builds change a model's rows (`Endpoint.upstreamNodes`), for the models whose rows nothing else changes.
 * A table has only itself: changes upstream reach it with its next build. A view has itself and, through views, the
 * views, tables, seeds and snapshots that it reads.
 */
export function upstreamNodesOf(
  models: readonly string[],
  graph: Graph,
): ReadonlyMap<string, readonly string[]> {
  const nondeterministic = nondeterministicNodes(models, graph);
  const deterministic = models.filter((id) => !nondeterministic.has(id) && hasRelation(id, graph));
  return new Map(deterministic.map((id) => [id, nodesUnder(id, graph)]));
}

/**
 * Nodes whose rows may change without a build, and every view on them. One pass over all models: a walk down from each
 * would take quadratic time in a long chain of views.
 */
function nondeterministicNodes(models: readonly string[], graph: Graph): ReadonlySet<string> {
  const reached = new Set(models);
  const readers = new Map<string, string[]>();
  const nondeterministic = new Set<string>();
  // Iterating a set visits the items added meanwhile.
  for (const id of reached) {
    const node = graph.get(id);
    if (node === undefined || !isDeterministic(node)) nondeterministic.add(id);
    for (const parent of parentsReadBy(node)) {
      const known = readers.get(parent);
      if (known === undefined) readers.set(parent, [id]);
      else known.push(id);
      reached.add(parent);
    }
  }
  for (const id of nondeterministic) {
    for (const reader of readers.get(id) ?? []) nondeterministic.add(reader);
  }
  return nondeterministic;
}

/**
 * Whether a node adds only rows that builds change. Not so for a view without compiled code, whose macros may do
 * anything, nor for one without parents, which reads relations unknown to dbt.
 */
function isDeterministic(node: GraphNode): boolean {
  if (!isView(node)) return isBuilt(node);
  return node.parents.length > 0 && node.isCompiled && !node.code.some(isNondeterministic);
}

/** The nodes that a query of this node reads too. */
function parentsReadBy(node: GraphNode | undefined): readonly string[] {
  return node !== undefined && isView(node) ? node.parents : [];
}

function nodesUnder(model: string, graph: Graph): readonly string[] {
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
 * The clock, randomness, and ClickHouse's dictionaries, which reload by themselves, in the databases that dbt supports.
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
 * Whether a view with this SQL may return other rows tomorrow without a build, as it reads the clock or random values.
 * Words in comments and names count too: an unneeded query is better than an outdated result.
 */
export function isNondeterministic(sql: string): boolean {
  return NONDETERMINISTIC.test(sql);
}
