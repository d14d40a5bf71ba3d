import { type BuildRecords, type RelationLoad, relationsOf } from "@routewright/runtime/model";
import type { Warehouse } from "@routewright/runtime/server";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { list, sentence } from "../manifest/strings.js";
import { type Mismatch, mismatchAt } from "./checks.js";

/** Looks for copies that are older than the last build of their source, by `run_results.json`. */
export async function verifyCopies(
  { entries }: Catalogue,
  { loads }: { readonly loads: Warehouse["loads"] },
  builds: BuildRecords,
): Promise<readonly Mismatch[]> {
  const found = await loads(entries.flatMap(relationsOf));
  const stale = new Map(found.filter((load) => builds.isStale(load)).map((load) => [load.relation, load]));
  return entries.flatMap((entry) =>
    relationsOf(entry).flatMap((relation) => {
      const load = stale.get(relation.join("."));
      return load === undefined ? [] : staleCopy(entry, load, builds);
    }),
  );
}

function staleCopy(
  entry: CatalogueEntry,
  { relation, builds: held }: RelationLoad,
  builds: BuildRecords,
): readonly Mismatch[] {
  const newer = Object.entries(held ?? {})
    .filter(([node, time]) => (builds.completedAt(node) ?? -Infinity) > Date.parse(time))
    .map(([node, time]) => `${node} (${time})`);
  return mismatchAt(
    entry,
    "stale-copy",
    sentence`The copy ${relation} holds an older build of ${list(newer)}: dbt has built since.`,
    "Export the model and load it: `routewright ddl --apply`.",
  );
}
