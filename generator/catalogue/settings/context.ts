import type { ModelColumn } from "../../manifest/model-columns.js";
import type { JsonObject } from "../../manifest/json.js";
import type { CatalogueEntry } from "../catalogue.js";

/** The parts of an endpoint that `meta.api` decides. */
export type ApiSettings = Pick<
  CatalogueEntry,
  | "methods"
  | "legacy"
  | "parameters"
  | "allowUnfiltered"
  | "requireAnyOf"
  | "pagination"
  | "sort"
  | "sortableFields"
>;

/** What the keys of a model's `meta.routewright` depend on besides their values. */
export interface RoutewrightContext {
  /** Columns that settings may name: `served` and those that only a catalog lists. */
  readonly columns: readonly ModelColumn[];
  readonly served: readonly ModelColumn[];
  /** Whether a column may have a type by its own name, such as an enum: in PostgreSQL. */
  readonly hasOwnTypes: boolean;
  /** Lists of columns that identify a row (`Model.provenKeys`). */
  readonly provenKeys: readonly (readonly string[])[];
  /** The whole `meta.routewright`, as written. */
  readonly routewright: JsonObject;
  /** Null where `meta.api` has problems. */
  readonly api: ApiSettings | null;
  /** Whether the model has bounds of dbt's own for the age of its rows. */
  readonly hasLoadBounds: boolean;
  /** The endpoint's own path; null where the tags give none. */
  readonly path: string | null;
}
