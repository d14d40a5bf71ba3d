import {
  allows,
  allowsPath,
  type OrganizationPlan,
  type Plans,
  QUOTA_UNITS,
  RATE_LIMITS,
} from "@routewright/runtime/model";
import type { Catalogue } from "../catalogue/catalogue.js";
import { severityOf } from "../report/finding.js";
import type { Change, Difference } from "./change.js";
import { type ChangeKind, type ChangeSeverities, type ChangeSeverity, KINDS } from "./change-kinds.js";

/** What a change of a plan has in place of the path of an endpoint. */
const PLAN_PREFIX = "plans/";

/** Organizations by the plan that they have. */
export type PlanHolders = ReadonlyMap<string, readonly string[]>;

/** The changes of plans, from one catalogue to another. Pure. `holders`: who is hit, where that is known. */
export function comparePlans(
  { plans: base = {} }: Pick<Catalogue, "plans">,
  { plans: head = {} }: Pick<Catalogue, "plans">,
  severities: ChangeSeverities = {},
  holders: PlanHolders = new Map(),
): readonly Change[] {
  const names = [...new Set([...Object.keys(base), ...Object.keys(head)])];
  return names.flatMap((name) =>
    differencesOf(name, base, head).flatMap((difference) => {
      const severity = severityOf<ChangeKind, ChangeSeverity>(KINDS, difference.kind, severities);
      const { tier = "tier0" } = base[name] ?? head[name] ?? {};
      const { kind, subject = null, before = null, after = null } = difference;
      const change = { kind, subject, before, after, details: detailsOf(holders.get(name) ?? []) };
      const place = { endpoint: PLAN_PREFIX + name, model: "config file", file: null, tier };
      return severity === null ? [] : [{ severity, ...place, ...change }];
    }),
  );
}

function detailsOf(organizations: readonly string[]): readonly string[] {
  return organizations.length === 0 ? [] : [`Organizations with this plan: ${organizations.join(", ")}`];
}

function differencesOf(name: string, base: Plans, head: Plans): readonly Difference[] {
  const [before, after] = [base[name], head[name]];
  if (after === undefined) return [{ kind: "plan-removed" }];
  if (before === undefined) return [{ kind: "plan-added", after: after.tier }];
  return [
    ...tierDifferences(before, after),
    ...limitDifferences(before, after),
    ...quotaDifferences(before, after),
    ...sizeDifferences(before, after),
    ...priceDifferences(before, after),
    ...pathDifferences(before, after),
  ];
}

function tierDifferences(
  { tier: before }: OrganizationPlan,
  { tier: after }: OrganizationPlan,
): readonly Difference[] {
  if (before === after) return [];
  return [{ kind: allows(after, before) ? "plan-tier-raised" : "plan-tier-lowered", before, after }];
}

/** Without a number the tier's counts, as servers have it by default. */
function limitDifferences(base: OrganizationPlan, head: OrganizationPlan): readonly Difference[] {
  const limitOf = ({ tier, requestsPerMinute }: OrganizationPlan): number =>
    requestsPerMinute ?? RATE_LIMITS[tier];
  const [before, after] = [limitOf(base), limitOf(head)];
  if (before === after) return [];
  const kind = after < before ? "plan-limit-lowered" : "plan-limit-raised";
  return [{ kind, before: String(before), after: String(after) }];
}

function quotaDifferences(
  { quota: base = {} }: OrganizationPlan,
  { quota: head = {} }: OrganizationPlan,
): readonly Difference[] {
  const units = QUOTA_UNITS.flatMap((unit) => figureDifference("quota", unit, base[unit], head[unit]));
  const [before = false, after = false] = [base.countNotModified, head.countNotModified];
  if (before === after || head.requests === undefined) return units;
  const kind = after ? "plan-quota-lowered" : "plan-quota-raised";
  return [...units, { kind, subject: "countNotModified", before: String(before), after: String(after) }];
}

function sizeDifferences(base: OrganizationPlan, head: OrganizationPlan): readonly Difference[] {
  return (["keys", "members"] as const).flatMap((name) =>
    figureDifference("size", name, base[name], head[name]),
  );
}

/** Without a number there is no limit. */
function figureDifference(
  of: "quota" | "size",
  subject: string,
  base: number | undefined,
  head: number | undefined,
): readonly Difference[] {
  if (base === head) return [];
  const kind = (head ?? Infinity) < (base ?? Infinity) ? "lowered" : "raised";
  const [before = "none", after = "none"] = [base?.toString(), head?.toString()];
  return [{ kind: `plan-${of}-${kind}`, subject, before, after }];
}

function priceDifferences(
  { price: before = "none" }: OrganizationPlan,
  { price: after = "none" }: OrganizationPlan,
): readonly Difference[] {
  return before === after ? [] : [{ kind: "plan-price-changed", before, after }];
}

function pathDifferences(
  { allowed: base }: OrganizationPlan,
  { allowed: head }: OrganizationPlan,
): readonly Difference[] {
  if (base === undefined || head === undefined) {
    if (base === head) return [];
    const [before = "all", after = "all"] = [base?.join(", "), head?.join(", ")];
    return [{ kind: base === undefined ? "plan-paths-removed" : "plan-paths-added", before, after }];
  }
  return [
    ...base
      .filter((entry) => !isWithin(entry, head))
      .map((subject): Difference => ({ kind: "plan-paths-removed", subject })),
    ...head
      .filter((entry) => !isWithin(entry, base))
      .map((subject): Difference => ({ kind: "plan-paths-added", subject })),
  ];
}

/** Whether a list names a category or a path, or the category of the path. */
function isWithin(entry: string, list: readonly string[]): boolean {
  return entry.startsWith("/") ? allowsPath(list, entry) : list.includes(entry);
}
