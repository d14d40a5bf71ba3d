import { digestOf, type PublicAge, type Tier } from "@routewright/runtime/model";
import type { Model } from "../manifest/model.js";
import type { CatalogueEntry } from "./catalogue.js";
import type { VersionOfPath } from "./path.js";

/** What all models of a manifest share. */
export interface SharedInput {
  readonly defaultTier: Tier;
  readonly nullableByDefault: boolean;
  /** Of public endpoints whose model does not say how long shared caches keep its rows; null: not at all. */
  readonly publicAge: PublicAge | null;
}

/**
 * All that an endpoint is read from, as every version of dbt says it: with the same input it is the same, as far as its node has no misspelt
 * keys and no other model has its path.
 */
export interface ModelInput extends SharedInput {
  readonly model: Model;
  readonly version: VersionOfPath | undefined;
}

/** Entries of before that need not be read again. */
export interface KnownEntries {
  /** The entry of a model that was read from an input with this digest. */
  entryOf(uniqueId: string, input: string): CatalogueEntry | undefined;
}

/** The digest of an input; null where it nests too deep to be written, as in a hostile manifest. */
export function inputDigest(input: ModelInput): string | null {
  try {
    return digestOf(JSON.stringify(input));
  } catch {
    return null;
  }
}

/** Whether JSON holds the entry whole: of an example it may lack a number that is not finite. */
export function isWholeInJson({ columns }: CatalogueEntry): boolean {
  return columns.every(({ example }) => example === undefined || isFinite(example));
}

function isFinite(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(isFinite);
  return typeof value !== "number" || Number.isFinite(value);
}
