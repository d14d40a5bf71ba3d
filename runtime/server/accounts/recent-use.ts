import { QUOTA_UNITS, type QuotaUnit } from "../../core/model/organization-plan.js";

/** What was used in a period, the running one or the one before: the larger. */
export class RecentUse {
  readonly #periodMs: number;
  readonly #combine: (known: number, use: number) => number;
  #period = 0;
  readonly #current: Record<QuotaUnit, number> = { requests: 0, rows: 0, bytes: 0 };
  readonly #before: Record<QuotaUnit, number> = { requests: 0, rows: 0, bytes: 0 };

  /** `combine`: what a period has with one response more. */
  constructor(periodMs: number, combine: (known: number, use: number) => number) {
    this.#periodMs = periodMs;
    this.#combine = combine;
  }

  add(use: Readonly<Record<QuotaUnit, number>>, now: number): void {
    this.#advance(now);
    for (const unit of QUOTA_UNITS) this.#current[unit] = this.#combine(this.#current[unit], use[unit]);
  }

  /** 0: nothing. */
  of(unit: QuotaUnit, now: number): number {
    this.#advance(now);
    return Math.max(this.#before[unit], this.#current[unit]);
  }

  #advance(now: number): void {
    const period = Math.floor(now / this.#periodMs);
    if (period === this.#period) return;
    const isNext = period === this.#period + 1;
    for (const unit of QUOTA_UNITS) {
      this.#before[unit] = isNext ? this.#current[unit] : 0;
      this.#current[unit] = 0;
    }
    this.#period = period;
  }
}
