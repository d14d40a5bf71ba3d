import { randomInt } from "node:crypto";
import type { CatalogueEntry } from "../../catalogue/catalogue.js";
import { joined, plain, sentence, type Sentence } from "../../manifest/strings.js";
import { type MismatchRule, type Mismatch, mismatchAt } from "../checks.js";
import { type Attempt, ATTEMPTS, keyAttempts, type Lines, MARK, textOf } from "./poisoning-attempts.js";
import { ask, type CacheReply } from "./cache-client.js";

/** The cache in front of a server, and what is known of it. */
export interface CacheTarget {
  /** Where callers reach it. */
  readonly address: string;
  /** A key with which rows are asked for; null: none. */
  readonly key: string | null;
  /** Removes what was tried; null where the cache cannot be asked. */
  readonly purge: ((model: string, addresses: readonly string[]) => Promise<void>) | null;
  readonly progress: (done: number, total: number) => void;
}

/** What only the cache shows. */
export const CACHE_RULES: readonly MismatchRule[] = ["poisoned-copy", "private-copy"];

export interface CacheReview {
  readonly mismatches: readonly Mismatch[];
  /** What was tried, and what could not be. */
  readonly notes: readonly Sentence[];
}

/** Tries to put something into public copies, and private rows into any copy (generator/docs/verify.md, The shared cache). */
export async function verifyCache(
  entries: readonly CatalogueEntry[],
  target: CacheTarget,
): Promise<CacheReview> {
  const paged = entries.filter(isAskable);
  const open = paged.find(({ publicAge }) => publicAge !== undefined);
  if (open === undefined) return { mismatches: [], notes: [NOTHING_PUBLIC] };
  const addresses = new UnusedAddresses();
  const control = await controlOf(open, target, addresses);
  const places = await placesOf(open, target, addresses, control);
  const found: CacheFindings = { mismatches: [], notes: [] };
  if (places === null) found.notes.push(NOTHING_KEPT);
  else {
    const { key } = target;
    const attempts = [
      ...ATTEMPTS.map((attempt) => [attempt, "poisoned-copy"] as const),
      ...(key === null ? [] : keyAttempts(key)).map((attempt) => [attempt, "private-copy"] as const),
    ];
    for (const [i, [attempt, check]] of attempts.entries()) {
      target.progress(i, attempts.length);
      const problem = await tryPoison(open, attempt, { target, places, control });
      if (problem !== null) found.mismatches.push(...mismatchOf(open, check, textOf(attempt, key), problem));
    }
    found.notes.push(tried(attempts.length, "to change what others get of", open));
  }
  const closed = paged.find(({ tier, rows }) => tier !== "tier0" || rows !== undefined);
  if (closed !== undefined) await tryPrivate(closed, addresses, target, found);
  return found;
}

interface CacheFindings {
  readonly mismatches: Mismatch[];
  readonly notes: Sentence[];
}

function tried(requests: number, what: string, { path }: CatalogueEntry): Sentence {
  return joined(plain(`${String(requests)} kinds of request tried ${what} `), sentence`${path}.`);
}

const NOTHING_PUBLIC = plain("Nothing was tried: no endpoint with pages is public with a `max_age`.");
const NOTHING_KEPT = plain(
  "The cache was found to keep nothing at addresses with a query, and what is tried at a path alone must be removed at once: set `purgeUrl` to try there.",
);
const NO_KEY = plain(
  "Private rows were not tried: set VERIFY_API_KEY to a key that may call an endpoint with pages that is not public.",
);

/** Whether a request with `limit` and `offset` alone is answered. */
function isAskable({ pagination, allowUnfiltered, requireAnyOf, methods }: CatalogueEntry): boolean {
  return pagination !== null && allowUnfiltered && requireAnyOf.length === 0 && methods.includes("GET");
}

/** Most rows of a request. */
const MAX_ROWS = 500;

/** Addresses that nobody uses: `limit` and `offset` with zeros in front. */
class UnusedAddresses {
  readonly #zeros = randomInt(10, 60);
  #used = 0;

