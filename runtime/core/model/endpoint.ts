import type { Aggregate } from "./aggregate/aggregate.js";
import type { Column, ColumnFilter, OwnRows, Pagination, Relation } from "./endpoint-parts.js";
import type { Freshness, LastLoadSql } from "./freshness.js";
import type { Comparison, ParameterOperator } from "./operators.js";
import type { Tier } from "./tier.js";

export type { Column, ColumnFilter, OwnRows, Pagination, Relation } from "./endpoint-parts.js";

/**
 * Schema version of a generated folder, written to `catalogue.json` and checked by generator and runtime. Increase it with
 * every change that an older runtime, or a newer one with an older folder, would misread.
 */
export const GENERATED_SCHEMA_VERSION = 1;

/** Of a module with `rows`: a runtime that does not know the setting would serve the rows of all organizations. */
export const OWN_ROWS_SCHEMA_VERSION = 2;

/** Methods that an endpoint declares; `HEAD` and `OPTIONS` are implied (runtime/docs/requests.md). */
export type Method = "GET" | "POST";

export type Direction = "ASC" | "DESC";

/** Case folding of both the value and the column before they are compared. */
export type LetterCase = "lower" | "upper";

/** How a declared parameter filters; which operator goes with which type (generator/docs/meta-api.md). */
export type Filter =
  | {
      readonly operator: ParameterOperator<"string">;
      readonly type: "string";
      readonly case?: LetterCase;
      /** Maximum characters of a value; 1,000 by default. */
      readonly maxLength?: number;
      /** The only values of the column, of an operator that compares with them; others are refused. */
      readonly values?: readonly string[];
    }
  | { readonly operator: ParameterOperator<"date">; readonly type: "date" }
  | {
      readonly operator: ParameterOperator<"string_list">;
      readonly type: "string_list";
      readonly case?: LetterCase;
      /** Maximum values per request; 1,000 by default. */
      readonly maxItems?: number;
      /** Maximum characters of each value; 1,000 by default. */
      readonly maxLength?: number;
      /** The only values of the column; others are refused. */
      readonly values?: readonly string[];
    };

/** A declared parameter: its name, the column it filters, and how. */
export type Parameter = Filter & { readonly name: string; readonly column: string };

/** A parameter that filters: a declared one, or an operator of a filtered column. */
export type FilterParameter =
  | Parameter
  | ((
      | { readonly operator: Comparison; readonly type: "value" }
      | { readonly operator: "null"; readonly type: "boolean" }
    ) & { readonly name: string; readonly column: string });

/** One key of an `ORDER BY`. */
export type SortKey = readonly [column: string, direction: Direction];

/** A path that an endpoint had before (generator/docs/how-to/moved-paths.md). */
export interface FormerPath {
  readonly path: string;
  /** When it may stop answering, as `Endpoint.deprecationDate`; null: not announced. */
  readonly sunset: string | null;
}

/** How long shared caches may keep the rows of callers without a key (runtime/docs/how-to/shared-caches.md), in seconds. */
export interface PublicAge {
  readonly maxAge: number;
  /** How long a cache may serve an older copy while it asks for a new one; 0: never. */
  readonly staleWhileRevalidate: number;
}

/**
 * One endpoint of the data API. Self-contained: the runtime needs no manifest. The generator creates it, a generated module
 * exports it, the runtime serves it.
 */
