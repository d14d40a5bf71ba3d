import { showsOnlyHash } from "../manifest/graph.js";
import type { Manifest } from "../manifest/manifest.js";
import { knownColumns, type Model } from "../manifest/model.js";
import type { CatalogueEntry } from "./catalogue.js";

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
