import type { Logger } from "../../core/http/logger.js";
import { type OutboundResult, sendRequest } from "../../core/http/outbound-http.js";
import type { QuotaUnit } from "../../core/model/organization-plan.js";
import { Timer } from "../../core/model/timer.js";
import { OwnTables } from "../../postgres/own-tables.js";
import { FORMATS, type MeteringFormat } from "./metering-formats.js";
import { acknowledgeMetered, claimMetered, type MeteredUse } from "./metering.js";

/** Between looks for closed hours. */
const PAUSE_MS = 10_000;
/** After failures in a row the pause doubles, up to this. */
const LONGEST_PAUSE_MS = 600_000;
const REQUEST_TIMEOUT_MS = 15_000;
const QUERY_TIMEOUT_MS = 5000;
/** Rows that are claimed at once: they are sent well within their claim of five minutes. */
const MOST = 100;
/** Requests of one claim that run at a time. */
const AT_ONCE = 5;

export interface MeteringTarget {
  readonly url: string;
  readonly format: MeteringFormat;
  /** Sent as `Authorization: Bearer`; null: none. */
  readonly token: string | null;
  /** What Stripe's meters count. */
  readonly unit: QuotaUnit;
}

/** Sends the use of closed hours to a billing system, each once: what was acknowledged is noted, and not sent again. */
export class MeteringPush {
  readonly #tables: OwnTables;
  readonly #target: MeteringTarget;
  readonly #log: Logger;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  #failures = 0;
  #isClosed = false;

  constructor(databaseUrl: string, target: MeteringTarget, log: Logger) {
    this.#tables = new OwnTables(databaseUrl, {
      name: "routewright metering",
      queryTimeoutMs: QUERY_TIMEOUT_MS,
    });
    this.#target = target;
    this.#log = log;
    this.#wait(PAUSE_MS);
  }

  /** Sends all that is due. Never rejects. */
  async push(): Promise<void> {
    this.#running ??= this.#pushAll().finally(() => (this.#running = null));
    await this.#running;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.stop();
    await this.#running;
    await this.#tables.close();
  }

  #wait(milliseconds: number): void {
    if (this.#isClosed) return;
    this.#timer = new Timer(milliseconds, () => {
      void this.push().then(() => this.#wait(Math.min(PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS)));
    }).unref();
  }

  async #pushAll(): Promise<void> {
    try {
      const refusals: string[] = [];
      for (let isMore = true; isMore && !this.#isClosed;) {
        const claimed = await claimMetered(this.#tables, MOST);
        const refused = await this.#sendAll(claimed);
        refusals.push(...refused.slice(0, 1));
        // Where none is taken, others are hardly taken either.
        isMore = claimed.length === MOST && refused.length < MOST;
      }
      if (refusals[0] !== undefined) throw new Error(refusals[0]);
      if (this.#failures > 0) this.#log.info("metering is sent again");
      this.#failures = 0;
    } catch (error) {
      if (this.#failures++ === 0) this.#log.error({ err: error }, NOT_SENT);
    }
  }

  /** Why lines were refused, one for each. Rejects where the target takes nothing now. */
  async #sendAll(use: readonly MeteredUse[]): Promise<readonly string[]> {
    const { most } = FORMATS[this.#target.format];
    const parts: (readonly MeteredUse[])[] = [];
    for (let i = 0; i < use.length; i += most) parts.push(use.slice(i, i + most));
    const refused: string[] = [];
    for (let i = 0; i < parts.length && !this.#isClosed; i += AT_ONCE) {
      const sent = await Promise.allSettled(parts.slice(i, i + AT_ONCE).map((part) => this.#sendPart(part)));
      for (const each of sent) {
        if (each.status === "rejected") throw each.reason;
        refused.push(...each.value);
      }
    }
    return refused;
  }

  /** Of a part that is refused as a whole each is sent alone: one that the target does not take holds no other back. */
  async #sendPart(part: readonly MeteredUse[]): Promise<readonly string[]> {
    const result = await this.#send(part);
    if (isTaken(result, part.length)) {
      await acknowledgeMetered(this.#tables, part);
      return [];
    }
    const problem = problemOf(result);
    if (!isRefused(result)) throw new Error(problem);
    if (part.length === 1) return [problem];
    const refused: string[] = [];
    for (const each of part) if (!this.#isClosed) refused.push(...(await this.#sendPart([each])));
    return refused;
  }

  #send(part: readonly MeteredUse[]): Promise<OutboundResult> {
    const { url, format, token, unit } = this.#target;
    const { contentType, bodyOf } = FORMATS[format];
    const authorization: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
    return sendRequest({
      url: new URL(url),
      method: "POST",
      headers: { "content-type": contentType, ...authorization },
      body: bodyOf(part, unit),
      timeoutMs: REQUEST_TIMEOUT_MS,
    });
  }
}

const NOT_SENT =
  "METERING_URL does not take the use of closed hours: it is sent again with the same identifiers";

/** A single one that the target has already is one that it took before. */
function isTaken(result: OutboundResult, number: number): boolean {
  if (result.kind === "failed") return false;
  // A body that is too long to be read changes nothing.
  if (result.status >= 200 && result.status < 300) return true;
  const isKnown = result.kind === "answered" && /already[_ ]exist|duplicate/i.test(result.body);
  return number === 1 && isRefused(result) && isKnown;
}

function isRefused(result: OutboundResult): boolean {
  return result.kind !== "failed" && [400, 409, 422].includes(result.status);
}

/** Without the body, which may repeat what was sent. */
function problemOf(result: OutboundResult): string {
  return result.kind === "failed" ? result.reason : `METERING_URL answered ${String(result.status)}`;
}
