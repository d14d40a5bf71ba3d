import type { Keyring, KeyOwner } from "./keyring.js";
import { allows, type PerTier, type Tier } from "../model/tier.js";
import type { ClientAddress, Origin } from "../http/client-address.js";
import { networkOf } from "./rate-limit/network.js";
import type { RateLimitStore, RateWindow } from "./rate-limit/store.js";
import { httpError, type HttpError } from "../model/errors.js";

/** What a request may do, decided from its headers and address alone. */
export interface Authorization {
  /** Null without a key. */
  readonly owner: KeyOwner | null;
  readonly tier: Tier;
  /** Identifies the caller: the key's id, or the network address. */
  readonly callerId: string;
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
export function authorize(access: AccessControl, request: Origin): Authorization | Promise<Authorization> {
  const caller = identify(access, request);
  const window = access.rates.hit(caller.counter);
  return window instanceof Promise
    ? window.then((counted) => checkLimit(access, caller, counted))
    : checkLimit(access, caller, window);
}

/** As `authorize`, for paths without a limit: reports the window without counting. An unknown key still counts. */
export async function peek(access: AccessControl, request: Origin): Promise<Authorization> {
  const { rates, rateLimits } = access;
  const caller = identify(access, request);
  const window = await (caller.known ? rates.peek(caller.counter) : rates.hit(caller.counter));
  return authorization(rateLimits, caller, window, caller.known ? null : httpError("unknownKey"));
}

interface Caller {
  readonly owner: KeyOwner | null;
  /** False for an unknown key: its requests count against the address. */
  readonly known: boolean;
  readonly tier: Tier;
  readonly counter: string;
}

function identify({ keys, addressOf }: AccessControl, request: Origin): Caller {
  const key = request.headers["x-api-key"];
  if (typeof key === "string" && key !== "") {
    const owner = keys.find(key);
    if (owner) return { owner, known: true, tier: owner.tier, counter: `key:${owner.id}` };
  }
  return { owner: null, known: !key, tier: "tier0", counter: `ip:${networkOf(addressOf(request))}` };
}

function checkLimit({ rateLimits }: AccessControl, caller: Caller, window: RateWindow): Authorization {
  if (window.count > rateLimits[caller.tier]) {
    return authorization(rateLimits, caller, window, httpError("rateLimited", { n: secondsLeft(window) }));
  }
  return authorization(rateLimits, caller, window, caller.known ? null : httpError("unknownKey"));
}

function authorization(
  rateLimits: Readonly<PerTier<number>>,
  { owner, tier, counter }: Caller,
  window: RateWindow,
  error: HttpError | null,
): Authorization {
  return { owner, tier, callerId: counter, limit: rateLimits[tier], window, error };
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
