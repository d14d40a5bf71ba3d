import type { Parameter } from "../model/endpoint.js";
import { allows, type Tier, TIER_NAMES } from "../model/tier.js";

/** Whether callers see every endpoint, or only those that they may call (`CATALOGUE`). */
export type CatalogueScope = "public" | "allowed";

/** Body of `GET /v1/system/catalogue`. */
export interface CatalogueBody {
  readonly title: string;
  /** The caller's. */
  readonly tier: Tier;
  /** In the documented order. With `CATALOGUE=allowed`, only those that the caller may call. */
  readonly endpoints: readonly CatalogueEndpoint[];
  /** Number of endpoints that each higher tier adds. */
  readonly locked: Readonly<Partial<Record<Tier, number>>>;
  /** The upstream nodes of the endpoints' models; null where the caller's tier may not see them. */
  readonly lineage: readonly LineageNode[] | null;
}

export interface CatalogueEndpoint {
  readonly path: string;
  readonly model: string;
  /** The model's `id` in `lineage`. */
  readonly node: string;
  readonly category: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  readonly tier: Tier;
  /** Whether the caller may call it. Of others neither builds nor tests are listed. */
  readonly callable: boolean;
  readonly description: string;
  /** Further words for which the search finds it. */
  readonly synonyms: readonly string[];
  readonly methods: readonly string[];
  readonly columns: readonly CatalogueColumn[];
  /** Null for an endpoint that takes no parameters at all. */
  readonly parameters: readonly CatalogueParameter[] | null;
  /** Columns that callers filter by, with their operators: `amount_usd[gte]`. */
  readonly filters?: readonly { readonly column: string; readonly operators: readonly string[] }[];
  /** Whether callers choose columns by `fields`. */
  readonly fields?: true;
  /** Columns that identify a row, where pages follow each other by `cursor`. */
  readonly cursor?: readonly string[];
  /** Callers get the rows whose column equals the organization of their key. */
  readonly own_rows?: { readonly column: string };
  /** At least one of these is required; empty: none. */
  readonly require_any_of: readonly string[];
  readonly pagination: {
    readonly default_limit: number;
    readonly max_limit: number;
    readonly response: "list" | "envelope";
  } | null;
  readonly sort: readonly (readonly [column: string, direction: string])[];
  readonly sortable_fields: readonly string[];
  readonly deprecation_date: string | null;
  readonly successor: string | null;
  /** Deprecated paths at which it answers too, each with its sunset. */
  readonly former_paths?: readonly { readonly path: string; readonly sunset: string | null }[];
  /** As in `X-Data-As-Of`. */
  readonly data_as_of: string | null;
  readonly last_build: Build | null;
  /** Null where the model has no tests. */
  readonly tests: TestSummary | null;
}

/** Why a caller of tier `held` may not call an endpoint; null when it may. */
export function lockOf(
  { callable, tier }: Pick<CatalogueEndpoint, "callable" | "tier">,
  held: Tier,
): string | null {
  if (callable) return null;
  return allows(held, tier) ? "not for this key" : `needs ${TIER_NAMES[tier]}`;
}

export interface CatalogueColumn {
  readonly name: string;
  /** The database type; null where the model declares none. */
  readonly type: string | null;
  readonly description: string;
  readonly accepted_values?: readonly string[];
}

export interface CatalogueParameter {
  readonly name: string;
  readonly column: string;
  readonly operator: Parameter["operator"];
  readonly type: Parameter["type"];
  readonly description: string;
  /** The only values that are accepted. */
  readonly accepted_values?: readonly string[];
}

export interface Build {
  /** RFC 3339, in UTC. */
  readonly completed_at: string;
  /** Rows that the build wrote; null where dbt does not report them. */
  readonly rows: number | null;
  /** The build failed: the rows may be the earlier ones. */
  readonly failed: boolean;
}

export interface TestSummary {
  readonly passed: number;
  readonly warned: number;
  /** Failed, or could not run. */
  readonly failed: number;
  /** No result is known. */
  readonly unknown: number;
  /** When the last of them ran; null where none has. */
  readonly completed_at: string | null;
  /** Those that did not pass. */
  readonly problems: readonly {
    readonly name: string;
    readonly status: "warn" | "fail" | "error";
    readonly failures: number | null;
  }[];
}

export interface LineageNode {
  /** dbt's `unique_id`. */
  readonly id: string;
  readonly name: string;
  /** `model`, `seed`, `snapshot`, `source`, … */
  readonly kind: string;
  readonly parents: readonly string[];
  readonly last_build: string | null;
  readonly tests: TestSummary | null;
}
