import { randomUUID } from "node:crypto";
import type { DataRoute, Exchange } from "../../../core/handler/exchange.js";
import { allows, type Tier, TIER_NAMES } from "../../../core/model/tier.js";
import { queryOf } from "../../../core/http/route.js";
import {
  type Figures,
  figuresOf,
  type OrganizationPlan,
  QUOTA_UNITS,
} from "../../../core/model/organization-plan.js";
import type { Reply } from "../../../core/http/send.js";
import type { Html } from "../../../core/http/html.js";
import { message } from "../../../pages/account/notices.js";
import type { ShownPlan } from "../../../pages/account/overview.js";
import { overview } from "../../../pages/account/views.js";
import type { Statements } from "../../../postgres/own-tables.js";
import { changesIn, type AuditEntry } from "../audit.js";
import { KeyDatabase } from "../key-database.js";
import type { KeyOwner, StoredKey } from "../key-store.js";
import { type MonthUse, monthUseOf, organizationsIn } from "../organizations.js";
import {
  type AccountPage,
  pageRoute,
  planOf,
  rootOf,
  shown,
  unknown,
  type Visitor,
  visitorOf,
} from "./account.js";
import { welcomePage } from "./arrivals.js";
import { formToken } from "./cookies.js";
import { actorOf, invitationsOf, type Member, type Membership, membersOf, membershipsOf } from "./members.js";
import { keysOf as keyNamesOf, shownUsage } from "./usage.js";

/** The plan decides below it; keys that open tier3 are made by operators. */
export const MEMBER_KEY_TIER = "tier2";

/** Whether members may make a key like this one. */
export const isMemberKey = ({ tier, allowed = [] }: Pick<KeyOwner, "tier" | "allowed">): boolean =>
  allows(MEMBER_KEY_TIER, tier) &&
  !allowed.some((each) => each === "system" || each.startsWith("/v1/system/"));

/** Keys of an organization where its plan names no number. */
export const MAX_KEYS = 100;
const SHOWN_CHANGES = 50;

/** The page itself. */
export function overviewRoute(page: AccountPage): DataRoute {
  return pageRoute(page, "GET", "", (exchange) => show(page, exchange));
}

async function show(page: AccountPage, exchange: Exchange): Promise<Reply> {
  const asked = queryOf(exchange.request).get("organization");
  const read = await page.tables.inTransaction(async (tables) => {
    const visitor = await visitorOf(page, tables, exchange);
    return visitor && { visitor, parts: await partsOf(page, tables, visitor, asked) };
  });
  if (read === null) return welcomePage(page);
  const { visitor, parts } = read;
  if (parts !== null) return shown(page, 200, await render(page, visitor, parts, null));
  if (asked !== null) return unknown(page);
  const text = "You belong to no organization. Ask an owner of one for an invitation.";
  return shown(page, 200, message(rootOf(page), "No organization", text, readerOf(page, visitor)));
}

/** The page after a form, with what that did. The transaction is that of the form. */
export async function afterForm(
  page: AccountPage,
  tables: Statements,
  visitor: Visitor,
  organization: string,
  notice: Html,
): Promise<() => Promise<Reply>> {
  const parts = await partsOf(page, tables, visitor, organization);
  if (parts === null) return () => Promise.resolve(unknown(page));
  return async () => shown(page, 200, await render(page, visitor, parts, notice));
}

interface OverviewParts {
  readonly memberships: readonly Membership[];
  readonly membership: Membership;
  readonly limits: { readonly plan: string | null; readonly figures: Figures; readonly used: MonthUse };
  readonly keys: readonly StoredKey[];
  readonly keyNames: ReadonlyMap<string, string>;
  readonly members: readonly Member[];
  readonly invitations: Awaited<ReturnType<typeof invitationsOf>>;
  readonly changes: readonly AuditEntry[];
}

/** Null where somebody does not belong to the organization; without one it is their first. */
async function partsOf(
  page: AccountPage,
  tables: Statements,
  { person }: Visitor,
  asked: string | null,
): Promise<OverviewParts | null> {
  const memberships = await membershipsOf(tables, person.id);
  const membership = memberships.find(({ organization }) => asked === null || organization === asked);
  if (membership === undefined) return null;
  const { organization } = membership;
  const database = new KeyDatabase(tables, actorOf(person.id));
  return {
    memberships,
    membership,
    limits: await limitsOf(page, tables, membership),
    keys: await database.page({ organization, after: null, limit: 1000 }),
    keyNames: await keyNamesOf(tables, organization),
    members: await membersOf(tables, organization),
    invitations: await invitationsOf(tables, organization),
    changes: await changesIn(tables, { organization, before: null, limit: SHOWN_CHANGES }),
  };
}

async function limitsOf(page: AccountPage, tables: Statements, { organization, plan }: Membership) {
  const found = await organizationsIn(tables, "").find(organization);
  const figures = figuresOf(planOf(page, plan) ?? {}, found?.own ?? {});
  return { plan, figures, used: await monthUseOf(tables, organization) };
}

