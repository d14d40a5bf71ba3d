import { randomBytes } from "node:crypto";
import type { Statements } from "../../../postgres/own-tables.js";
import { noted } from "../changes.js";
import { timeText } from "../key-statements.js";
import { digestOf, randomText } from "./people.js";

/** An owner manages people and the organization; a member its keys. */
export const ROLES = ["owner", "member"] as const;
export type MemberRole = (typeof ROLES)[number];

/** An organization of a person. */
export interface Membership {
  readonly organization: string;
  readonly name: string;
  readonly plan: string | null;
  readonly role: MemberRole;
}

export interface Member {
  readonly person: string;
  readonly name: string;
  readonly mail: string | null;
  readonly role: MemberRole;
}

export interface Invitation {
  readonly id: string;
  /** Null: one of their own. */
  readonly organization: string | null;
  readonly name: string;
  readonly role: MemberRole;
  readonly expires: string;
}

/** The organizations of a person, the first one first. */
export function membershipsOf(tables: Statements, person: string): Promise<readonly Membership[]> {
  return tables.run<Membership>([MEMBERSHIPS], [person]);
}

/**
 * A person's role in an organization; null: none. Until the transaction ends nobody else changes the organization, so that what the role
 * allows is still allowed when it is written.
 */
export async function lockedRole(
  tables: Statements,
  organization: string,
  person: string,
): Promise<MemberRole | null> {
  const [found] = await tables.run<{ readonly role: MemberRole }>([LOCK, ROLE], [organization, person]);
  return found?.role ?? null;
}

export function membersOf(tables: Statements, organization: string): Promise<readonly Member[]> {
  return tables.run<Member>([MEMBERS], [organization]);
}

export async function addMember(
  tables: Statements,
  organization: string,
  person: string,
  role: MemberRole,
): Promise<void> {
  await tables.run([ADD], [organization, person, role, actorOf(person)]);
}

/** `actor`: who changes it. False where the person is no member. */
export async function setRole(
  tables: Statements,
  actor: string,
  {
    organization,
    person,
    role,
  }: { readonly organization: string; readonly person: string; readonly role: MemberRole },
): Promise<boolean> {
  return (await tables.run([SET_ROLE], [organization, person, role, actor])).length > 0;
}

export async function removeMember(
  tables: Statements,
  actor: string,
  organization: string,
  person: string,
): Promise<boolean> {
  return (await tables.run([REMOVE], [organization, person, actor])).length > 0;
}

/** Days in which an invitation can be accepted. */
const INVITATION_DAYS = 7;

/** An invitation, and the code of its link, which is nowhere else. `organization` null: the person gets one of their own. */
export async function invite(
  tables: Statements,
  actor: string,
  { organization, role }: { readonly organization: string | null; readonly role: MemberRole },
): Promise<{ readonly id: string; readonly code: string; readonly expires: string }> {
  const id = randomBytes(8).toString("hex");
  const code = randomText();
  const [made] = await tables.run<{ readonly expires: string }>(
    [FORGET_OLD, INVITE],
    [JSON.stringify({ id, digest: digestOf(code), organization, role, actor, days: INVITATION_DAYS })],
  );
  return { id, code, expires: made?.expires ?? "" };
}

export function invitationsOf(tables: Statements, organization: string): Promise<readonly Invitation[]> {
  return tables.run<Invitation>(
    [`${INVITATIONS} AND invitations.organization = $1 ORDER BY invitations.created_at`],
    [organization],
  );
}

/** The invitation with this code; null where it is unknown, used or expired. */
export async function invitationOf(tables: Statements, code: string): Promise<Invitation | null> {
  const [found] = await tables.run<Invitation>([`${INVITATIONS} AND digest = $1`], [digestOf(code)]);
  return found ?? null;
}

/** Uses an invitation up: of two at the same time one gets it. Null where it is unknown, used or expired. */
export async function takeInvitation(
  tables: Statements,
  code: string,
): Promise<Pick<Invitation, "organization" | "role"> | null> {
  const [taken] = await tables.run<Invitation>([TAKE], [digestOf(code)]);
  return taken ?? null;
}

export async function withdrawInvitation(
  tables: Statements,
  actor: string,
  organization: string,
  id: string,
): Promise<boolean> {
  return (await tables.run([WITHDRAW], [organization, id, actor])).length > 0;
}

