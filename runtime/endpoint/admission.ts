import type { Keyring, KeyOwner } from "../auth/keyring.js";
import { allows, type Tier } from "../auth/tier.js";
import type { ClientAddress, Origin } from "../http/client-address.js";
import { RATE_LIMITS } from "../rate-limit/limits.js";
import { networkOf } from "../rate-limit/network.js";
import type { RateLimitStore, RateWindow } from "../rate-limit/store.js";
import { refuse, type Refusal } from "./errors.js";

/** What is known of a caller before its request is looked at. */
export interface Admission {
  /** Null without a key. */
  readonly owner: KeyOwner | null;
  readonly tier: Tier;
  /** Requests per window of the caller's own tier. */
  readonly limit: number;
  readonly window: RateWindow;
  /** Set when the caller goes no further. */
  readonly refusal: Refusal | null;
}

/** What tells callers apart. */
export interface Gate {
  readonly keys: Keyring;
  readonly rates: RateLimitStore;
  readonly addressOf: ClientAddress;
}

/** Key, then rate limit (decisions.md §A, Requests). The request is counted, whatever becomes of it. */
export function admit(gate: Gate, request: Origin): Admission | Promise<Admission> {
  const caller = identify(gate, request);
  const window = gate.rates.hit(caller.counter);
  return window instanceof Promise ? window.then((w) => judge(caller, w)) : judge(caller, window);
}

/** As `admit`, for what is never limited: the window is told and not used up. A wrong key still counts. */
export async function glance(gate: Gate, request: Origin): Promise<Admission> {
  const caller = identify(gate, request);
  const window = await (caller.known ? gate.rates.look(caller.counter) : gate.rates.hit(caller.counter));
  return admission(caller, window, caller.known ? null : refuse("unknownKey"));
}

interface Caller {
  readonly owner: KeyOwner | null;
  /** False for a key that nobody has; its attempts count against the address. */
  readonly known: boolean;
  readonly tier: Tier;
  readonly counter: string;
}

function identify({ keys, addressOf }: Gate, request: Origin): Caller {
  const key = request.headers["x-api-key"];
  if (typeof key === "string" && key !== "") {
    const owner = keys.find(key);
    if (owner) return { owner, known: true, tier: owner.tier, counter: `key:${owner.id}` };
  }
  return { owner: null, known: !key, tier: "tier0", counter: `ip:${networkOf(addressOf(request))}` };
}

function judge(caller: Caller, window: RateWindow): Admission {
  if (window.count > RATE_LIMITS[caller.tier]) {
    return admission(caller, window, refuse("rateLimited", { n: secondsLeft(window) }));
  }
  return admission(caller, window, caller.known ? null : refuse("unknownKey"));
}

function admission({ owner, tier }: Caller, window: RateWindow, refusal: Refusal | null): Admission {
  return { owner, tier, limit: RATE_LIMITS[tier], window, refusal };
}

/** Whole seconds until a window ends, at least one. */
function secondsLeft({ resetAt }: RateWindow): number {
  return Math.max(1, Math.ceil((resetAt - Date.now()) / 1000));
}

/** Whether the caller's tier is high enough (data-api.md §5). */
export function tierRefusal(required: Tier, { owner, tier: held }: Admission): Refusal | null {
  if (allows(held, required)) return null;
  if (owner === null) return refuse("missingKey");
  return refuse("tierTooLow", { tier: required, user: owner.user, held });
}
