import { FAILOVER_RETRY_SECONDS } from "../../core/http/headers.js";
import { httpError, type HttpError } from "../../core/model/errors.js";
import type {
  CountedRequest,
  MonthPolicy,
  OrganizationUse,
  SentUse,
} from "../../core/model/organization-use.js";
import { type Figures, QUOTA_UNITS, type QuotaUnit } from "../../core/model/organization-plan.js";
import { RecentUse } from "./recent-use.js";

/** A number for each unit of a quota. */
export type Units = Record<QuotaUnit, number>;

/** A process takes at most this part of a quota at a time: what it loses when it is killed. */
const LARGEST_SHARE = 0.001;

/** A request that runs is taken to need at most this part of a quota: one large response leaves the others a place. */
const LARGEST_NEED = 0.01;

const SECOND = 1000;
const MINUTE = 60_000;

/** How soon an organization whose quota is used up is looked at again: its plan may be another, or a process has given back. */
const RECHECK_MS = 1000;

/** How long a request waits for a share: far longer than a database takes that answers. */
const LONGEST_WAIT_MS = 5000;

/** What the database says of an organization's share. */
export interface ShareAnswer extends Units {
  readonly organization: number;
  readonly used_requests: number;
  readonly used_rows: number;
  readonly used_bytes: number;
}

/** What a process asks for an organization (`report_use` of migration 0003). */
export interface ShareRequest extends Units {
  readonly organization: number;
  /** What it has given away of the share before. */
  readonly kept_requests: number;
  readonly kept_rows: number;
  readonly kept_bytes: number;
  /** Null: no limit. */
  readonly quota_requests: number | null;
  readonly quota_rows: number | null;
  readonly quota_bytes: number | null;
}

/** Of the process that reports. */
export interface Reports {
  /** Adds what was sent to the next report. */
  add(organization: number, sent: SentUse): void;
  /** Reports this share: because requests wait for it, before it ends, or within a second. */
  changed(share: OrganizationShare, urgency: Urgency): void;
  /** Resolves after the next report, whatever became of it. */
  readonly next: Promise<void>;
  /** Whether the last report failed. */
  readonly isAway: boolean;
}

export type Urgency = "waiting" | "low" | "soon";

/** The quota, and the address of a larger plan. */
export type ShareFigures = Pick<Figures, "quota" | "upgrade">;

const none = (): Units => ({ requests: 0, rows: 0, bytes: 0 });

/**
 * The share of this process in the quota of an organization. A request is taken from it without the database; what is left covers
 * requests that run and what is not reported yet, so that all processes together stay within the quota.
 */
export class OrganizationShare implements OrganizationUse {
  readonly organization: number;
  readonly #reports: Reports;
  #figures: ShareFigures;
  /** Of the quota, no other process gives it away. */
  readonly #held = none();
  /** Counted, and not in the database yet. */
  readonly #unreported = none();
  /** Part of `unreported` that is on its way. */
  #sending = none();
  #asked = none();
  /** Of the month, as the database last said. */
  readonly #used = none();
  readonly #recent = new RecentUse(SECOND, (known, use) => known + use);
  /** Of one response, at least 1. */
  readonly #largest = new RecentUse(MINUTE, (known, use) => Math.max(1, known, use));
  #running = 0;
  #waiting = 0;
  /** By `performance.now()`, as each `now` here. */
  #exceededUntil = 0;

  constructor(organization: number, figures: ShareFigures, reports: Reports) {
    this.organization = organization;
    this.#figures = figures;
    this.#reports = reports;
  }

