import type { ApiKey } from "./caller.js";
import { described, listOf, mapOf, oneOf, record, type Schema, type ValueOf, wholeNumber } from "./schema.js";
import { allows, type Tier, TIERS } from "./tier.js";

const NAMED: Schema<string> = { type: "string", pattern: "^(/v1(/[^/\\s]+)+|[^/\\s]+)$" };

/** What the keys of an organization may do together with their own limits (runtime/docs/keys.md, Plans). */
const PLAN_SCHEMA = record(
  { tier: described("The highest tier that its keys may call.", oneOf(TIERS)) },
  {
    requestsPerMinute: described(
      "Requests per minute of each key. Default: those of the tier.",
      wholeNumber(1, 1_000_000),
    ),
    allowed: described(
      "Categories and paths that its keys may call. Default: all of the tier.",
      listOf(NAMED, { minItems: 1 }),
    ),
  },
);

/** By name. */
export const PLANS_SCHEMA = mapOf(PLAN_SCHEMA, {
  propertyNames: { pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" },
});

export type OrganizationPlan = ValueOf<typeof PLAN_SCHEMA>;
export type Plans = Readonly<Record<string, OrganizationPlan>>;

/** A key of an organization with this plan: the lower of both tiers, and what both allow. */
export function withPlan(key: ApiKey, { tier, requestsPerMinute, allowed }: OrganizationPlan): ApiKey {
  return {
    ...key,
    tier: lowerOf(key.tier, tier),
    allowed: inBoth(key.allowed, allowed ?? null),
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
  };
}

function lowerOf(one: Tier, other: Tier): Tier {
  return allows(one, other) ? other : one;
}

/** Categories and paths that two lists name; null: all. */
function inBoth(one: readonly string[] | null, other: readonly string[] | null): readonly string[] | null {
  if (one === null) return other;
  if (other === null) return one;
  const isNamedIn = (list: readonly string[], entry: string): boolean =>
    list.includes(entry) || (entry.startsWith("/") && list.includes(entry.split("/")[2] ?? ""));
  const both = [
    ...one.filter((entry) => isNamedIn(other, entry)),
    ...other.filter((entry) => isNamedIn(one, entry)),
  ];
  return [...new Set(both)];
}
