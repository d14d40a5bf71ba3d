import { allows, type PerTier, type Tier, isTier, TIERS } from "../model/tier.js";
import { type ClientAddress, type Origin, networkOf } from "../server/headers.js";
import type { RateLimitStore, RateWindow } from "./rate-limit/memory-store.js";
import { httpError, type HttpError } from "../model/errors.js";
import { hash } from "node:crypto";

/** What a request may do, decided from its headers and address alone. */
export interface Authorization {
  /** Null without a key. */
  readonly owner: KeyOwner | null;
  readonly tier: Tier;
  /** Identifies the caller: the key's id, or the network address. */
  readonly callerId: string;
  /** The organization whose rows the caller may read (`ALL_ORGS`: of all); null: of none. */
  readonly org: string | null;
  /** Requests per window of the caller's own tier. */
  readonly limit: number;
  readonly window: RateWindow;
  /** Set when the request is refused. */
  readonly error: HttpError | null;
}

/** What authorization depends on. */
export interface AccessControl {
  readonly keys: Keyring;
  readonly rates: RateLimitStore;
  readonly addressOf: ClientAddress;
  /** Requests per window by the caller's tier. */
  readonly rateLimits: Readonly<PerTier<number>>;
}

/** Checks the key, then the rate limit (runtime/README.md, Requests). Every request counts, refused ones too. */
export async function authorize(access: AccessControl, request: Origin): Promise<Authorization> {
  const caller = identify(access, request);
  return checkLimit(access, caller, await access.rates.hit(caller.counter));
}

/** As `authorize`, for paths without a limit: reports the window without counting. An unknown key still counts. */
export async function peek(access: AccessControl, request: Origin): Promise<Authorization> {
  const { rates, rateLimits } = access;
  const caller = identify(access, request);
  const window = await (caller.refusal ? rates.hit(caller.counter) : rates.peek(caller.counter));
  return authorization(rateLimits, caller, window, caller.refusal);
}

interface Caller {
  readonly owner: KeyOwner | null;
  /** For a key that is not known: its requests count against the address. */
  readonly refusal: HttpError | null;
  readonly tier: Tier;
  readonly counter: string;
}

function identify({ keys, addressOf }: AccessControl, request: Origin): Caller {
  const sent = sentKeys(request);
  const [key] = sent;
  const owner = sent.length === 1 && key !== undefined ? keys.find(key) : null;
  if (owner) return { owner, refusal: null, tier: owner.tier, counter: `key:${owner.id}` };
  const refusal =
    sent.length > 1 ? httpError("differentKeys") : key === undefined ? null : httpError("unknownKey");
  return { owner: null, refusal, tier: "tier0", counter: `ip:${networkOf(addressOf(request))}` };
}

/** The keys in `X-API-Key` and `Authorization: Bearer`, without duplicates. Other schemes are not ours. */
function sentKeys({ headers }: Origin): readonly string[] {
  const bearer = /^Bearer +(.+)$/i.exec(headers.authorization ?? "")?.[1]?.trim();
  const keys = [headers["x-api-key"], bearer].filter((key) => typeof key === "string" && key !== "");
  return [...new Set(keys as string[])];
}

function checkLimit({ rateLimits }: AccessControl, caller: Caller, window: RateWindow): Authorization {
  if (window.count > rateLimits[caller.tier]) {
    return authorization(rateLimits, caller, window, httpError("rateLimited", { n: secondsLeft(window) }));
  }
  return authorization(rateLimits, caller, window, caller.refusal);
}

function authorization(
  rateLimits: Readonly<PerTier<number>>,
  { owner, tier, counter }: Caller,
  window: RateWindow,
  error: HttpError | null,
): Authorization {
  const org = owner?.org || null;
  return { owner, tier, callerId: counter, org, limit: rateLimits[tier], window, error };
}

/** Headers of every response: the caller's rate limit window and the request id, as flat name and value pairs. */
export function callerHeaders({ limit, window }: Authorization, requestId: string): string[] {
  return [
    "X-RateLimit-Limit",
    String(limit),
    "X-RateLimit-Remaining",
    String(Math.max(0, limit - window.count)),
    "X-RateLimit-Reset",
    String(Math.ceil(window.resetAt / 1000)),
    "X-Request-Id",
    requestId,
  ];
}

/** Whole seconds until a window ends, at least one. */
function secondsLeft({ resetAt }: RateWindow): number {
  return Math.max(1, Math.ceil((resetAt - Date.now()) / 1000));
}

