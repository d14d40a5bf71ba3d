import type { ApiKey } from "./caller.js";
import {
  described,
  flag,
  listOf,
  mapOf,
  oneOf,
  record,
  type Schema,
  textOf,
  type ValueOf,
  wholeNumber,
} from "./schema.js";
import { allows, type Tier, TIERS } from "./tier.js";

const NAMED: Schema<string> = { type: "string", pattern: "^(/v1(/[^/\\s]+)+|[^/\\s]+)$" };

/** A number that JSON and PostgreSQL hold exactly. */
const MONTHLY = wholeNumber(1, 1_000_000_000_000_000);

/** Units of a quota, in the order in which they are checked. */
export const QUOTA_UNITS = ["requests", "rows", "bytes"] as const;
export type QuotaUnit = (typeof QUOTA_UNITS)[number];

/** What an organization may use in a calendar month in UTC. */
const QUOTA_SCHEMA = record(
  {},
  {
    requests: described("Requests with a status of 2xx.", MONTHLY),
    rows: described("Rows that are sent.", MONTHLY),
    bytes: described("Bytes of bodies that are sent.", MONTHLY),
    countNotModified: described("Whether a response of 304 counts as a request.", flag, false),
  },
);

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
    quota: described("What all its keys together may use in a calendar month in UTC.", QUOTA_SCHEMA),
    keys: described("Number of its keys. Default: no limit.", wholeNumber(1, 1_000_000)),
    members: described("Number of its members. Default: no limit.", wholeNumber(1, 1_000_000)),
    price: described("What it costs, as a text for people.", textOf({ minLength: 1, maxLength: 200 })),
    upgrade: described(
      "Address at which an organization gets a larger plan: refusals of a used-up quota name it.",
      textOf({ pattern: "^https://[^\\s]+$", maxLength: 500 }),
    ),
  },
);

/** By name. */
export const PLANS_SCHEMA = mapOf(PLAN_SCHEMA, {
  propertyNames: { pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" },
});

export type OrganizationPlan = ValueOf<typeof PLAN_SCHEMA>;
export type Quota = ValueOf<typeof QUOTA_SCHEMA>;
export type Plans = Readonly<Record<string, OrganizationPlan>>;

/** Figures that an organization may have of its own. */
export const OWN_FIGURES = ["requestsPerMinute", ...QUOTA_UNITS, "keys", "members"] as const;

/** Figures of an organization that go before those of its plan; null: the plan's. */
export type OwnFigures = Readonly<Record<(typeof OWN_FIGURES)[number], number | null>>;

/** The figures that count for an organization: its own, else those of its plan. */
export function figuresOf(plan: Partial<OrganizationPlan>, own: Partial<OwnFigures>) {
  const quota = plan.quota ?? {};
  return {
    requestsPerMinute: own.requestsPerMinute ?? plan.requestsPerMinute,
    keys: own.keys ?? plan.keys,
    members: own.members ?? plan.members,
    upgrade: plan.upgrade,
    quota: {
      requests: own.requests ?? quota.requests,
      rows: own.rows ?? quota.rows,
      bytes: own.bytes ?? quota.bytes,
      countNotModified: quota.countNotModified ?? false,
    },
  };
}

export type Figures = ReturnType<typeof figuresOf>;

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
