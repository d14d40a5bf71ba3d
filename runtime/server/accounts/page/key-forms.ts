import type { DataRoute } from "../../../core/handler/exchange.js";
import { readOwner } from "../../../core/request/keyring.js";
import type { Reply } from "../../../core/http/send.js";
import { done, newKey } from "../../../pages/account/notices.js";
import type { Html } from "../../../core/http/html.js";
import { KeyDatabase } from "../key-database.js";
import type { KeyOwner } from "../key-store.js";
import { type Organization, organizationsIn } from "../organizations.js";
import { type AccountPage, figuresIn, noPlan, planOf, told } from "./account.js";
import { type OrganizationForm, organizationRoute, type FormResult } from "./forms.js";
import { actorOf } from "./members.js";
import { afterForm, callOf, isMemberKey, MAX_KEYS, MEMBER_KEY_TIER } from "./overview.js";

const MAX_NAME = 100;
const MAX_ALLOWED = 50;
/** How long a key that is replaced stays valid. */
const KEEP_SECONDS = 86_400;

/** Keys of an organization, which every member manages. */
export function keyRoutes(page: AccountPage): readonly DataRoute[] {
  return [
    organizationRoute(page, "/keys", (form) => create(page, form)),
    organizationRoute(page, "/keys/rotate", (form) => rotate(page, form)),
    organizationRoute(page, "/keys/revoke", (form) => revoke(page, form)),
  ];
}

const keysOf = ({ tables, visitor }: OrganizationForm): KeyDatabase =>
  new KeyDatabase(tables, actorOf(visitor.person.id));

async function create(page: AccountPage, form: OrganizationForm): Promise<FormResult> {
  const { organization, field } = form;
  const found = await organizationsIn(form.tables, "").find(organization);
  if (found === null || planOf(page, found.plan) === null) return noPlan(page);
  const owner = ownerIn(form);
  if (typeof owner === "string") return told(page, 400, "No key was made", owner);
  const most = mostKeys(page, found);
  if (found.keys >= most) return tooManyKeys(page, "made", most);
  if (!(await isFirst(form, field("once")))) return sentTwice(page);
  const made = await keysOf(form).create(owner);
  if (!made.ok) return told(page, 400, "No key was made", made.problems.join(" "));
  const { key } = made.value;
  return shownAfter(page, form, newKey(key, callOf(page, found.plan, key), null));
}

const mostKeys = (page: AccountPage, organization: Organization): number =>
  figuresIn(page, organization).keys ?? MAX_KEYS;

/** Keys that were replaced stay until they are revoked, in the memory of servers too: each time a key is replaced there is one more. */
const MOST_REPLACED = 100;

const tooManyKeys = (page: AccountPage, what: "made" | "replaced", most: number): Reply =>
  told(
    page,
    409,
    `No key was ${what}`,
    `An organization has at most ${String(most)} keys${what === "made" ? "" : ", with those that were replaced or have ended"}. Revoke one first.`,
  );

/** What the form says of a key, or what is wrong with it. */
function ownerIn({ organization, field }: OrganizationForm): KeyOwner | string {
  const name = field("name");
  if (name === "" || name.length > MAX_NAME) return `A name has 1 to ${String(MAX_NAME)} characters.`;
  const expires = field("expires");
  const allowed = field("allowed")
    .split(/[\s,]+/)
    .filter((each) => each !== "");
  if (allowed.length > MAX_ALLOWED)
    return `A key is limited to at most ${String(MAX_ALLOWED)} categories and paths.`;
  const owner: KeyOwner = {
    ...{ tier: MEMBER_KEY_TIER, user: name, org: organization },
    ...(expires !== "" && { expires }),
    ...(allowed.length > 0 && { allowed }),
  };
  const checked = readOwner({ ...owner }, "");
  if (typeof checked === "string") return `The key's ${checked}`;
  const isPast = checked.expiresAt !== null && checked.expiresAt <= Date.now();
  return isPast ? "The last day of the key has passed." : owner;
}

/** Whether a form comes the first time: a browser sends it again when its reader reloads the page. */
async function isFirst({ tables, visitor }: OrganizationForm, once: string): Promise<boolean> {
  if (!/^[\w-]{10,100}$/.test(once)) return false;
  const added = await tables.run([FORGET, ADD_FORM], [actorOf(visitor.person.id), once]);
  return added.length > 0;
}

const FORGET = "DELETE FROM routewright_keys.idempotency WHERE at < now() - interval '1 day' AND $1 <> $2";
const ADD_FORM = `INSERT INTO routewright_keys.idempotency (actor, key, fingerprint, status, body) VALUES ($1, $2, 'form', 200, '')
  ON CONFLICT DO NOTHING RETURNING key`;

const sentTwice = (page: AccountPage): Reply =>
  told(
    page,
    409,
    "Sent twice",
    "This form was sent already. A key is shown once: replace it where you have lost it.",
  );

async function rotate(page: AccountPage, form: OrganizationForm): Promise<FormResult> {
  const id = form.field("id");
  const found = await organizationsIn(form.tables, "").find(form.organization);
  if (found === null || planOf(page, found.plan) === null) return noPlan(page);
  const key = isId(id) ? await keysOf(form).keyOf(form.organization, id) : null;
  if (key?.ok !== true) return noKey(page);
  if (!isMemberKey(key.value)) return ofOperator(page);
  const most = mostKeys(page, found) + MOST_REPLACED;
  if (found.keys >= most) return tooManyKeys(page, "replaced", most);
  if (!(await isFirst(form, form.field("once")))) return sentTwice(page);
  const rotated = await keysOf(form).rotate(id, KEEP_SECONDS, form.organization);
  if (!rotated.ok) return noKey(page);
  const { key: made, until } = rotated.value;
  return shownAfter(page, form, newKey(made, callOf(page, found.plan, made), until));
}

async function revoke(page: AccountPage, form: OrganizationForm): Promise<FormResult> {
  const id = form.field("id");
  const revoked = isId(id) ? await keysOf(form).revoke(id, form.organization) : null;
  if (revoked?.ok !== true) return noKey(page);
  return shownAfter(page, form, done(`The key ${id} is revoked. Servers refuse it within 2 seconds.`));
}

const isId = (id: string): boolean => /^[0-9a-f]{12}$/.test(id);

const noKey = (page: AccountPage): Reply =>
  told(page, 404, "No such key", "This organization has no such key, or it has ended or been replaced.");

const ofOperator = (page: AccountPage): Reply =>
  told(
    page,
    409,
    "No key was replaced",
    "Only an operator makes keys like this one. Ask the operator for another one.",
  );

/** The page with what a form did. */
export function shownAfter(page: AccountPage, form: OrganizationForm, notice: Html): Promise<FormResult> {
  return afterForm(page, form.tables, form.visitor, form.organization, notice);
}
