import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { send } from "../outbound/request.js";
import type { Callback } from "../provider/protocol.js";
import { callbackHeaders } from "../provider/signature.js";
import type { Switches } from "./switches.js";

/** Tries for one callback, and the pause after the first that failed; it doubles. */
const TRIES = 4;
const PAUSE_MS = 250;
const TIMEOUT_MS = 5_000;
/** Out of order means: whatever is told in this time is told in reverse. */
const SHUFFLE_MS = 400;

/** Tells the ramp of news, as well or as badly as the switches say. */
export class Callbacks {
  readonly #switches: () => Switches;
  readonly #held: (() => void)[] = [];

  constructor(switches: () => Switches) {
    this.#switches = switches;
  }

  tell(url: string, secret: string, callback: Callback): void {
    const { mute, outOfOrder, duplicates, lateMs } = this.#switches();
    if (mute) return;
    const sendAll = (): void => {
      const id = `cb_${randomUUID()}`;
      for (let copy = 0; copy <= duplicates; copy++) void deliver(url, secret, id, callback, lateMs);
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

async function deliver(
  url: string,
  secret: string,
  id: string,
  callback: Callback,
  lateMs: number,
): Promise<void> {
  if (lateMs > 0) await sleep(lateMs, undefined, { ref: false });
  const body = JSON.stringify(callback);
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 0) await sleep(PAUSE_MS * 2 ** tries, undefined, { ref: false });
    const headers = { "content-type": "application/json", ...callbackHeaders(secret, id, new Date(), body) };
    const result = await send({ url: new URL(url), method: "POST", headers, body, timeoutMs: TIMEOUT_MS });
    if (result.kind === "answered" && result.status < 300) return;
  }
}
