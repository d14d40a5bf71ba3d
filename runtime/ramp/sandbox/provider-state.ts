import type { AmountText } from "../accounts/amount.js";
import { randomUUID } from "node:crypto";
import { sendRequest } from "@routewright/runtime/internal/core/http/outbound-http.js";
import type { Callback, Movement } from "../providers/protocol.js";
import { callbackHeaders } from "../providers/signature.js";
import type { RefusalReason } from "../providers/refusal-reasons.js";
import { type Switches, switchesFor } from "./behaviour.js";
import type { SandboxClock } from "./clock.js";
import type { Profile } from "./profiles.js";

/** Why a request is refused, or fails. */
export interface Rejection {
  readonly status: 401 | 404 | 409 | 422 | 500;
  readonly error: string;
  readonly message: string;
  /** Of an onboarding. */
  readonly reason?: RefusalReason;
}

export function isRejection(value: unknown): value is Rejection {
  return typeof value === "object" && value !== null && "error" in value;
}

export function refused(error: string, message: string, reason?: RefusalReason): Rejection {
  return { status: 422, error, message, ...(reason !== undefined && { reason }) };
}

export const NO_RECEIVER = refused(
  "NO_RECEIVER",
  "The order does not say who receives the money.",
  "ACCOUNT",
);
export const UNKNOWN: Rejection = { status: 404, error: "UNKNOWN_ORDER", message: "There is no such order." };
export const CONFLICT: Rejection = {
  status: 409,
  error: "ORDER_CONFLICT",
  message: "Another order has this id.",
};
export const FAILURE: Rejection = { status: 500, error: "OUT_OF_ORDER", message: "The provider fails." };

/** An order, as far as callbacks about it need it. */
interface CallbackTarget {
  readonly callbackUrl: string;
  readonly movement: Movement;
}

type Send = () => void;

/** How long a callback waits for the one that it is to come after. */
const REORDER_MS = 1_000;

/** What the parts of a sandbox provider share. */
export class ProviderState {
  readonly profile: Profile;
  readonly clock: SandboxClock;
  readonly #switches: () => Switches;
  /** Callbacks that wait until the next one about the same order is sent. Bounded by the orders whose callbacks are late. */
  readonly #held = new Map<string, Send>();

  constructor(profile: Profile, clock: SandboxClock, switches: () => Switches) {
    this.profile = profile;
    this.clock = clock;
    this.#switches = switches;
  }

  /** The switches for an amount of the source. */
  switchesFor(srcAmount: AmountText): Switches {
    return switchesFor(this.#switches(), srcAmount);
  }

  /** How long a deposit takes to arrive, and again to settle. */
  later(act: () => void): void {
    this.clock.after(this.#switches().settleMs, act);
  }

  /** One that is lost is not repeated: the ramp looks its orders up. */
  notify(order: CallbackTarget, { type, onboardingId }: Callback): void {
    const { mute, duplicates, lateMs, reorder } = this.switchesFor(order.movement.srcAmount);
    if (mute) return;
    const body = JSON.stringify({ type, onboardingId } satisfies Callback);
    const send: Send = () => {
      const signed = callbackHeaders(this.profile.secret, `cb_${randomUUID()}`, new Date(), body);
      const headers = { "content-type": "application/json", ...signed };
      for (let copy = 0; copy <= duplicates; copy++)
        void sendRequest({
          url: new URL(order.callbackUrl),
          method: "POST",
          headers,
          body,
          timeoutMs: 5_000,
        });
    };
    if (reorder) this.#reorder(onboardingId, send);
    else if (lateMs > 0) this.clock.after(lateMs, send);
    else send();
  }

  /** Sends every second callback about an order before the first. */
  #reorder(id: string, send: Send): void {
    const held = this.#held.get(id);
    if (held !== undefined) {
      this.#held.delete(id);
      send();
      return held();
    }
    this.#held.set(id, send);
    this.clock.after(REORDER_MS, () => {
      if (this.#held.get(id) !== send) return;
      this.#held.delete(id);
      send();
    });
  }
}
