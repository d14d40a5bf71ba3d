import { randomBytes } from "node:crypto";
import { CHECKED_PREFIX, checksumOf, hashOf, KEY_ID_DIGITS, readOwner } from "../../core/request/keyring.js";
import { failed, type Outcome, succeeded } from "../../core/model/outcome.js";
import type { Tier } from "../../core/model/tier.js";
import type { Organizations } from "./organizations.js";

/** Random bytes of a key: 256 bits cannot be guessed. */
const SECRET_BYTES = 32;

/** Whose a key is, and what it opens. `user` and `org` are empty where an entry has none. */
export interface KeyOwner {
  readonly tier: Tier;
  readonly user: string;
  readonly org: string;
  /** A date or a date-time; absent: never. */
  readonly expires?: string;
  /** Categories and paths; absent: all of the tier. */
  readonly allowed?: readonly string[];
}

/** A key as it is stored. */
export interface StoredKey extends KeyOwner {
  readonly id: string;
  /** When it was stored, RFC 3339 in UTC; absent for an entry written by hand. */
  readonly created?: string;
  /** The last day in UTC on which it was used; absent: none that is known. */
  readonly lastUsed?: string;
}

/** A key that was just made. It is nowhere else. */
export interface NewKey {
  readonly key: string;
  readonly id: string;
}

/** What a rotation made, and until when the key before stays valid. */
export interface Rotation extends NewKey {
  readonly replaced: string;
  /** RFC 3339 in UTC. */
  readonly until: string;
}

/** Where API keys lie (runtime/docs/keys.md). An id is that of a key, or its beginning. Only hashes are stored. */
export interface KeyStore {
  /** For messages. */
  readonly name: string;
  /** When servers know of a change, as a sentence. */
  readonly takesEffect: string;
  /** The keys that are not revoked, by their hash, in the order in which they were stored. */
  keys(): Promise<Outcome<ReadonlyMap<string, StoredKey>>>;
  create(owner: KeyOwner): Promise<Outcome<NewKey>>;
  /** Makes a key with the owner of another, which stays valid for `keepSeconds`. */
  rotate(id: string, keepSeconds: number): Promise<Outcome<Rotation>>;
  /** The whole id of the key that is revoked. */
  revoke(id: string): Promise<Outcome<string>>;
  /** Stores keys of another store, by their hash, and gives the number of those that are new. */
  add(keys: ReadonlyMap<string, StoredKey>): Promise<Outcome<number>>;
  /** Organizations and their plans; null: a store without them. */
  readonly organizations: Organizations | null;
  close(): Promise<void>;
}

/** A new key: `sk_live_rw_`, 43 random characters and a checksum. */
export function randomKey(): NewKey & { readonly digest: string } {
  const text = CHECKED_PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
  const key = text + checksumOf(text);
  const digest = hashOf(key);
  return { key, id: idOf(digest), digest };
}

export function idOf(digest: string): string {
  return digest.slice(0, KEY_ID_DIGITS);
}

/** An owner that a server would accept, or a problem that names the flag of `keys create`. */
export function checkedOwner(owner: KeyOwner): Outcome<KeyOwner> {
  const checked = readOwner({ ...owner }, "");
  return typeof checked === "string" ? failed(`--${checked}`) : succeeded(owner);
}

export function ownerOf({ tier, user, org, expires, allowed }: KeyOwner): KeyOwner {
  return { tier, user, org, ...(expires && { expires }), ...(allowed && { allowed }) };
}

/** The one of these digests whose id begins with `id`. */
export function oneOf(
  digests: readonly string[],
  id: string,
  { name }: { readonly name: string },
): Outcome<string> {
  const matches = digests.filter((digest) => idOf(digest).startsWith(id));
  const [match, ...others] = matches;
  if (match === undefined)
    return failed(`No key in ${name} has the id ${id}. \`routewright keys list\` shows the ids.`);
  if (others.length > 0)
    return failed(`The id ${id} matches ${String(matches.length)} keys: give more characters.`);
  return succeeded(match);
}

/** Milliseconds since 1970 at which a key ends; null: never. */
export function endOf({ expires }: KeyOwner): number | null {
  const read = readOwner({ tier: "tier0", expires }, "");
  return typeof read === "string" ? null : read.expiresAt;
}

/** A key, unless it has expired: what replaces it would have too. */
export function unlessExpired(key: StoredKey): Outcome<StoredKey> {
  const end = endOf(key);
  if (end === null || end > Date.now()) return succeeded(key);
  return failed(`The key ${key.id} has expired: make a new one with \`routewright keys create\`.`);
}

/** To the second, in UTC. */
export function secondOf(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
