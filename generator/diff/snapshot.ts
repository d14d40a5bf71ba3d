import type { Endpoint } from "@routewright/runtime/model";
import { catalogueOf, type CatalogueOptions } from "../catalogue/build.js";
import type { Documentation, Skipped } from "../catalogue/catalogue.js";
import type { Manifest } from "../manifest/manifest.js";

/** An endpoint of one side, whatever that side was read from. */
export interface Published {
  readonly endpoint: Endpoint;
  /** dbt's `unique_id`; null where the side, a generated folder, does not tell. */
  readonly uniqueId: string | null;
  /** The model's file in its dbt project; null likewise. */
  readonly file: string | null;
  /** Null where the side's descriptions cannot be told from what the generator adds to them: then none are compared. */
  readonly documentation: Documentation | null;
}

/** One side of a comparison. */
export interface Snapshot {
  /** In the documented order, no two with the same path. */
  readonly published: readonly Published[];
  /** Models without an endpoint, and why; only a manifest knows of them. */
  readonly skipped: readonly Skipped[];
  /** What is odd about the side, for people. */
  readonly warnings: readonly string[];
}

/** A manifest as a side: its catalogue, and the file of each model. */
export function snapshotOfManifest(manifest: Manifest, options: CatalogueOptions = {}): Snapshot {
  const { entries, skipped } = catalogueOf(manifest, options);
  const files = new Map(manifest.models.map(({ uniqueId, file }) => [uniqueId, file]));
  const published = entries.map(({ endpoint, uniqueId, documentation }) => {
    // dbt leaves the path empty in some older versions: the same as not told.
    return { endpoint, uniqueId, file: files.get(uniqueId) || null, documentation };
  });
  return { published, skipped, warnings: manifest.warnings };
}
