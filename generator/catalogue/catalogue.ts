import type { Endpoint, Tier } from "@routewright/runtime/model";
import type { ColumnPromises } from "../manifest/model.js";
import type { Lineage } from "./lineage.js";

/** The words of a model: they reach doc comments and OpenAPI, never code. */
export interface Documentation {
  readonly description: string;
  /** By column name. */
  readonly columns: ReadonlyMap<string, string>;
  /** By parameter name. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** What dbt says of a column and a row does not show. */
export interface ColumnFacts extends ColumnPromises {
  readonly notNull: "constraint" | "test" | null;
  readonly acceptedValues: readonly string[] | null;
  readonly isPrivate: boolean;
}

/** What dbt says of a model and its endpoint does not show; `routewright diff` judges changes by it. */
export interface ModelFacts {
  /** The model's file in its dbt project; empty where an older manifest does not name it. */
  readonly file: string;
  /** Whether a tag of the model names the tier; else it is the default of the generation. */
  readonly hasTierTag: boolean;
  readonly isPrivate: boolean;
  /** By column name; a column of which nothing is known is left out. */
  readonly columns: ReadonlyMap<string, ColumnFacts>;
}

/** An endpoint with where it comes from and what its author says of it. */
export interface CatalogueEntry {
  readonly endpoint: Endpoint;
  /** dbt's `unique_id` of the model. */
  readonly uniqueId: string;
  /** Digest of all that the project says of the model; null where an earlier version wrote none. */
  readonly source: string | null;
  readonly facts: ModelFacts;
  readonly category: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  readonly documentation: Documentation;
}

/** Something wrong with a model, told so that its author can mend it. */
export interface Problem {
  /** dbt's `unique_id`. */
  readonly model: string;
  /** Where in the model's node, as a JSON path: `$.config.meta.api.parameters[0].column`. */
  readonly path: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
}

/** Why a tagged model has no endpoint. */
export type SkipReason = "invalid" | "path-taken" | "excluded";

/** A model that is tagged for the API and has no endpoint, with every problem found in it. */
export interface Skipped {
  readonly model: string;
  /** The model's file, as dbt tells it. */
  readonly file: string;
  readonly reason: SkipReason;
  readonly problems: readonly Problem[];
}

/** What a manifest publishes: the one model between reading and rendering. Entries in the documented order. */
export interface Catalogue {
  readonly entries: readonly CatalogueEntry[];
  readonly skipped: readonly Skipped[];
  /** Tier of the endpoints whose model has no tier tag. */
  readonly defaultTier: Tier;
  /** What is odd in a model and yet no reason to refuse it. */
  readonly warnings: readonly Problem[];
  /** What the project says of its categories. */
  readonly categories: ReadonlyMap<string, string>;
  /** What the endpoints are made from; empty for a catalogue read from its file. */
  readonly lineage: Lineage;
}
