import { hash, randomBytes } from "node:crypto";
import type { Statements } from "../../../postgres/own-tables.js";
import type { Arrival } from "./sign-in.js";

/** A person who has signed in. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly mail: string | null;
}

/** A session ends after this, whatever its reader does. */
export const SESSION_SECONDS = 12 * 3600;

/** Sessions of one person; older ones end. */
const MAX_SESSIONS = 10;

/** 256 bits: nobody guesses the text of a cookie or of a link. */
export const randomText = (): string => randomBytes(32).toString("base64url");
export const digestOf = (text: string): string => hash("sha256", text, "hex");

/** The person of a subject, with the name and the address of today; null: none that has arrived before. */
export async function knownPerson(
  tables: Statements,
  { issuer, subject, name, mail }: Arrival,
): Promise<Person | null> {
  const [person] = await tables.run<Person>([RENAME], [issuer, subject, name, mail]);
  return person ?? null;
}

export async function newPerson(
  tables: Statements,
  { issuer, subject, name, mail }: Arrival,
): Promise<Person> {
  const id = randomBytes(12).toString("hex");
  const [person] = await tables.run<Person>([ADD], [issuer, subject, name, mail, id]);
  return person as Person;
}

/** People who have arrived within the last hour. */
export async function arrivedLately(tables: Statements): Promise<number> {
  // Two at the same time would both be the last one.
  const [{ count }] = (await tables.run<{ count: number }>([LOCK_ARRIVALS, ARRIVED], [])) as [
    { count: number },
  ];
  return count;
}

/** The text of the session's cookie. */
export async function startSession(tables: Statements, person: string): Promise<string> {
  const text = randomText();
  await tables.run([END_OLD, START], [person, digestOf(text), SESSION_SECONDS, MAX_SESSIONS - 1]);
  return text;
}

export async function personOf(tables: Statements, session: string): Promise<Person | null> {
  const [person] = await tables.run<Person>([FIND], [digestOf(session)]);
  return person ?? null;
}

export async function endSession(tables: Statements, session: string): Promise<void> {
  await tables.run([END], [digestOf(session)]);
}

export async function forgetPerson(tables: Statements, person: string): Promise<void> {
  await tables.run([FORGET], [person]);
}

const PERSON = "people.id, people.name, people.mail";
const RENAME = `UPDATE routewright_keys.people SET name = $3, mail = $4 WHERE issuer = $1 AND subject = $2 RETURNING ${PERSON}`;
const ADD = `INSERT INTO routewright_keys.people (issuer, subject, name, mail, id) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (issuer, subject) DO UPDATE SET name = excluded.name RETURNING ${PERSON}`;
const LOCK_ARRIVALS = "SELECT pg_advisory_xact_lock(7262004)";
const ARRIVED = `SELECT count(*)::float8 AS count FROM routewright_keys.people WHERE created_at > now() - interval '1 hour'`;
const END_OLD = `DELETE FROM routewright_keys.sessions WHERE expires_at < now() OR (person = $1 AND $2 <> '' AND $3 > 0 AND digest NOT IN (
  SELECT digest FROM routewright_keys.sessions WHERE person = $1 ORDER BY created_at DESC LIMIT $4))`;
const START = `INSERT INTO routewright_keys.sessions (digest, person, expires_at)
  SELECT $2, $1, now() + make_interval(secs => $3) WHERE $4 >= 0`;
const FIND = `SELECT ${PERSON} FROM routewright_keys.sessions JOIN routewright_keys.people ON people.id = person
  WHERE digest = $1 AND expires_at > now()`;
const END = "DELETE FROM routewright_keys.sessions WHERE digest = $1";
const FORGET = "DELETE FROM routewright_keys.people WHERE id = $1";
