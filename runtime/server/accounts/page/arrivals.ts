import type { DataRoute, Exchange } from "../../../core/handler/exchange.js";
import type { SignUp } from "../../../core/model/about.js";
import { queryOf } from "../../../core/http/route.js";
import type { Reply } from "../../../core/http/send.js";
import { invitation as invitationView, welcome } from "../../../pages/account/notices.js";
import type { Statements } from "../../../postgres/own-tables.js";
import { mayHaveMembers, organizationsIn } from "../organizations.js";
import {
  type AccountPage,
  attemptOf,
  ATTEMPTS_A_MINUTE,
  movedTo,
  noPlan,
  pageRoute,
  rootOf,
  shown,
  told,
  tooMany,
  type Visitor,
  visitorOf,
} from "./account.js";
import { formToken } from "./cookies.js";
import { formRoute, type SentForm } from "./forms.js";
import {
  actorOf,
  addMember,
  type Invitation,
  invitationOf,
  membershipsOf,
  takeInvitation,
} from "./members.js";
import {
  arrivedLately,
  endSession,
  knownPerson,
  newPerson,
  type Person,
  SESSION_SECONDS,
  startSession,
} from "./people.js";
import { type Arrival, LOGIN_SECONDS, type SignedIn } from "./sign-in.js";

/** Sign-in, sign-up, invitations and sign-out. */
export function arrivalRoutes(page: AccountPage): readonly DataRoute[] {
  return [
    pageRoute(page, "GET", "/sign-in", (exchange) => begin(page, exchange)),
    pageRoute(page, "GET", "/callback", (exchange) => end(page, exchange)),
    pageRoute(page, "GET", "/invitation", (exchange) => showInvitation(page, exchange)),
    formRoute(page, "/invitation", (form) => accept(page, form), "invitation"),
    formRoute(page, "/sign-out", (form) => signOut(page, form)),
  ];
}

/** What somebody sees who is not signed in. */
export function welcomePage(page: AccountPage): Reply {
  const { title, about } = page;
  return shown(page, 200, welcome(rootOf(page), title, whoMay(about.signUp), about.termsOfService));
}

function whoMay(signUp: SignUp | undefined): string {
  if (signUp === undefined || signUp.who === "invitation") return "You need an invitation.";
  if (signUp.who !== "mailDomains") return "";
  return `You need an address of ${(signUp.mailDomains ?? []).join(", ")}.`;
}

const CODE = /^[\w-]{43}$/;

async function begin(page: AccountPage, exchange: Exchange): Promise<Reply> {
  const refused = await tooMany(page, exchange, attemptOf(exchange, "sign-in"), ATTEMPTS_A_MINUTE);
  if (refused !== null) return refused;
  const code = queryOf(exchange.request).get("invitation") ?? "";
  try {
    const { location, cookie } = await page.signIn.begin(CODE.test(code) ? code : null);
    exchange.response.appendHeader("Set-Cookie", page.cookies.set("login", cookie, LOGIN_SECONDS));
    return movedTo(location);
  } catch (error) {
    return issuerAway(page, exchange, error);
  }
}

function issuerAway(page: AccountPage, { gateway, context }: Exchange, error: unknown): Reply {
  gateway.log.error(
    { err: error, requestId: context.id },
    "the issuer of ACCOUNT_ISSUER does not respond as it should",
  );
  return told(
    page,
    502,
    "Sign-in does not work",
    "The sign-in service does not respond. Try again in a minute.",
  );
}

/** The reader comes back from the issuer. A session has a new cookie, whatever the browser had before. */
async function end(page: AccountPage, exchange: Exchange): Promise<Reply> {
  const refused = await tooMany(page, exchange, attemptOf(exchange, "sign-in-end"), ATTEMPTS_A_MINUTE);
  if (refused !== null) return refused;
  exchange.response.appendHeader("Set-Cookie", page.cookies.set("login", "", 0));
  let signedIn: SignedIn | null;
  try {
    signedIn = await page.signIn.end(exchange.request, page.cookies.read(exchange.request, "login"));
  } catch (error) {
    return issuerAway(page, exchange, error);
  }
  if (signedIn === null)
    return told(
      page,
      400,
      "You are not signed in",
      "The sign-in was refused, took too long, or did not begin in this browser. Try again.",
    );
  const { invitation } = signedIn;
  const session = await page.tables.inTransaction((tables) => arrive(page, tables, signedIn));
  if (typeof session !== "string") return session;
  exchange.response.appendHeader("Set-Cookie", page.cookies.set("session", session, SESSION_SECONDS));
  return movedTo(rootOf(page) + (invitation === null ? "" : `/invitation?code=${invitation}`));
}

