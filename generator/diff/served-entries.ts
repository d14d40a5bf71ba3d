import { atOtherPaths } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";

/** An entry at one of the paths that it answers at. */
export interface ServedEntry extends CatalogueEntry {
  /** The path is a former one. */
  readonly isFormer?: true;
  /** The path is that of the version, and another one is the endpoint's own. */
  readonly isVersionPath?: true;
  /** Columns that the base marks as private and the head does not. */
  readonly lostColumns?: ReadonlySet<string>;
}

/** The entries, each at its own path and at its others: callers of those notice changes too. */
export function atAllPaths(entries: readonly CatalogueEntry[]): readonly ServedEntry[] {
  return entries.flatMap((entry): ServedEntry[] => [
    entry,
    ...atOtherPaths(entry).map((other) => ({
      ...other,
      ...(other.path === entry.versionPath ? { isVersionPath: true as const } : { isFormer: true as const }),
    })),
  ]);
}

/** Of one endpoint: its changes are those of its own path. */
export function isVersionPathOfBoth(base: ServedEntry, head: ServedEntry): boolean {
  return base.isVersionPath === true && head.isVersionPath === true && base.uniqueId === head.uniqueId;
}

/** Whether two entries are versions of one model. */
export function isOtherVersion(base: CatalogueEntry, head: CatalogueEntry): boolean {
  const areVersions = base.version !== undefined && head.version !== undefined;
  return base.model === head.model && areVersions && base.version !== head.version;
}