export interface Endpoint {
  /** Name of the dbt model. */
  readonly model: string;
  /** `/v1/{category}/{resource}[/{granularity}][/{window}]` (generator/docs/tags.md, Paths). */
  readonly path: string;
  readonly tier: Tier;
  readonly relation: Relation;
  readonly columns: readonly Column[];
  /** `string`: JSON has wide numbers as strings unless a request says otherwise (runtime/docs/responses.md, Formats). */
  readonly numbers?: "string";
  /** `GET` always; `POST` when the model declares it. */
  readonly methods: readonly Method[];
  /** True for a model without `meta.api`: the whole table, without parameters. */
  readonly legacy: boolean;
  readonly parameters: readonly Parameter[];
  /** Columns that callers filter by with operators; none when absent. */
  readonly filters?: readonly ColumnFilter[];
  /** Callers combine conditions on these columns: `?filter=status eq 'paid' or amount gt 10` (runtime/docs/filter.md). */
  readonly filter?: true;
  /** Callers choose the columns of a row: `?fields=day,amount_usd`. */
  readonly fields?: true;
  /** Callers read the rows of their organization only. */
  readonly rows?: OwnRows;
  /** Pages follow each other by cursor. These columns identify a row: they end every sort. */
  readonly cursor?: readonly string[];
  /** Sums and counts by group, which callers ask for instead of rows. */
  readonly aggregate?: Aggregate;
  /** When false, a request must carry at least one parameter that filters. */
  readonly allowUnfiltered: boolean;
  /** When not empty, a request must carry at least one of these parameters. */
  readonly requireAnyOf: readonly string[];
  readonly pagination: Pagination | null;
  /** The declared order. A caller's sort goes ahead of it, and it breaks ties. */
  readonly sort: readonly SortKey[];
  /** Columns that a caller may sort by, ahead of the declared order. */
  readonly sortableFields: readonly string[];
  /** When the endpoint may be removed, as an RFC 3339 time in UTC (dbt's `deprecation_date`); null: not deprecated. */
  readonly deprecationDate: string | null;
  /** From when on requests get 410, as `deprecationDate` (`meta.routewright.gone_after`); absent: never. */
  readonly goneAt?: string;
  /** Path of the endpoint that serves the latest version of the model; null for the latest one, or without versions. */
  readonly successor: string | null;
  /** The path of this version of the model, `/v1/shop/orders@2`, where `path` is that of the latest one. */
  readonly versionPath?: string;
  /** Where the endpoint was before: it answers there too. None when absent. */
  readonly formerPaths?: readonly FormerPath[];
  /** The team's promise that the rows change only when dbt builds the model or a node above it (runtime/docs/freshness.md). */
  readonly changes?: "on_build";
  /** How old the rows may be. No promise when absent. */
  readonly freshness?: Freshness;
  /** Of a promise since the last load: how the database says when that was. Absent: dbt's files alone say it. */
  readonly lastLoad?: LastLoadSql;
  /** Callers may refuse rows that are older than promised: `?require_fresh=true`. */
  readonly requireFresh?: true;
  /** No rows are served while a test of the model fails; they are served when absent. */
  readonly onFailedTest?: "refuse";
  /** Shared caches may keep the rows of callers without a key. Absent where they may not, or need a key. */
  readonly publicAge?: PublicAge;
}

/** All paths at which an endpoint answers: its own, that of its version, then its former ones. */
export function servedPaths({
  path,
  versionPath = path,
  formerPaths = [],
}: Pick<Endpoint, "path" | "versionPath" | "formerPaths">): readonly string[] {
  return [...new Set([path, versionPath]), ...formerPaths.map((former) => former.path)];
}

/** An endpoint as it answers at its other paths. */
export function atOtherPaths<Each extends Endpoint>(endpoint: Each): readonly Each[] {
  const { versionPath, formerPaths = [] } = endpoint;
  const version = versionPath === undefined ? [] : [{ ...endpoint, path: versionPath, formerPaths: [] }];
  return [...version, ...formerPaths.map((former) => atFormerPath(endpoint, former))];
}

/** An endpoint as it answers at a former path: deprecated, and its own path is the successor. */
export function atFormerPath<Each extends Endpoint>(endpoint: Each, { path, sunset }: FormerPath): Each {
  const [first = null] = [sunset, endpoint.deprecationDate].filter((date) => date !== null).sort();
  return { ...endpoint, path, formerPaths: [], deprecationDate: first, successor: endpoint.path };
}

/** Parameters of paginated and of sortable endpoints, besides the declared ones. */
export const PAGE_FIELDS = ["limit", "offset"] as const;
export const SORT_FIELDS = ["sort_by", "sort_direction"] as const;
/** Where an endpoint has `requireFresh`. */
export const REQUIRE_FRESH = "require_fresh";
