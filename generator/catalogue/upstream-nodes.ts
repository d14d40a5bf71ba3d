import { type Graph, type GraphNode, isEphemeral, isView } from "../manifest/graph.js";

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
