import type { Tier } from "./tier.js";

/**
 * Version of what a generated folder holds: `catalogue.json` says it, generator and runtime check it. A change that an
 * older runtime or an older folder would misread raises it.
 */
export const GENERATED_SCHEMA_VERSION = 1;

/** Methods a data endpoint may answer; `HEAD` and `OPTIONS` come with them (data-api.md §4.3). */
export type Method = "GET" | "POST";

export type Direction = "ASC" | "DESC";

/** Upper- or lower-casing that both the input and the column go through before they are compared. */
export type LetterCase = "lower" | "upper";

/** How a declared parameter filters; operator and type are paired as in data-api.md §2.3. */
export type Filter =
  | {
      readonly operator: "=" | "ILIKE";
      readonly type: "string";
      readonly case?: LetterCase;
      /** Most characters of a value; 1,000 by default. */
      readonly maxLength?: number;
      /** The only values of the column, with `=`; others are refused. */
      readonly values?: readonly string[];
    }
  | { readonly operator: ">=" | "<="; readonly type: "date" }
  | {
      readonly operator: "IN";
      readonly type: "string_list";
      readonly case?: LetterCase;
      /** Most values of one request; 1,000 by default. */
      readonly maxItems?: number;
      /** Most characters of each value; 1,000 by default. */
      readonly maxLength?: number;
      /** The only values of the column; others are refused. */
      readonly values?: readonly string[];
    };

/** A parameter that a caller may send: a name, the column it filters, and how. */
export type Parameter = Filter & { readonly name: string; readonly column: string };

/** Page sizes of an endpoint, in rows (data-api.md §2.3). */
export interface Pagination {
  readonly defaultLimit: number;
  readonly maxLimit: number;
  /** A bare array of rows, or `{items, pagination}`. */
  readonly response: "list" | "envelope";
}

/** One key of an `ORDER BY`. */
export type SortKey = readonly [column: string, direction: Direction];

/** A column of the model, in the model's order. */
export interface Column {
  readonly name: string;
  /** The declared database type, or null. */
  readonly type: string | null;
  /** IANA time zone of a `timestamp` without zone; UTC when absent. */
  readonly timezone?: string;
  /** Whether its numbers may have more digits than a JavaScript number holds. */
  readonly wide?: true;
}

/** Schema and name of a relation, unquoted. */
export type Relation = readonly [schema: string, name: string];

/**
 * One endpoint of the data API, complete: nothing of the manifest is needed behind it. The generator makes it, a
 * generated module carries it, the runtime serves it (DESIGN.md, "One way through").
 */
export interface Endpoint {
  /** Name of the dbt model. */
  readonly model: string;
  /** `/v1/{category}/{resource}[/{granularity}][/{window}]` (data-api.md §4.1). */
  readonly path: string;
  readonly tier: Tier;
  readonly relation: Relation;
  readonly columns: readonly Column[];
  /** `string`: JSON has wide numbers as strings unless a request says otherwise (runtime/README.md, Formats). */
  readonly numbers?: "string";
  /** `GET` always; `POST` when the model declares it. */
  readonly methods: readonly Method[];
  /** True for a model without `meta.api`: the whole table, no parameters at all (data-api.md §4.3). */
  readonly legacy: boolean;
  readonly parameters: readonly Parameter[];
  /** When false, a request must carry at least one declared parameter. */
  readonly allowUnfiltered: boolean;
  /** When not empty, a request must carry at least one of these parameters. */
  readonly requireAnyOf: readonly string[];
  readonly pagination: Pagination | null;
  /** The fixed order, applied in turn; callers cannot override it. */
  readonly sort: readonly SortKey[];
  /** Columns that a caller may sort by, ahead of the fixed order. */
  readonly sortableFields: readonly string[];
  /** When the endpoint may be gone, as an RFC 3339 instant in UTC (dbt's `deprecation_date`); null: it is there to stay. */
  readonly deprecationDate: string | null;
  /** Path of the endpoint that serves the latest version of the model; null for the latest one, or without versions. */
  readonly successor: string | null;
  /**
   * dbt nodes (`unique_id`, sorted) whose builds alone change the rows: the model and, where that is a view, the views,
   * tables, seeds and snapshots that it reads. Null when something else may change them too, such as a source that a
   * view reads.
   */
  readonly upstreamNodes: readonly string[] | null;
}

/** Names that a paginated or sortable endpoint takes besides its own parameters. */
export const PAGE_FIELDS = ["limit", "offset"] as const;
export const SORT_FIELDS = ["sort_by", "sort_direction"] as const;