/** Whether the caller's tier is high enough. */
export function requireTier(required: Tier, { owner, tier: held }: Authorization): HttpError | null {
  if (allows(held, required)) return null;
  if (owner === null) return httpError("missingKey");
  return httpError("tierTooLow", { tier: required, user: owner.user, held });
}

/** Prefix of every key (runtime/README.md, Keys and tiers). */
export const KEY_PREFIX = "sk_live_";
/** Prefix of a key that is stored as its hash. */
export const HASH_PREFIX = "sha256:";
/** Length of a key's id: the first hex digits of its hash. */
export const KEY_ID_DIGITS = 12;

/** The `org` of a tier3 key that may read the rows of all organizations. */
const ALL_ORGS = "*";

/** The owner of a key. */
export interface KeyOwner {
  /** First digits of the key's hash: safe in logs and metrics. */
  readonly id: string;
  readonly user: string;
  readonly tier: Tier;
  /** Empty: none. */
  readonly org: string;
}

/** The keys of a server, by hash: the keys themselves are not kept in memory (runtime/README.md, Keys and tiers). */
export class Keyring {
  #owners: ReadonlyMap<string, KeyOwner>;

  constructor(owners: ReadonlyMap<string, KeyOwner>) {
    this.#owners = owners;
  }

  /** The owner of a key, or null when the key is not known. */
  find(key: string): KeyOwner | null {
    return this.#owners.get(hashOf(key)) ?? null;
  }

  /** Replaces the keys in place, so that every holder of this keyring sees the new ones. */
  replaceWith({ owners }: Keyring): void {
    this.#owners = owners;
  }

  get owners(): ReadonlyMap<string, KeyOwner> {
    return this.#owners;
  }

  get size(): number {
    return this.#owners.size;
  }
}

/** SHA-256 without salt: keys are long and random, so a plain digest is enough. */
export function hashOf(key: string): string {
  return hash("sha256", key, "hex");
}

export type KeyringResult =
  { readonly ok: true; readonly keyring: Keyring } | { readonly ok: false; readonly problems: string[] };

/**
 * Reads `{"sk_live_…": {"user", "tier", "org"}}`; the value may be the tier alone, the key may be `sha256:<hex>`
 * (runtime/README.md, Keys and tiers). Problems name an entry by its position, never by its key.
 */
export function readKeyring(json: unknown, source: string): KeyringResult {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return {
      ok: false,
      problems: [`${source} must hold a JSON object: {"sk_live_…": {"user", "tier", "org"}}.`],
    };
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
  return problems.length > 0 ? { ok: false, problems } : { ok: true, keyring: new Keyring(new Map(owners)) };
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
export function parseKeyring(text: string, source: string): KeyringResult {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message can contain a key.
    return readKeyring(null, source);
  }
  const problems = repeatedNames(text, source);
  return problems.length > 0 ? { ok: false, problems } : readKeyring(json, source);
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
const FIELDS: readonly string[] = ["tier", "user", "org"];

function readEntry(key: string, entry: unknown, position: string): readonly [string, KeyOwner] | string {
  const digest = digestOf(key);
  if (digest === null)
    return `${position}: a key begins with ${KEY_PREFIX}, or is ${HASH_PREFIX} and 64 hex digits.`;
  const record = (typeof entry === "string" ? { tier: entry } : (entry ?? {})) as Record<string, unknown>;
  const unknown = Object.keys(record).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined)
    return `${position}: ${/^[a-z]{1,20}$/i.test(unknown) ? `unknown field "${unknown}"` : "an unknown field"}. Fields are ${FIELDS.join(", ")}; to revoke a key, remove its entry.`;
  const owner = readOwner(record, digest.slice(0, KEY_ID_DIGITS));
  return typeof owner === "string" ? `${position}: its ${owner}` : [digest, owner];
}

/** The owner that these fields describe, or what is wrong with them, such as `tier must be …`. */
export function readOwner(
  { tier, user = "", org = "" }: Readonly<Record<string, unknown>>,
  id: string,
): KeyOwner | string {
  if (typeof user !== "string") return "user must be a string.";
  if (typeof org !== "string" || org.includes("\0")) return "org must be a string without U+0000.";
  if (!isTier(tier)) return `tier must be one of ${TIERS.join(", ")}.`;
  if (org === ALL_ORGS && tier !== "tier3")
    return `org may be "${ALL_ORGS}" (all organizations) only with tier3.`;
  return { id, tier, user: user || id, org };
}

function digestOf(key: string): string | null {
  if (key.startsWith(KEY_PREFIX) && key.length > KEY_PREFIX.length) return hashOf(key);
  const stored = /^sha256:([0-9a-f]{64})$/i.exec(key)?.[1];
  return stored?.toLowerCase() ?? null;
}
