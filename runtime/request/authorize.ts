import { type CallerAccess, allows, isListed, type PerTier, type Tier } from "../model/tier.js";
import { type ClientAddress, type Origin, networkOf } from "../http/headers.js";
import { type RateLimitStore, type RateWindow, secondsLeft } from "./rate-limit/memory-store.js";
import { httpError, type HttpError, isHttpError, type Result } from "../model/errors.js";
import type { TokenIssuer } from "./bearer-tokens.js";
import type { Keyring, KeyOwner } from "./keyring.js";

/** What a request may do, decided from its headers and address alone. */
export interface Authorization extends CallerAccess {
  /** Null without a key. */
  readonly owner: KeyOwner | null;
  /** Identifies the caller: the id of its key or user, or the network address. */
  readonly callerId: string;
  /** The organization whose rows the caller may read (`*`: of all); null: of none. */
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
  /** The issuer whose tokens are accepted beside the keys; null: none. */
  readonly tokens: TokenIssuer | null;
  readonly rates: RateLimitStore;
  readonly addressOf: ClientAddress;
  /** Requests per window by the caller's tier. */
  readonly rateLimits: Readonly<PerTier<number>>;
}

/** Checks the key, then the rate limit (runtime/docs/requests.md). Every request counts, refused ones too. */
export async function authorize(access: AccessControl, request: Origin): Promise<Authorization> {
  const caller = await identify(access, request);
  return checkLimit(access, caller, await access.rates.hit(caller.counter));
}

/** As `authorize`, for paths without a limit: reports the window without counting. An unknown key still counts. */
export async function peek(access: AccessControl, request: Origin): Promise<Authorization> {
  const { rates, rateLimits } = access;
  const caller = await identify(access, request);
  const window = await (caller.refusal ? rates.hit(caller.counter) : rates.peek(caller.counter));
  return authorization(rateLimits, caller, window, caller.refusal);
}

interface Caller {
  readonly owner: KeyOwner | null;
  /** For a key that is not accepted: its requests count against the address. */
  readonly refusal: HttpError | null;
  readonly tier: Tier;
  readonly counter: string;
}

async function identify(access: AccessControl, request: Origin): Promise<Caller> {
  const sent = sentKeys(request);
  const [key] = sent;
  const owner =
    sent.length > 1 ? httpError("differentKeys") : key === undefined ? null : await ownerOf(access, key);
  if (owner !== null && !isHttpError(owner))
    return { owner, refusal: null, tier: owner.tier, counter: `key:${owner.id}` };
  return {
    owner: null,
    refusal: owner,
    tier: "tier0",
    counter: `ip:${networkOf(access.addressOf(request))}`,
  };
}

function ownerOf({ keys, tokens }: AccessControl, key: string): Result<KeyOwner> | Promise<Result<KeyOwner>> {
  const owner = keys.find(key);
  if (owner === null) return tokens?.isToken(key) ? tokens.ownerOf(key) : httpError("unknownKey");
  const { expiresAt } = owner;
  if (expiresAt === null || Date.now() < expiresAt) return owner;
  return httpError("expiredKey", { at: new Date(expiresAt).toISOString() });
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
  const allowed = owner?.allowed ?? null;
  return { owner, tier, allowed, callerId: counter, org, limit: rateLimits[tier], window, error };
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

/** Why a caller may not call the endpoint of tier `required` at `path`; null when it may. */
export function requireAccess(path: string, required: Tier, caller: Authorization): HttpError | null {
  const { owner, tier: held } = caller;
  if (allows(held, required)) return isListed(caller.allowed, path) ? null : httpError("notListed", { path });
  if (owner === null) return httpError("missingKey");
  return httpError("tierTooLow", { tier: required, user: owner.user, held });
}