const readerOf = (page: AccountPage, { session, person }: Visitor) => ({
  ...person,
  root: rootOf(page),
  formToken: formToken(session),
});

async function render(
  page: AccountPage,
  visitor: Visitor,
  parts: OverviewParts,
  notice: Html | null,
): Promise<Html> {
  const { memberships, membership, limits, keys, keyNames, members, invitations, changes } = parts;
  const plan = shownPlan(page, limits);
  return overview({
    reader: readerOf(page, visitor),
    organization: { id: membership.organization, name: membership.name },
    organizations: memberships.map(({ organization: id, name }) => ({ id, name })),
    isOwner: membership.role === "owner",
    plan,
    keys: keys.map((key) => ({
      ...{ id: key.id, name: key.user, created: key.created ?? "", expires: lastDayOf(key.expires) },
      ...{ allowed: key.allowed ?? [], lastUsed: key.lastUsed ?? null, isReplaceable: isMemberKey(key) },
    })),
    formId: randomUUID(),
    categories: categoriesIn(page, plan),
    members: members.map((member) => ({ ...member, isReader: member.person === visitor.person.id })),
    invitations,
    usage: await shownUsage(page, keyNames),
    changes: changes.map((change) => changeText(change, members, keyNames)),
    notice,
  });
}

/** A key that ends with a day is shown with that day. */
function lastDayOf(expires: string | undefined): string | null {
  if (expires?.endsWith("T00:00:00Z") !== true) return expires ?? null;
  return new Date(Date.parse(expires) - 1000).toISOString().slice(0, 10);
}

function shownPlan(page: AccountPage, { plan: name, figures, used }: OverviewParts["limits"]): ShownPlan {
  const plan: OrganizationPlan = planOf(page, name) ?? { tier: "tier0" };
  const { price, upgrade } = plan;
  const quotas = QUOTA_UNITS.flatMap((unit) => {
    const quota = figures.quota[unit];
    return quota === undefined ? [] : [{ unit, quota, left: Math.max(0, quota - used[unit]) }];
  });
  return {
    name,
    tier: TIER_NAMES[plan.tier],
    requestsPerMinute: figures.requestsPerMinute ?? page.rateLimits[plan.tier],
    allowed: plan.allowed ?? [],
    ...(price !== undefined && { price }),
    ...(upgrade !== undefined && { upgrade }),
    quotas,
  };
}

/** Categories that the plan opens: 30 of them at most are named. */
function categoriesIn(page: AccountPage, { allowed }: ShownPlan): readonly string[] {
  const all = [...new Set(page.endpoints().map(({ path }) => path.split("/")[2] ?? ""))];
  return all.filter((each) => allowed.length === 0 || allowed.includes(each)).slice(0, 30);
}

const WHAT: Readonly<Record<string, string>> = {
  created: "made the key",
  rotated: "replaced the key",
  revoked: "revoked the key",
  organization: "made the organization and set its plan",
  plan: "changed the plan",
  renamed: "gave the organization another id",
  named: "named the organization",
  figures: "changed the limits",
  joined: "joined",
  left: "ended the membership of",
  role: "changed the role of",
  invited: "made an invitation",
  withdrawn: "withdrew an invitation",
};

function changeText(
  { at, actor, action, key, plan, subject }: AuditEntry,
  members: readonly Member[],
  keyNames: ReadonlyMap<string, string>,
) {
  const nameOf = (person: string): string =>
    members.find((each) => each.person === person)?.name ?? "somebody who left";
  const who = actor.startsWith("person:") ? nameOf(actor.slice("person:".length)) : "The operator";
  const about = action === "left" || action === "role" ? nameOf(subject ?? "") : "";
  const named = key === null ? "" : keyNames.get(key) || key;
  const what = [WHAT[action] ?? action, named, plan === null ? "" : `to ${plan}`, about];
  return { at, who, what: what.filter((each) => each !== "").join(" ") };
}

/** A call to paste: of an endpoint that the plan opens and that needs no parameter, the lowest tier above public first. */
export function callOf(page: AccountPage, plan: string | null, key: string): string {
  const { tier, allowed } = planOf(page, plan) ?? { tier: "tier0" as Tier, allowed: undefined };
  const open = page
    .endpoints()
    .filter(({ path, allowUnfiltered, requireAnyOf, tier: needed }) => {
      const isNamed =
        allowed === undefined || allowed.some((each) => each === path || each === path.split("/")[2]);
      return allowUnfiltered && requireAnyOf.length === 0 && isNamed && allows(tier, needed);
    })
    .sort((a, b) => rank(a) - rank(b));
  const [first] = open;
  const query = first?.pagination ? "?limit=5" : "";
  return `curl -H 'X-API-Key: ${key}' '${page.publicUrl}${first?.path ?? "/v1/system/usage"}${query}'`;
}

/** Endpoints with own rows show a new organization none. */
const rank = ({ tier, rows }: { readonly tier: Tier; readonly rows?: unknown }): number =>
  (rows === undefined ? 0 : 10) + (tier === "tier0" ? 1 : 0);
