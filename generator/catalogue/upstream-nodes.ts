import { type Graph, type GraphNode, isBuilt, isEphemeral, isView } from "../manifest/graph.js";

/**
 * The nodes whose builds alone change a model's rows (`Endpoint.upstreamNodes`), for each of these models whose rows
 * nothing else changes. A table has itself alone: what is under it shows when it is built again. A view has itself and,
 * through views, the views, tables, seeds and snapshots that it reads.
 */
export function upstreamNodesOf(
  models: readonly string[],
  graph: Graph,
): ReadonlyMap<string, readonly string[]> {
  const changing = changingNodes(models, graph);
  const deterministic = models.filter((id) => !changing.has(id) && hasRelation(id, graph));
  return new Map(deterministic.map((id) => [id, nodesBehind(id, graph)]));
}

/**
 * What may change without a build, and every view on it. Found from the roots up and for all models at once: walking
 * down from each would take the square of a long chain of views.
 */
function changingNodes(models: readonly string[], graph: Graph): ReadonlySet<string> {
  const reached = new Set(models);
  const readers = new Map<string, string[]>();
  const changing = new Set<string>();
  // A set can be extended while it is walked.
  for (const id of reached) {
    const node = graph.get(id);
    if (node === undefined || !isDeterministic(node)) changing.add(id);
    for (const parent of readBy(node)) {
      const known = readers.get(parent);
      if (known === undefined) readers.set(parent, [id]);
      else known.push(id);
      reached.add(parent);
    }
  }
  for (const id of changing) {
    for (const reader of readers.get(id) ?? []) changing.add(reader);
  }
  return changing;
}

/**
 * Whether builds alone change what a node adds itself. A view without compiled code may hide anything in a macro; one
 * that names no parent reads what dbt does not know of.
 */
function isDeterministic(node: GraphNode): boolean {
  if (!isView(node)) return isBuilt(node);
  return node.parents.length > 0 && node.isCompiled && !node.code.some(variesByItself);
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

/**
 * What tells the time, or leaves things to chance, in the databases that dbt knows; and a dictionary of ClickHouse's,
 * which reloads by itself.
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
/** PostgreSQL's `age` asks the clock where it has one argument only. */
const AGE = "age\\s*\\([^,()]*\\)";
const VARIES = new RegExp(`\\b(?:(?:${WORDS.join("|")})\\b|(?:${FUNCTIONS.join("|")})\\s*\\(|${AGE})`, "i");

/**
 * Whether a view with this SQL may show other rows tomorrow although nothing was built: it asks the clock, or chance.
 * Words in comments and names count too: it is better to query once too often than to serve what is old.
 */
export function variesByItself(sql: string): boolean {
  return VARIES.test(sql);
}
