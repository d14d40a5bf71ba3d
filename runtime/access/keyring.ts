import { hash } from "node:crypto";
import { isTier, type Tier } from "../model/tier.js";

/** Prefix of every key (runtime/README.md, Keys and tiers). */
export const KEY_PREFIX = "sk_live_";
/** Prefix of a key that is stored as its hash. */
export const HASH_PREFIX = "sha256:";
/** Length of a key's id: the first hex digits of its hash. */
export const KEY_ID_DIGITS = 12;

/** The owner of a key. */
export interface KeyOwner {
  /** First digits of the key's hash: safe in logs and metrics. */
  readonly id: string;
  readonly user: string;
  readonly tier: Tier;
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

/** As `readKeyring`, for JSON text. A duplicate key is an error too: `JSON.parse` would keep the last one. */
export function parseKeyring(text: string, source: string): KeyringResult {
  const names = [...text.matchAll(/"((?:sk_live_|sha256:)(?:[^"\\]|\\.)*)"\s*:/g)].map(
    ([, name = ""]) => name,
  );
  const problems = duplicates(names, source);
  if (problems.length > 0) return { ok: false, problems };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message can contain a key.
  }
  return readKeyring(json, source);
}

function readEntry(key: string, entry: unknown, position: string): readonly [string, KeyOwner] | string {
  const digest = digestOf(key);
  if (digest === null)
    return `${position}: a key begins with ${KEY_PREFIX}, or is ${HASH_PREFIX} and 64 hex digits.`;
  const record = (typeof entry === "string" ? { tier: entry } : (entry ?? {})) as Record<string, unknown>;
  if (!isTier(record["tier"])) return `${position}: its tier must be one of tier0, tier1, tier2, tier3.`;
  const id = digest.slice(0, KEY_ID_DIGITS);
  return [
    digest,
    { id, tier: record["tier"], user: textOr(record["user"], id), org: textOr(record["org"], "") },
  ];
}

function digestOf(key: string): string | null {
  if (key.startsWith(KEY_PREFIX) && key.length > KEY_PREFIX.length) return hashOf(key);
  const stored = /^sha256:([0-9a-f]{64})$/i.exec(key)?.[1];
  return stored?.toLowerCase() ?? null;
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === "string" && value !== "" ? value : fallback;
}
