import { type Graph, type GraphNode, isEphemeral } from "../manifest/graph.js";
import { loadBoundsOf } from "../manifest/node-meta.js";
import type { Manifest } from "../manifest/manifest.js";
import { byText } from "../manifest/strings.js";
import type { CatalogueEntry, Lineage, LineageNode } from "./catalogue.js";

/** What endpoints are made from. A node without parents, tests and a relation has no entry. */
export function lineageOf(entries: readonly CatalogueEntry[], manifest: Manifest): Lineage {
  const { graph, tests } = manifest;
  const upstreamNodes = upstreamNodesByPath(entries, manifest);
  const changing = new Set([...upstreamNodes.values()].flat());
  const reached = new Set(entries.flatMap((entry) => [entry.uniqueId, ...readBy(entry, manifest)]));
  const nodes = new Map<string, LineageNode>();
  // Iterating a set visits the items added meanwhile.
  for (const id of reached) {
    const { parents = [], relation = null } = graph.get(id) ?? {};
    const node = { parents, tests: tests.get(id) ?? [] };
    for (const parent of parents) reached.add(parent);
    if (changing.has(id) && relation !== null) nodes.set(id, { ...node, relation });
    else if (parents.length + node.tests.length > 0) nodes.set(id, node);
  }
  return {
    nodes: new Map([...nodes].sort(([a], [b]) => byText(a, b))),
    upstreamNodes,
    rowNodes: rowNodesByPath(entries, manifest),
    checkedNodes: checkedNodesByPath(entries, manifest),
    rollUpNodes: rollUpNodes(entries, manifest),
    tests: testsByPath(entries, manifest),
  };
}

/**
 * The nodes whose builds change the rows of models: the models themselves and, through those whose rows follow what they read (views,
 * a materialized view that refreshes by itself), all that it reads. An upstream change reaches a table with its next build.
 */
function upstreamNodesOf(models: readonly string[], graph: Graph): readonly string[] {
  const reached = new Set(models);
  // Iterating a set visits the items added meanwhile.
  for (const id of reached) {
    const node = graph.get(id);
    if (node !== undefined && !node.isBuilt) for (const parent of node.parents) reached.add(parent);
  }
  return [...reached].filter((id) => !isInlined(graph.get(id))).sort();
}

function isInlined(node: GraphNode | undefined): boolean {
  return node !== undefined && isEphemeral(node);
}

/**
 * By path. An endpoint that reads what dbt does not build has none, unless the team promises that its rows change only with
 * builds.
 */
function upstreamNodesByPath(
  entries: readonly CatalogueEntry[],
  manifest: Manifest,
): Lineage["upstreamNodes"] {
  const { graph } = manifest;
  const isBuilt = (id: string): boolean => (graph.get(id)?.kind ?? "source") !== "source";
  return new Map(
    entries.flatMap((entry) => {
      const { path, changes } = entry;
      const nodes = upstreamNodesOf(readBy(entry, manifest), graph);
      const built = nodes.filter(isBuilt);
      return changes === undefined && built.length < nodes.length ? [] : [[path, built] as const];
    }),
  );
}

/** By node of each roll-up: the nodes whose builds change the rows of its semantic model, where dbt builds them all, or its team promises so. */
function rollUpNodes(
  entries: readonly CatalogueEntry[],
  { graph, semantics, models }: Manifest,
): NonNullable<Lineage["rollUpNodes"]> {
  const found = entries.flatMap(({ aggregate }) => aggregate?.rollUps ?? []);
  const nodes = new Map(
    found.map(({ node, of }) => [node, semantics.models.find(({ name }) => name === of)]),
  );
  return new Map(
    [...nodes]
      .sort(([a], [b]) => byText(a, b))
      .flatMap(([node, { model = "" } = { model: "" }]) => {
        const upstream = upstreamNodesOf([model], graph);
        const built = upstream.filter((id) => (graph.get(id)?.kind ?? "source") !== "source");
        const promise = models.find(({ uniqueId }) => uniqueId === model)?.routewright["changes"];
        const isKnown = built.length === upstream.length || promise === "on_build";
        return isKnown && built.length > 0 ? [[node, built] as const] : [];
      }),
  );
}

