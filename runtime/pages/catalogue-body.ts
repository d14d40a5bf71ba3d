import { allows, type Tier, TIER_NAMES } from "../core/model/tier.js";
import type { CATALOGUE_SCHEMA } from "../core/handler/catalogue-schema.js";
import type { ValueOf } from "../core/model/schema.js";

/** Whether callers see every endpoint, or only those that they may call (`CATALOGUE`). */
export type CatalogueScope = "public" | "allowed";

/**
 * Body of `GET /v1/system/catalogue`: the endpoints in the documented order, the upstream nodes of their models where the
 * caller's tier may see them.
 */
export type CatalogueBody = ValueOf<typeof CATALOGUE_SCHEMA>;
export type CatalogueEndpoint = CatalogueBody["endpoints"][number];
export type CatalogueColumn = CatalogueEndpoint["columns"][number];
export type CatalogueParameter = NonNullable<CatalogueEndpoint["parameters"]>[number];
export type Build = NonNullable<CatalogueEndpoint["last_build"]>;
export type TestSummary = NonNullable<CatalogueEndpoint["tests"]>;
export type UpstreamNode = NonNullable<CatalogueBody["lineage"]>[number];

/** Number of endpoints by category. */
export function categoriesOf(endpoints: readonly CatalogueEndpoint[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { category } of endpoints) counts.set(category, (counts.get(category) ?? 0) + 1);
  return counts;
}

/** Why a caller of tier `held` may not call an endpoint; null when it may. */
export function lockOf(
  { callable, tier }: Pick<CatalogueEndpoint, "callable" | "tier">,
  held: Tier,
): string | null {
  if (callable) return null;
  return allows(held, tier) ? "not for this key" : `needs ${TIER_NAMES[tier]}`;
}
