import type { DataRoute } from "../../../core/handler/exchange.js";
import type { Reply } from "../../../core/http/send.js";
import { done, newInvitation } from "../../../pages/account/notices.js";
import type { Statements } from "../../../postgres/own-tables.js";
import { mayHaveMembers, organizationsIn } from "../organizations.js";
import { type AccountPage, figuresIn, movedTo, noPlan, rootOf, told, unknown } from "./account.js";
import {
  formRoute,
  type OrganizationForm,
  organizationRoute,
  type SentForm,
  type FormResult,
} from "./forms.js";
import { shownAfter } from "./key-forms.js";
import {
  actorOf,
  closeOrganization,
  invitationsOf,
  invite,
  lockedRole,
  type Member,
  membershipsOf,
  membersOf,
  removeMember,
  type MemberRole,
  ROLES,
  setRole,
  withdrawInvitation,
} from "./members.js";
import { forgetPerson } from "./people.js";

/** People of an organization, where its plan names no number. */
const MAX_MEMBERS = 100;
const MAX_INVITATIONS = 50;
const MAX_NAME = 100;

/** What owners do, and how anybody ends their account. */
export function peopleRoutes(page: AccountPage): readonly DataRoute[] {
  const owners = (path: string, handle: (page: AccountPage, form: OrganizationForm) => Promise<FormResult>) =>
    organizationRoute(page, path, (form) => handle(page, form), "owner");
  return [
    owners("/name", rename),
    owners("/invitations", makeInvitation),
    owners("/invitations/withdraw", withdraw),
    owners("/members/role", changeRole),
    owners("/members/remove", remove),
    formRoute(page, "/delete", (form) => end(page, form)),
  ];
}

const actorIn = ({ visitor }: SentForm): string => actorOf(visitor.person.id);

async function rename(page: AccountPage, form: OrganizationForm): Promise<FormResult> {
  const name = form.field("name");
  if (name.length > MAX_NAME)
    return told(page, 400, "Not saved", `A name has at most ${String(MAX_NAME)} characters.`);
  await organizationsIn(form.tables, actorIn(form)).setName(form.organization, name);
  return shownAfter(page, form, done("The name is saved."));
}

async function makeInvitation(page: AccountPage, form: OrganizationForm): Promise<FormResult> {
  const { tables, organization } = form;
  const role = ROLES.find((each) => each === form.field("role"));
  if (role === undefined) return told(page, 400, "No invitation", "Choose a role.");
  if (!(await mayHaveMembers(tables, organization))) return noPlan(page);
  const [members, open] = [await membersOf(tables, organization), await invitationsOf(tables, organization)];
  const most = await mostMembers(page, form);
  if (members.length + open.length >= most || open.length >= MAX_INVITATIONS)
    return told(
      page,
      409,
      "No invitation",
      `An organization has at most ${String(most)} people, invited ones too.`,
    );
  const { code, expires } = await invite(tables, actorIn(form), { organization, role });
  return shownAfter(page, form, newInvitation(linkOf(page, code), expires));
}

export const linkOf = ({ publicUrl }: Pick<AccountPage, "publicUrl">, code: string): string =>
  `${publicUrl}/account/invitation?code=${code}`;

async function mostMembers(page: AccountPage, { tables, organization }: OrganizationForm): Promise<number> {
  const found = await organizationsIn(tables, "").find(organization);
  return (found && figuresIn(page, found).members) ?? MAX_MEMBERS;
}

async function withdraw(page: AccountPage, form: OrganizationForm): Promise<FormResult> {
  const { tables, organization, field } = form;
  const isGone = await withdrawInvitation(tables, actorIn(form), organization, field("id"));
  return isGone ? shownAfter(page, form, done("The invitation is withdrawn.")) : unknown(page);
}

async function changeRole(page: AccountPage, form: OrganizationForm): Promise<FormResult> {
  const { tables, organization, field } = form;
  const role = ROLES.find((each) => each === field("role"));
  if (role === undefined) return told(page, 400, "Not changed", "Choose a role.");
  const person = field("person");
  if (role === "member" && (await isOnlyOwner(form, person))) return lastOwner(page);
  const isChanged = await setRole(tables, actorIn(form), { organization, person, role });
  return isChanged ? shownAfter(page, form, done("The role is changed.")) : unknown(page);
}

async function remove(page: AccountPage, form: OrganizationForm): Promise<FormResult> {
  const { tables, organization, field, visitor } = form;
  const person = field("person");
  if (await isOnlyOwner(form, person)) return lastOwner(page);
  if (!(await removeMember(tables, actorIn(form), organization, person))) return unknown(page);
  if (person === visitor.person.id) return movedTo(rootOf(page));
  return shownAfter(page, form, done("The person is removed. Keys stay: revoke those that only they had."));
}

async function isOnlyOwner({ tables, organization }: OrganizationForm, person: string): Promise<boolean> {
  const owners = (await membersOf(tables, organization)).filter(({ role }) => role === "owner");
  return owners.length === 1 && owners[0]?.person === person;
}

const lastOwner = (page: AccountPage): Reply =>
  told(
    page,
    409,
    "Not changed",
    "An organization has at least one owner. Make somebody else an owner first.",
  );

/** Erases a person. What nobody else belongs to is closed; counts stay. */
async function end(page: AccountPage, form: SentForm): Promise<FormResult> {
  const { tables, visitor, field, exchange } = form;
  const { id } = visitor.person;
  if (field("sure") !== "yes") return told(page, 400, "Not deleted", "Tick the box to delete your account.");
  const own = (await membershipsOf(tables, id)).map(({ organization }) => organization);
  for (const organization of own) {
    const role = await lockedRole(tables, organization, id);
    if (isMissingOwner(role, await othersIn(tables, organization, id))) return lastOwner(page);
  }
  const closed: string[] = [];
  for (const organization of own) {
    if ((await othersIn(tables, organization, id)).length > 0)
      await removeMember(tables, actorOf(id), organization, id);
    else closed.push(...(await closeOrganization(tables, actorOf(id), organization)));
  }
  await forgetPerson(tables, id);
  return async () => {
    exchange.response.appendHeader("Set-Cookie", page.cookies.set("session", "", 0));
    await page.eraseUsers(closed);
    return told(page, 200, "Your account is deleted", "Your name and your address are erased.");
  };
}

async function othersIn(
  tables: Statements,
  organization: string,
  person: string,
): Promise<readonly Member[]> {
  return (await membersOf(tables, organization)).filter((each) => each.person !== person);
}

/** Others would have an organization that nobody manages. */
const isMissingOwner = (role: MemberRole | null, others: readonly Member[]): boolean =>
  role === "owner" && others.length > 0 && !others.some((each) => each.role === "owner");
