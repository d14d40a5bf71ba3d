import { type Graph, type GraphNode, isBuilt, isEphemeral, isView } from "../manifest/graph.js";

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
