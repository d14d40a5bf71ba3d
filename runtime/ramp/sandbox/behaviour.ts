import { type Static, Type } from "@sinclair/typebox";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sendRequest } from "../../http/outbound-http.js";
import type { Callback } from "../providers/protocol.js";
import { callbackHeaders } from "../providers/signature.js";

const Milliseconds = Type.Integer({ minimum: 0, maximum: 600_000 });

/** Faults of a provider that can be switched on to try the ramp out. */
export const Switches = Type.Object(
  {
    /** How long a deposit takes to arrive, and again to settle. */
    settleMs: Milliseconds,
    /** Added to every answer. */
    slowMs: Milliseconds,
    /** So many of the next calls are answered with 500. */
    failNext: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
    /** So many of the next orders are carried out, but the answer is lost. */
    loseNextAnswers: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
    /** What becomes of an execution. */
    execution: Type.Union([
      Type.Literal("settle"),
      Type.Literal("fail"),
      Type.Literal("refuse"),
      Type.Literal("stall"),
    ]),
    /** Outcome of an identity check whose form is not submitted. */
    onboarding: Type.Union([
      Type.Literal("wait"),
      Type.Literal("approve"),
      Type.Literal("reject"),
      Type.Literal("refuse"),
    ]),
    /** Extra copies of every callback. */
    duplicates: Type.Integer({ minimum: 0, maximum: 20 }),
    /** Callbacks are sent this much later. */
    lateMs: Milliseconds,
    /** The callbacks of an order are sent last first. */
    outOfOrder: Type.Boolean(),
    /** No callbacks at all. */
    mute: Type.Boolean(),
  },
  { additionalProperties: false },
);
export type Switches = Static<typeof Switches>;

export const SwitchChange = Type.Partial(Switches, { additionalProperties: false });
export type SwitchChange = Static<typeof SwitchChange>;

export const DEFAULT_SWITCHES: Switches = {
  settleMs: 1_500,
  slowMs: 0,
  failNext: 0,
  loseNextAnswers: 0,
  execution: "settle",
  onboarding: "wait",
  duplicates: 0,
  lateMs: 0,
  outOfOrder: false,
  mute: false,
};

/** Tries for one callback, and the pause after the first that failed; it doubles. */
const TRIES = 4;
const PAUSE_MS = 250;
const TIMEOUT_MS = 5_000;
/** Callbacks within this time are sent in reverse order when `outOfOrder` is on. */
const SHUFFLE_MS = 400;

/** Sends callbacks to the ramp, with the faults that are switched on. */
export class CallbackSender {
  readonly #switches: () => Switches;
  readonly #held: (() => void)[] = [];

  constructor(switches: () => Switches) {
    this.#switches = switches;
  }

  send(url: string, secret: string, callback: Callback): void {
    const { mute, outOfOrder, duplicates, lateMs } = this.#switches();
    if (mute) return;
    const sendAll = (): void => {
      const id = `cb_${randomUUID()}`;
      for (let copy = 0; copy <= duplicates; copy++) void sendCallback({ url, secret, id, callback }, lateMs);
    };
    if (outOfOrder) this.#hold(sendAll);
    else sendAll();
  }

  #hold(sendAll: () => void): void {
    this.#held.push(sendAll);
    if (this.#held.length > 1) return;
    setTimeout(() => {
      for (const send of this.#held.splice(0).reverse()) send();
    }, SHUFFLE_MS).unref();
  }
}

async function sendCallback(
  { url, secret, id, callback }: { url: string; secret: string; id: string; callback: Callback },
  lateMs: number,
): Promise<void> {
  if (lateMs > 0) await sleep(lateMs, undefined, { ref: false });
  const body = JSON.stringify(callback);
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 0) await sleep(PAUSE_MS * 2 ** tries, undefined, { ref: false });
    const headers = { "content-type": "application/json", ...callbackHeaders(secret, id, new Date(), body) };
    const result = await sendRequest({
      url: new URL(url),
      method: "POST",
      headers,
      body,
      timeoutMs: TIMEOUT_MS,
    });
    if (result.kind === "answered" && result.status < 300) return;
  }
}
