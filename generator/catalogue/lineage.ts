import { type Graph, type GraphNode, isEphemeral, showsOnlyHash } from "../manifest/graph.js";
import { type JsonObject, objectOr, textsOf } from "../manifest/json.js";
import { parseJson } from "../manifest/json-text.js";
import { loadBoundsOf } from "../manifest/node-meta.js";
import type { Manifest } from "../manifest/manifest.js";
import { knownColumns, type Model } from "../manifest/model.js";
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

/**
 * Marks columns as private that have the name of a private column of an upstream node, unless only a hash of it is passed
 * on, or of a node with the same relation, and endpoints over the relation of a private node. `routewright lint` checks
 * whether the SQL between the two selects that column.
 */
export function withInheritedPrivacy(
  entries: readonly CatalogueEntry[],
  manifest: Manifest,
): readonly CatalogueEntry[] {
  const marked = markedNodesOf(manifest);
  return entries.map((entry) => {
    const twin = marked.byRelation.get(JSON.stringify(entry.relation));
    const columns = entry.columns.map((column) => {
      // Most columns have no such name, and finding the upstream nodes takes much longer.
      if (column.private || !marked.names.has(folded(column.name))) return column;
      const above = ancestorsOf(entry.uniqueId, column.name, manifest).map((id) => marked.byId.get(id));
      const isMarked = [...above, twin].some((node) =>
        node?.privateColumns.some((name) => folded(name) === folded(column.name)),
      );
      return isMarked ? { ...column, private: true } : column;
    });
    const isPrivate = entry.private || twin?.isPrivate === true;
    const isSame = isPrivate === entry.private && columns.every((column, i) => column === entry.columns[i]);
    return isSame ? entry : { ...entry, columns, private: isPrivate };
  });
}

/** The nodes that are marked as private, or have columns that are. */
interface MarkedNodes {
  readonly byId: ReadonlyMap<string, MarkedNode>;
  readonly byRelation: ReadonlyMap<string, MarkedNode>;
  /** Of all their private columns, in lower case. */
  readonly names: ReadonlySet<string>;
}
type MarkedNode = ReturnType<typeof markedModel> | Manifest["others"][number];

/** Each model with filters or measures asks for them. */
const MARKED = new WeakMap<Manifest, MarkedNodes>();

function markedNodesOf(manifest: Manifest): MarkedNodes {
  const known = MARKED.get(manifest);
  if (known !== undefined) return known;
  const nodes = [...manifest.models.map(markedModel), ...manifest.others].filter(
    (node) => node.isPrivate || node.privateColumns.length > 0,
  );
  const marked: MarkedNodes = {
    byId: new Map(nodes.map((node) => [node.uniqueId, node])),
    byRelation: new Map(nodes.map((node) => [JSON.stringify(node.relation), node])),
    names: new Set(nodes.flatMap(({ privateColumns }) => privateColumns.map(folded))),
  };
  MARKED.set(manifest, marked);
  return marked;
}

/**
 * Names of a model's private columns in lower case: its own marks, and those of nodes above it. `undeclared`: further columns
 * that are read of it.
 */
export function inheritedPrivacyOf(
  model: Model,
  manifest: Manifest,
  undeclared: readonly string[],
): ReadonlySet<string> {
  const { uniqueId, schema, alias, isPrivate } = model;
  const marked = knownColumns(model).map(({ name, isPrivate: own }) => ({ name, private: own }));
  const unmarked = undeclared.map((name) => ({ name, private: false }));
  const columns = [...marked, ...unmarked].map((column) => ({ ...column, type: null }));
  const entry = {
    uniqueId,
    columns,
    relation: [schema, alias],
    private: isPrivate,
  } as unknown as CatalogueEntry;
  const [found] = withInheritedPrivacy([entry], manifest);
  const shown = (found?.columns ?? []).filter((column) => found?.private === true || column.private);
  return new Set(shown.map(({ name }) => folded(name)));
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
export function ancestorsOf(model: string, column: string, { graph }: Manifest): readonly string[] {
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