  /** Whether anything may change without a request: something is counted, or a share is to be given back. */
  get isIdle(): boolean {
    return (
      this.#running + this.#waiting === 0 &&
      QUOTA_UNITS.every((unit) => this.#held[unit] === 0 && this.#unreported[unit] === 0)
    );
  }

  /** Figures of another plan count at once; what was used stays. */
  setFigures(figures: ShareFigures): void {
    if (JSON.stringify(figures) === JSON.stringify(this.#figures)) return;
    this.#figures = figures;
    this.#exceededUntil = 0;
    this.#reports.changed(this, "soon");
  }

  take(request: CountedRequest): HttpError | null | Promise<HttpError | null> {
    const now = performance.now();
    if (this.#exhausted(now) !== null) return this.#wait(request);
    this.#admit(request, now);
    return null;
  }

  count(request: CountedRequest, sent: SentUse): void {
    request.taken--;
    this.#running--;
    if (!this.#isCounted(sent)) return;
    const now = performance.now();
    const use = { requests: 1, rows: sent.rows ?? 0, bytes: sent.bytes };
    for (const unit of QUOTA_UNITS) this.#unreported[unit] += use[unit];
    this.#recent.add(use, now);
    // 304 says nothing of the size of the next.
    if (sent.status !== 304) this.#largest.add(use, now);
    this.#reports.add(this.organization, sent);
    this.#reports.changed(this, this.#isLow(now) ? "low" : "soon");
  }

  get month(): MonthPolicy | null {
    const unit = SHOWN_UNITS.find((each) => this.#figures.quota[each] !== undefined);
    const quota = unit && this.#figures.quota[unit];
    if (unit === undefined || quota === undefined) return null;
    const running = unit === "requests" ? this.#running : 0;
    const left = Math.max(0, quota - this.#used[unit] - this.#unreported[unit] - running);
    const { seconds, secondsLeft } = monthOf(Date.now());
    return {
      limit: `, "month";r=${String(left)};t=${String(secondsLeft)}`,
      policy: `, "month";q=${String(quota)};w=${String(seconds)}${UNIT_NAMES[unit]}`,
    };
  }

  /** All that is counted goes on its way, until `answered`. */
  send(): void {
    this.#sending = { ...this.#unreported };
  }

  /** What is asked of the database. First gives up what it does not need: no request takes that meanwhile. */
  request(now: number, isEnding: boolean): ShareRequest {
    const { quota } = this.#figures;
    const asked = none();
    for (const unit of QUOTA_UNITS) {
      if (quota[unit] !== undefined)
        asked[unit] =
          (isEnding ? 0 : this.#target(unit, now)) + this.#promised(unit, now) - this.#sending[unit];
      this.#held[unit] = Math.min(this.#held[unit], asked[unit] + this.#sending[unit]);
    }
    this.#asked = asked;
    const kept = (unit: QuotaUnit): number => Math.max(0, this.#held[unit] - this.#sending[unit]);
    return {
      organization: this.organization,
      ...asked,
      kept_requests: kept("requests"),
      kept_rows: kept("rows"),
      kept_bytes: kept("bytes"),
      quota_requests: quota.requests ?? null,
      quota_rows: quota.rows ?? null,
      quota_bytes: quota.bytes ?? null,
    };
  }

  /** What the database has counted and given. */
  answered(answer: ShareAnswer, now: number): void {
    for (const unit of QUOTA_UNITS) {
      this.#held[unit] = answer[unit];
      this.#used[unit] = answer[`used_${unit}`];
      this.#unreported[unit] -= this.#sending[unit];
    }
    this.#sending = none();
    const unit = this.#exhausted(now);
    if (unit !== null && answer[unit] < this.#asked[unit]) this.#exceededUntil = now + RECHECK_MS;
  }

  #admit(request: CountedRequest, now: number): void {
    request.taken++;
    this.#running++;
    if (this.#isLow(now)) this.#reports.changed(this, "low");
  }

  async #wait(request: CountedRequest): Promise<HttpError | null> {
    const until = performance.now() + LONGEST_WAIT_MS;
    this.#waiting++;
    try {
      for (;;) {
        const now = performance.now();
        const unit = this.#exhausted(now);
        if (unit === null) {
          this.#admit(request, now);
          return null;
        }
        if (now < this.#exceededUntil) return this.#exceeded(unit);
        if (this.#reports.isAway || now > until)
          return httpError("quotaUnreachable", { n: FAILOVER_RETRY_SECONDS });
        this.#reports.changed(this, "waiting");
        await this.#reports.next;
      }
    } finally {
      this.#waiting--;
    }
  }

  /** Where other processes hold the rest it may come back within a second. */
  #exceeded(unit: QuotaUnit): HttpError {
    const { quota, upgrade } = this.#figures;
    const limit = quota[unit] ?? 0;
    const n = this.#used[unit] < limit ? 1 : monthOf(Date.now()).secondsLeft;
    return httpError("quotaExceeded", {
      quota: limit,
      unit,
      n,
      upgrade: upgrade ? ` Upgrade: ${upgrade}` : "",
    });
  }

  /** The first unit of which nothing is left; null where a request may be taken. */
  #exhausted(now: number): QuotaUnit | null {
    for (const unit of QUOTA_UNITS)
      if (this.#figures.quota[unit] !== undefined && this.#left(unit, now) <= 0) return unit;
    return null;
  }

  #left(unit: QuotaUnit, now: number): number {
    return this.#held[unit] - this.#promised(unit, now);
  }

  /**
   * What the share must cover: what is counted and not reported, and what requests that run are taken to need. Without the latter a hundred
   * requests at once got a hundred responses beyond the quota of rows or bytes.
   */
  #promised(unit: QuotaUnit, now: number): number {
    return this.#unreported[unit] + this.#running * this.#expected(unit, now);
  }

  /** What each request that runs is taken to need: as the largest response of this minute and the one before, within `LARGEST_NEED`. */
  #expected(unit: QuotaUnit, now: number): number {
    const quota = this.#figures.quota[unit];
    if (unit === "requests" || quota === undefined) return 1;
    const most = Math.max(1, Math.floor(quota * LARGEST_NEED));
    return Math.min(most, this.#largest.of(unit, now) || most);
  }

  /** Whether half of the share is used, so that the next one is there before it ends. */
  #isLow(now: number): boolean {
    return QUOTA_UNITS.some(
      (unit) =>
        this.#figures.quota[unit] !== undefined && this.#left(unit, now) <= this.#target(unit, now) / 2,
    );
  }

  /** At most a thousandth of the quota, and the use of a second. */
  #target(unit: QuotaUnit, now: number): number {
    const quota = this.#figures.quota[unit];
    if (quota === undefined) return 0;
    const needed = Math.max(this.#recent.of(unit, now), this.#waiting * this.#expected(unit, now));
    return Math.min(needed, Math.max(1, Math.floor(quota * LARGEST_SHARE)));
  }

  /** A 200 without rows, bytes and query: the client has left before anything was sent. */
  #isCounted({ status, rows, bytes, databaseMs }: SentUse): boolean {
    if (status === 304) return this.#figures.quota.countNotModified;
    const isSent = rows !== null || bytes > 0 || databaseMs !== null;
    return status >= 200 && status < 300 && isSent;
  }
}

/** The one that `RateLimit` shows, the first of these that the quota has. */
const SHOWN_UNITS: readonly QuotaUnit[] = ["requests", "bytes", "rows"];
const UNIT_NAMES: Readonly<Record<QuotaUnit, string>> = {
  requests: "",
  bytes: ';qu="content-bytes"',
  rows: ';qu="rows"',
};

let known = { from: 0, until: 0 };

/** The calendar month in UTC: its length and what is left of it. */
function monthOf(now: number): { readonly seconds: number; readonly secondsLeft: number } {
  if (now < known.from || now >= known.until) {
    const time = new Date(now);
    const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
    known = { from: Date.UTC(year, month), until: Date.UTC(year, month + 1) };
  }
  return {
    seconds: (known.until - known.from) / 1000,
    secondsLeft: Math.max(1, Math.ceil((known.until - now) / 1000)),
  };
}