/** The organization goes; its keys are revoked and lose their names, its id and its counts stay. Returns the ids of its keys. */
export async function closeOrganization(
  tables: Statements,
  actor: string,
  organization: string,
): Promise<readonly string[]> {
  await tables.run([REVOKE_ALL, NAMELESS, UNINVITE, CLOSED], [organization, actor]);
  const keys = await tables.run<{ readonly id: string }>([KEY_IDS], [organization]);
  return keys.map(({ id }) => id);
}

export const actorOf = (person: string): string => `person:${person}`;

const MEMBERSHIPS = `SELECT organization, organizations.name, plan, role
  FROM routewright_keys.members JOIN routewright_keys.organizations ON organizations.id = organization
  WHERE person = $1 ORDER BY since, organization`;
const LOCK = "SELECT FROM routewright_keys.organizations WHERE id = $1 AND $2 <> '' FOR NO KEY UPDATE";
const ROLE = "SELECT role FROM routewright_keys.members WHERE organization = $1 AND person = $2";
const MEMBERS = `SELECT person, people.name, mail, role FROM routewright_keys.members JOIN routewright_keys.people ON people.id = person
  WHERE organization = $1 ORDER BY since, person`;

const change = (action: string, actor: string, from: string): string =>
  noted(
    "subject",
    `(SELECT ${actor}::text AS actor, '${action}' AS action, organization, person AS subject FROM ${from}) AS change`,
  );

const ADD = `WITH added AS (
  INSERT INTO routewright_keys.members (organization, person, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING *
) ${change("joined", "$4", "added")}`;
const SET_ROLE = `WITH changed AS (
  UPDATE routewright_keys.members SET role = $3 WHERE organization = $1 AND person = $2 RETURNING *
) ${change("role", "$4", "changed")} RETURNING id`;
const REMOVE = `WITH removed AS (
  DELETE FROM routewright_keys.members WHERE organization = $1 AND person = $2 RETURNING *
) ${change("left", "$3", "removed")} RETURNING id`;

const FORGET_OLD = `WITH given AS (SELECT $1::json) DELETE FROM routewright_keys.invitations WHERE expires_at < now()`;
const INVITE = `WITH given AS (
  SELECT * FROM json_to_record($1) AS r(id text, digest text, organization text, role text, actor text, days integer)
), made AS (
  INSERT INTO routewright_keys.invitations (id, digest, organization, role, expires_at)
  SELECT id, digest, organization, role, now() + make_interval(days => days) FROM given RETURNING *
), noted AS (
  ${noted("subject", "(SELECT actor, 'invited' AS action, made.organization, made.id AS subject FROM made, given) AS change")}
) SELECT ${timeText("expires_at")} AS expires FROM made`;
const INVITATIONS = `SELECT invitations.id, organization, coalesce(name, '') AS name, role, ${timeText("expires_at")} AS expires
  FROM routewright_keys.invitations LEFT JOIN routewright_keys.organizations ON organizations.id = organization
  WHERE expires_at > now()`;
const TAKE = `DELETE FROM routewright_keys.invitations WHERE digest = $1 AND expires_at > now() RETURNING organization, role`;
const WITHDRAW = `WITH gone AS (
  DELETE FROM routewright_keys.invitations WHERE organization = $1 AND id = $2 RETURNING organization, id AS person
) ${change("withdrawn", "$3", "gone")} RETURNING id`;

const REVOKE_ALL = `WITH revoked AS (
  UPDATE routewright_keys.keys SET revoked_at = now() WHERE organization = $1 AND revoked_at IS NULL RETURNING id, organization
) ${noted("key", "(SELECT $2::text AS actor, 'revoked' AS action, id AS key, organization FROM revoked) AS change")}`;
const NAMELESS = `UPDATE routewright_keys.keys SET user_name = '' WHERE organization = $1 AND $2 <> ''`;
const UNINVITE = `DELETE FROM routewright_keys.invitations WHERE organization = $1 AND $2 <> ''`;
const CLOSED = `WITH closed AS (
  UPDATE routewright_keys.organizations SET name = '' WHERE id = $1 RETURNING id AS organization, NULL AS person
) ${change("closed", "$2", "closed")}`;
const KEY_IDS = "SELECT id FROM routewright_keys.keys WHERE organization = $1";
