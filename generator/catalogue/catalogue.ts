import type { Endpoint } from "@routewright/runtime/model";

/** The words of a model: they reach doc comments and OpenAPI, never code. */
export interface Documentation {
  readonly description: string;
  /** By column name. */
  readonly columns: ReadonlyMap<string, string>;
  /** By parameter name. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** An endpoint with where it comes from and what its author says of it. */
export interface CatalogueEntry {
  readonly endpoint: Endpoint;
  /** dbt's `unique_id` of the model. */
  readonly uniqueId: string;
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
  /** What is odd in a model and yet no reason to refuse it. */
  readonly warnings: readonly Problem[];
}