  next({ path, pagination }: CatalogueEntry): string {
    const limit = String(Math.min(pagination?.maxLimit ?? MAX_ROWS, MAX_ROWS));
    const zeros = "0".repeat(this.#zeros);
    return `${path}?limit=${zeros}${limit}&offset=${"0".repeat(randomInt(1, 60))}${"0".repeat(this.#used++)}`;
  }
}

/** What a caller without headers gets from the server. */
async function controlOf(
  entry: CatalogueEntry,
  { address }: CacheTarget,
  addresses: UnusedAddresses,
): Promise<CacheReply> {
  const target = addresses.next(entry);
  const reply = await ask(address, target, { headers: {} });
  if (reply.status === 200 && isPublic(reply)) return reply;
  const control = reply.headers["cache-control"] ?? "none";
  throw new Error(
    `${address}${entry.path} answers ${String(reply.status)} with Cache-Control ${control}, where rows are expected that shared caches may keep: name the address of the cache, and deploy the generated folder.`,
  );
}

const isPublic = ({ headers }: CacheReply): boolean => /\bpublic\b/.test(headers["cache-control"] ?? "");

/** Where attempts are made; null where the cache keeps nothing there. */
type AttemptAddress = (entry: CatalogueEntry) => string;

/** Addresses of their own; where the cache keeps none with a query, the path itself, if it can be purged. */
async function placesOf(
  entry: CatalogueEntry,
  target: CacheTarget,
  addresses: UnusedAddresses,
  control: CacheReply,
): Promise<AttemptAddress | null> {
  if (await keeps(addresses.next(entry), target, control)) return (each) => addresses.next(each);
  if (target.purge === null) return null;
  await target.purge(entry.model, [entry.path]);
  return (await keeps(entry.path, target, control)) ? ({ path }) => path : null;
}

/** Whether the second of two requests gets a copy. */
async function keeps(place: string, { address }: CacheTarget, control: CacheReply): Promise<boolean> {
  await ask(address, place, { headers: {} });
  const { isFresh, headers } = await ask(address, place, { headers: {} });
  return (control.isFresh && !isFresh) || Number(headers.age ?? 0) > 0;
}

interface Trying {
  readonly target: CacheTarget;
  readonly places: AttemptAddress;
  readonly control: CacheReply;
}

/** Makes an attempt, then asks as others do. Each of them has an address of its own: the first would fill the copy. Returns what is wrong. */
async function tryPoison(
  entry: CatalogueEntry,
  attempt: Attempt,
  { target: { address, purge }, places, control }: Trying,
): Promise<string | null> {
  for (const later of attempt.later ?? NO_HEADERS) {
    const place = places(entry);
    await purge?.(entry.model, [place]);
    await ask(address, place, attempt);
    const problem = problemOf(await ask(address, place, { headers: later }), control, later);
    await purge?.(entry.model, [place]);
    if (problem !== null) return problem;
  }
  return null;
}

const NO_HEADERS: readonly Lines[] = [{}];

/** What is wrong with the response that a later caller gets; null where nothing is. */
function problemOf(reply: CacheReply, control: CacheReply, later: Lines): string | null {
  const { status, headers, text } = reply;
  const type = later["accept"] === "text/csv" ? "text/csv" : (control.headers["content-type"] ?? "");
  if (status !== 200) return `status ${String(status)}`;
  if (
    !(headers["content-type"] ?? "").startsWith(type) ||
    (type !== "text/csv" && headers["content-type"] !== type)
  )
    return `Content-Type ${headers["content-type"] ?? "none"}`;
  for (const name of SAME_HEADERS)
    if (headers[name] !== control.headers[name]) return `${name}: ${String(headers[name] ?? "none")}`;
  if (!isPublic(reply)) return `Cache-Control ${headers["cache-control"] ?? "none"}, of another caller`;
  if (`${JSON.stringify(headers)}${text}`.includes(MARK)) return "a text that another caller has sent";
  return type !== "text/csv" && !isJson(text) ? "a body that is not whole" : null;
}

/** Headers of a response that are the same for every caller without headers. */
const SAME_HEADERS = [
  "content-encoding",
  "access-control-allow-origin",
  "x-total-count",
  "location",
] as const;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Asks for private rows with a key, then for the same without one. */
async function tryPrivate(
  entry: CatalogueEntry,
  addresses: UnusedAddresses,
  { address, key, purge }: CacheTarget,
  found: CacheFindings,
): Promise<void> {
  if (key === null) return void found.notes.push(NO_KEY);
  const attempts = keyAttempts(key).map((attempt) => ({ attempt, place: addresses.next(entry) }));
  let served = 0;
  for (const { attempt, place } of attempts) {
    const { status } = await ask(address, place, attempt);
    if (status < 300) served++;
    const later = await ask(address, place, { headers: {} });
    const problem = `status ${String(later.status)}`;
    if (later.status < 300)
      found.mismatches.push(...mismatchOf(entry, "private-copy", textOf(attempt, key), problem));
  }
  await purge?.(
    entry.model,
    attempts.map(({ place }) => place),
  );
  if (served > 0) found.notes.push(tried(attempts.length, "to leave in a copy the rows of", entry));
  else
    found.notes.push(
      sentence`The key of VERIFY_API_KEY may not call ${entry.path}: its rows were not tried.`,
    );
}

function mismatchOf(
  entry: CatalogueEntry,
  rule: MismatchRule,
  sent: string,
  problem: string,
): readonly Mismatch[] {
  return mismatchAt(
    entry,
    rule,
    sentence`After the request ${sent}, a caller without a key gets ${problem}.`,
    "Compare the cache's configuration with that of _Let a CDN keep public rows_ (node_modules/@routewright/runtime/docs/how-to/shared-caches.md), then purge the copies.",
  );
}