/** The text of the session's cookie, or why there is none. */
async function arrive(
  page: AccountPage,
  tables: Statements,
  { arrival, invitation }: SignedIn,
): Promise<string | Reply> {
  const { signUp } = page.about;
  const known = await knownPerson(tables, arrival);
  const isInvited = invitation !== null && (await invitationOf(tables, invitation)) !== null;
  if (known !== null) return returning(page, tables, known, isInvited);
  if (!isInvited && !maySignUp(signUp, arrival))
    return told(page, 403, "No account", `${NO_ACCOUNT} ${whoMay(signUp)}`);
  if ((await arrivedLately(tables)) >= (signUp?.perHour ?? DEFAULT_PER_HOUR))
    return told(page, 429, "Not now", "Too many people sign up at the moment. Try again in an hour.");
  const { id } = await newPerson(tables, arrival);
  if (!isInvited) await ownOrganization(page, tables, id);
  return startSession(tables, id);
}

/** Who has left every organization gets another one, where they may sign up. */
async function returning(
  page: AccountPage,
  tables: Statements,
  { id, mail }: Person,
  isInvited: boolean,
): Promise<string> {
  const memberships = isInvited ? [] : await membershipsOf(tables, id);
  if (!isInvited && memberships.length === 0 && maySignUp(page.about.signUp, { mail }))
    await ownOrganization(page, tables, id);
  return startSession(tables, id);
}

const NO_ACCOUNT = "You are known to the sign-in service, but have no account here.";
const DEFAULT_PER_HOUR = 100;

/** A domain of another is no proof: only addresses that the issuer has verified are kept. */
function maySignUp(signUp: SignUp | undefined, { mail }: Pick<Arrival, "mail">): boolean {
  if (signUp === undefined || signUp.who === "invitation") return false;
  if (signUp.who !== "mailDomains") return true;
  const domain = mail?.slice(mail.lastIndexOf("@") + 1).toLowerCase();
  return domain !== undefined && (signUp.mailDomains ?? []).includes(domain);
}

/** On the plan of signUp, with a random id: nobody chooses whose rows they see. */
async function ownOrganization({ about }: AccountPage, tables: Statements, person: string): Promise<void> {
  const id = await organizationsIn(tables, actorOf(person)).create({ plan: about.signUp?.plan ?? null });
  await addMember(tables, id ?? "", person, "owner");
}

async function showInvitation(page: AccountPage, exchange: Exchange): Promise<Reply> {
  const refused = await tooMany(page, exchange, attemptOf(exchange, "invitation"), ATTEMPTS_A_MINUTE);
  if (refused !== null) return refused;
  const code = queryOf(exchange.request).get("code") ?? "";
  const { found, visitor } = await page.tables.inTransaction(async (tables) => ({
    found: CODE.test(code) ? await invitationOf(tables, code) : null,
    visitor: await visitorOf(page, tables, exchange),
  }));
  if (found === null) return usedUp(page);
  return shown(page, 200, invitationView(rootOf(page), readerOf(page, visitor), code, offerOf(page, found)));
}

function readerOf(page: AccountPage, visitor: Visitor | null) {
  return visitor && { ...visitor.person, root: rootOf(page), formToken: formToken(visitor.session) };
}

const usedUp = (page: AccountPage): Reply =>
  told(
    page,
    404,
    "No invitation",
    "This link was used already, has expired or was withdrawn. Ask for another one.",
  );

function offerOf({ title }: AccountPage, { organization, name, role }: Invitation): string {
  if (organization === null) return `You get an organization of your own for ${title}.`;
  return `You become ${role === "owner" ? "an owner" : "a member"} of ${name || organization}.`;
}

async function accept(page: AccountPage, { tables, visitor, field }: SentForm): Promise<Reply> {
  const { id } = visitor.person;
  const code = field("code");
  const found = CODE.test(code) ? await invitationOf(tables, code) : null;
  if (found === null) return usedUp(page);
  if (!(await mayJoin(page, tables, found))) return noPlan(page);
  const taken = await takeInvitation(tables, code);
  if (taken === null) return usedUp(page);
  if (taken.organization === null) await ownOrganization(page, tables, id);
  else await addMember(tables, taken.organization, id, taken.role);
  const memberships = await membershipsOf(tables, id);
  const joined = taken.organization ?? memberships.at(-1)?.organization ?? "";
  return movedTo(`${rootOf(page)}?organization=${encodeURIComponent(joined)}`);
}

function mayJoin({ about }: AccountPage, tables: Statements, { organization }: Invitation): Promise<boolean> {
  if (organization !== null) return mayHaveMembers(tables, organization);
  return Promise.resolve(about.signUp !== undefined);
}

async function signOut(page: AccountPage, { tables, visitor, exchange }: SentForm): Promise<Reply> {
  await endSession(tables, visitor.session);
  exchange.response.appendHeader("Set-Cookie", page.cookies.set("session", "", 0));
  return movedTo(rootOf(page));
}