/** Whether a node selects from another one, or from views over it. */
export function isReadBy(read: string, by: string, graph: Graph): boolean {
  const parents = graph.get(by)?.parents ?? [];
  const reached = new Set(parents);
  for (const id of reached) {
    const node = graph.get(id);
    if (node !== undefined && !node.isBuilt) for (const parent of node.parents) reached.add(parent);
  }
  return reached.has(read);
}

/** Of views the tables and sources behind them hold the rows. */
function rowNodesByPath(
  entries: readonly CatalogueEntry[],
  manifest: Manifest,
): NonNullable<Lineage["rowNodes"]> {
  const { graph } = manifest;
  const holdsRows = (id: string): boolean => {
    const node = graph.get(id);
    return node === undefined || node.isBuilt || node.kind === "source" || node.parents.length === 0;
  };
  const promising = entries.filter(({ freshness }) => freshness !== undefined);
  return new Map(
    promising.map((entry) => [
      entry.path,
      isOfLoads(entry) ? [entry.uniqueId] : upstreamNodesOf(readBy(entry, manifest), graph).filter(holdsRows),
    ]),
  );
}

/** Whether the promise is that of dbt's own check of the model. */
function isOfLoads({ freshness }: CatalogueEntry): boolean {
  return freshness?.warnAfter !== undefined || freshness?.errorAfter !== undefined;
}

/** Of each endpoint that promises how old its rows are: all nodes above that dbt checks, and the model where its own promise is another. */
function checkedNodesByPath(
  entries: readonly CatalogueEntry[],
  manifest: Manifest,
): NonNullable<Lineage["checkedNodes"]> {
  const { graph } = manifest;
  const promising = entries.filter(({ freshness }) => freshness !== undefined);
  const checkedBy = (entry: CatalogueEntry): readonly string[] => {
    const own = readBy(entry, manifest);
    const reached = new Set(own);
    for (const id of reached) for (const parent of graph.get(id)?.parents ?? []) reached.add(parent);
    for (const id of own) reached.delete(id);
    return [...reached].filter((id) => loadBoundsOf(graph.get(id)?.json ?? {}) !== null).sort();
  };
  return new Map(
    promising
      .map((entry) => [entry.path, checkedBy(entry)] as const)
      .filter(([, checked]) => checked.length > 0),
  );
}

/** Of what an endpoint reads itself; tests above it are of other rows. */
function testsByPath(entries: readonly CatalogueEntry[], manifest: Manifest): NonNullable<Lineage["tests"]> {
  const { tests, testedColumns } = manifest;
  const testsOf = (entry: CatalogueEntry) =>
    readBy(entry, manifest)
      .flatMap((node) => tests.get(node) ?? [])
      .map((test) => [test, testedColumns.get(test) ?? null] as const);
  return new Map(
    entries
      .map((entry) => [entry.path, Object.fromEntries(testsOf(entry))] as const)
      .filter(([, own]) => Object.keys(own).length > 0),
  );
}

/** The nodes whose rows an endpoint reads: its model; of metrics every relation, with the time spines. */
function readBy({ uniqueId, aggregate }: CatalogueEntry, manifest: Manifest): readonly string[] {
  if (aggregate?.of !== "metrics") return [uniqueId];
  const { models, semantics } = manifest;
  return aggregate.relations.map(({ name, relation: [schema, alias] }) => {
    const { model } = semantics.models.find((each) => each.name === name) ?? {};
    const node = model ?? models.find((each) => each.schema === schema && each.alias === alias)?.uniqueId;
    // Of what is unknown nobody knows when it changes.
    return node ?? uniqueId;
  });
}
