import { type Outcome, failed, unlessFailed } from "../model/outcome.js";
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { ApiKey } from "../model/caller.js";
import { isTier, TIERS } from "../model/tier.js";

/** Prefix of every key (runtime/docs/keys.md). */
const KEY_PREFIX = "sk_live_";
/** Prefix of a key with a checksum: secret scanners tell it from other services' `sk_live_` (runtime/docs/keys.md). */
export const CHECKED_PREFIX = `${KEY_PREFIX}rw_`;
/** Prefix of a key that is stored as its hash. */
export const HASH_PREFIX = "sha256:";
/** Length of a key's id: the first hex digits of its hash. */
export const KEY_ID_DIGITS = 12;

/** The `org` of a tier3 key that may read the rows of all organizations. */
export const ALL_ORGS = "*";

/** Keys of a database, as this process last read them. */
export interface StoredKeys {
  /** The owner of the key with this hash; null: it is revoked; undefined: it is not known. */
  get(digest: string): ApiKey | null | undefined;
  /** `away`: the database cannot be reached; `stale`: for so long that what was read does not count any more. */
  readonly state: "current" | "away" | "stale";
}

/** The keys of a server, by hash: the keys themselves are not kept in memory (runtime/docs/keys.md). */
export class Keyring {
  #owners: ReadonlyMap<string, ApiKey>;
  #stored: StoredKeys | null = null;

  constructor(owners: ReadonlyMap<string, ApiKey>) {
    this.#owners = owners;
  }

  /** The owner of a key, or null when the key is not known. An entry of the database wins. */
  find(key: string): ApiKey | null {
    return hasValidChecksum(key) ? this.ownerOf(hashOf(key)) : null;
  }

  /** As `find`, of a key with this hash. */
  ownerOf(digest: string): ApiKey | null {
    const stored = this.#stored?.get(digest);
    if (stored !== undefined) return this.#stored?.state === "stale" ? null : stored;
    return this.#owners.get(digest) ?? null;
  }

  /** Whether a key that is not found may be one of the database, which is away. */
  mayBeStored(key: string): boolean {
    return this.#stored !== null && this.#stored.state !== "current" && hasValidChecksum(key);
  }

  /** Adds the keys of a database; null: none. */
  setStored(stored: StoredKeys | null): void {
    this.#stored = stored;
  }

  /** Replaces the keys in place, so that every holder of this keyring sees the new ones. */
  replaceWith({ owners }: Keyring): void {
    this.#owners = owners;
  }

  get owners(): ReadonlyMap<string, ApiKey> {
    return this.#owners;
  }

  get size(): number {
    return this.#owners.size;
  }
}

export function hasExpired({ expiresAt }: ApiKey): boolean {
  return expiresAt !== null && expiresAt <= Date.now();
}

/** `sk_live_rw_`, 43 characters of base64url and 6 of their checksum. Keys of any other length have none. */
const CHECKED_LENGTH = CHECKED_PREFIX.length + 43 + 6;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Whether a key can be one of ours. False of a mistyped key, without a look-up. */
export function hasValidChecksum(key: string): boolean {
  if (key.length !== CHECKED_LENGTH || !key.startsWith(CHECKED_PREFIX)) return true;
  return key.endsWith(checksumOf(key.slice(0, -6)));
}

/** CRC32 in six digits of base62. */
export function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let i = 0; i < 6; i++, rest = Math.floor(rest / 62)) digits = (BASE62[rest % 62] ?? "") + digits;
  return digits;
}

/** SHA-256 without salt: keys are long and random, so a plain digest is enough. */
export function hashOf(key: string): string {
  return hash("sha256", key, "hex");
}

/**
 * Reads `{"sk_live_…": {"user", "tier", "org"}}`; the value may be the tier alone, the key may be `sha256:<hex>`
 * (runtime/docs/keys.md). Problems name an entry by its position, never by its key.
 */
export function readKeyring(json: unknown, source: string): Outcome<Keyring> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return failed(`${source} must hold a JSON object: {"sk_live_…": {"user", "tier", "org"}}.`);
  }
  const read = Object.entries(json).map(([key, entry], i) =>
    readEntry(key, entry, `${source}, entry ${i + 1}`),
  );
  const owners = read.filter((item) => typeof item !== "string");
  const problems = read.filter((item) => typeof item === "string");
  problems.push(
    ...duplicates(
      owners.map(([digest]) => digest),
      source,
    ),
  );
  return unlessFailed(problems, new Keyring(new Map(owners)));
}

/** A duplicate is an error: one of its two tiers would be ignored. */
function duplicates(keys: readonly string[], source: string): string[] {
  const firsts = new Map<string, number>();
  const problems: string[] = [];
  keys.forEach((key, i) => {
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, i);
    else problems.push(`${source}, entries ${first + 1} and ${i + 1}: the same key twice. Keep one of them.`);
  });
  return problems;
}

