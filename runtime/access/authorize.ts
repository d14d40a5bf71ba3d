import type { Keyring, KeyOwner } from "./keyring.js";
import { allows, type Tier, RATE_LIMITS } from "../model/tier.js";
import type { ClientAddress, Origin } from "../http/client-address.js";
import { networkOf } from "./rate-limit/network.js";
import type { RateLimitStore, RateWindow } from "./rate-limit/store.js";
import { httpError, type HttpError } from "../model/errors.js";

/** What is known of a caller before its request is looked at. */
export interface Authorization {
  /** Null without a key. */
  readonly owner: KeyOwner | null;
  readonly tier: Tier;
  /** Tells callers apart: the key's id, or the network address. */
  readonly callerId: string;
  /** Requests per window of the caller's own tier. */
  readonly limit: number;
  readonly window: RateWindow;
  /** Set when the caller goes no further. */
  readonly error: HttpError | null;
}

/** What tells callers apart. */
export interface AccessControl {
  readonly keys: Keyring;
  readonly rates: RateLimitStore;
  readonly addressOf: ClientAddress;
}

/** Key, then rate limit (decisions.md §A, Requests). The request is counted, whatever becomes of it. */
export function authorize(gate: AccessControl, request: Origin): Authorization | Promise<Authorization> {
  const caller = identify(gate, request);
  const window = gate.rates.hit(caller.counter);
  return window instanceof Promise ? window.then((w) => judge(caller, w)) : judge(caller, window);
}

/** As `admit`, for what is never limited: the window is told and not used up. A wrong key still counts. */
export async function peek(gate: AccessControl, request: Origin): Promise<Authorization> {
  const caller = identify(gate, request);
  const window = await (caller.known ? gate.rates.look(caller.counter) : gate.rates.hit(caller.counter));
  return admission(caller, window, caller.known ? null : httpError("unknownKey"));
}

interface Caller {
  readonly owner: KeyOwner | null;
  /** False for a key that nobody has; its attempts count against the address. */
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

function judge(caller: Caller, window: RateWindow): Authorization {
  if (window.count > RATE_LIMITS[caller.tier]) {
    return admission(caller, window, httpError("rateLimited", { n: secondsLeft(window) }));
  }
  return admission(caller, window, caller.known ? null : httpError("unknownKey"));
}

function admission(
  { owner, tier, counter }: Caller,
  window: RateWindow,
  error: HttpError | null,
): Authorization {
  return { owner, tier, callerId: counter, limit: RATE_LIMITS[tier], window, error };
}

/** Whole seconds until a window ends, at least one. */
function secondsLeft({ resetAt }: RateWindow): number {
  return Math.max(1, Math.ceil((resetAt - Date.now()) / 1000));
}

/** Whether the caller's tier is high enough (data-api.md §5). */
export function requireTier(required: Tier, { owner, tier: held }: Authorization): HttpError | null {
  if (allows(held, required)) return null;
  if (owner === null) return httpError("missingKey");
  return httpError("tierTooLow", { tier: required, user: owner.user, held });
}
