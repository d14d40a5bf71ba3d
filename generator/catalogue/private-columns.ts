import type { Manifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import type { CatalogueEntry, ColumnFacts } from "./catalogue.js";

/**
 * Marks the columns that carry private data of another model: those with the name of a column that a model above, by
 * `depends_on`, marks private. Whether the SQL between passes it on is left to `routewright lint`.
 */
export function withInheritedPrivacy(
  entries: readonly CatalogueEntry[],
  manifest: Manifest,
): readonly CatalogueEntry[] {
  const sources = new Map(manifest.models.map((model) => [model.uniqueId, privateNames(model)] as const));
  if (![...sources.values()].some((names) => names.length > 0)) return entries;
  return entries.map((entry) => {
    const inherited = new Set(ancestorsOf(entry.uniqueId, manifest).flatMap((id) => sources.get(id) ?? []));
    const names = entry.endpoint.columns.map(({ name }) => name);
    const marked = names.filter((name) => inherited.has(name.toLowerCase()));
    if (marked.length === 0) return entry;
    const columns = new Map(entry.facts.columns);
    for (const name of marked)
      columns.set(name, { ...(columns.get(name) ?? NOTHING_KNOWN), isPrivate: true });
    return { ...entry, facts: { ...entry.facts, columns } };
  });
}

const NOTHING_KNOWN: ColumnFacts = { notNull: null, acceptedValues: null, isPrivate: false };

/** Names of a model's private columns; all of them where the model itself is marked. */
function privateNames({ isPrivate, columns }: Model): readonly string[] {
  return columns.filter((column) => isPrivate || column.isPrivate).map(({ name }) => name.toLowerCase());
}

/** Everything that feeds a model, without itself. */
function ancestorsOf(model: string, { graph }: Manifest): readonly string[] {
  const reached = new Set([model]);
  for (const id of reached) for (const parent of graph.get(id)?.parents ?? []) reached.add(parent);
  reached.delete(model);
  return [...reached];
}