/** As `readKeyring`, for JSON text. A repeated name is an error too: `JSON.parse` would keep the last one. */
export function parseKeyring(text: string, source: string): Outcome<Keyring> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message can contain a key.
    return readKeyring(null, source);
  }
  const problems = repeatedNames(text, source);
  return problems.length > 0 ? failed(...problems) : readKeyring(json, source);
}

/** Repeated names in valid JSON, however they are escaped: of entries, and of the fields of an entry. */
function repeatedNames(text: string, source: string): string[] {
  const objects: string[][] = [];
  const problems: string[] = [];
  let string = "";
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}:]/g)) {
    if (token === "{") objects.push([]);
    else if (token === ":") objects.at(-1)?.push(JSON.parse(string) as string);
    else if (token !== "}") string = token;
    else {
      const names = objects.pop() ?? [];
      if (objects.length === 0) problems.push(...duplicates(names, source));
      else if (new Set(names).size < names.length)
        problems.push(`${source}, entry ${objects[0]?.length ?? 0}: a field twice. Keep one of them.`);
    }
  }
  return problems;
}

/** Fields of an entry. Any other may be meant to restrict the key, and would not. */
const FIELDS: readonly string[] = ["tier", "user", "org", "expires", "allowed", "created"];

function readEntry(key: string, entry: unknown, position: string): readonly [string, ApiKey] | string {
  const digest = digestOf(key);
  if (digest === null)
    return `${position}: a key begins with ${KEY_PREFIX}, or is ${HASH_PREFIX} and 64 hex digits.`;
  if (!hasValidChecksum(key)) return `${position}: the key's checksum is wrong. Copy the whole key again.`;
  const record = (typeof entry === "string" ? { tier: entry } : (entry ?? {})) as Record<string, unknown>;
  const unknown = Object.keys(record).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined)
    return `${position}: ${/^[a-z]{1,20}$/i.test(unknown) ? `unknown field "${unknown}"` : "an unknown field"}. Fields are ${FIELDS.join(", ")}; to revoke a key, remove its entry.`;
  const owner = readOwner(record, digest.slice(0, KEY_ID_DIGITS));
  return typeof owner === "string" ? `${position}: its ${owner}` : [digest, owner];
}

/** The owner that these fields describe, or what is wrong with them, such as `tier must be …`. */
export function readOwner(
  {
    tier,
    user = "",
    org = "",
    expires = null,
    allowed = null,
    created = null,
  }: Readonly<Record<string, unknown>>,
  id: string,
): ApiKey | string {
  if (typeof user !== "string") return "user must be a string.";
  if (typeof org !== "string" || org.includes("\0") || !org.isWellFormed())
    return "org must be a string without U+0000 and lone surrogates.";
  if (!isTier(tier)) return `tier must be one of ${TIERS.join(", ")}.`;
  if (org === ALL_ORGS && tier !== "tier3")
    return `org may be "${ALL_ORGS}" (all organizations) only with tier3.`;
  const expiresAt = expires === null ? null : endOf(expires);
  if (Number.isNaN(expiresAt)) return "expires must be a date such as 2027-01-31, or an RFC 3339 date-time.";
  if (created !== null && Number.isNaN(endOf(created)))
    return "created must be a date such as 2027-01-31, or an RFC 3339 date-time.";
  if (!isAllowedList(allowed))
    return "allowed must be a list of categories and paths, such as shop or /v1/shop/orders.";
  return { id, tier, user: user || id, org, expiresAt, allowed };
}

/** The end of a day in UTC, or a date-time, in milliseconds since 1970; NaN for any other value. */
function endOf(expires: unknown): number {
  if (typeof expires !== "string") return NaN;
  const [, date = "", time] =
    /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2}))?$/i.exec(expires) ?? [];
  const start = Date.parse(date);
  // 2027-02-30 is no day, though a date-time with it parses.
  const isDay = !Number.isNaN(start) && new Date(start).toISOString().startsWith(date);
  if (!isDay) return NaN;
  return time === undefined ? start + DAY_MS : Date.parse(expires.toUpperCase());
}

const DAY_MS = 86_400_000;

/** An entry that names nothing would look like a limit and be none, or forbid what it should allow. */
function isAllowedList(value: unknown): value is readonly string[] | null {
  return value === null || (Array.isArray(value) && value.length > 0 && value.every(isAllowedEntry));
}

function isAllowedEntry(entry: unknown): boolean {
  return typeof entry === "string" && entry.isWellFormed() && /^(\/v1(\/[^/\s\0]+)+|[^/\s\0]+)$/.test(entry);
}

function digestOf(key: string): string | null {
  if (key.startsWith(KEY_PREFIX) && key.length > KEY_PREFIX.length) return hashOf(key);
  const stored = /^sha256:([0-9a-f]{64})$/i.exec(key)?.[1];
  return stored?.toLowerCase() ?? null;
}
