import { QUOTA_UNITS, type QuotaUnit } from "../../core/model/organization-plan.js";

const SECOND = 1000;

/** What was used in a second: the larger of the one before and the running one. */
export class RecentUse {
  #second = 0;
  readonly #current: Record<QuotaUnit, number> = { requests: 0, rows: 0, bytes: 0 };
  readonly #before: Record<QuotaUnit, number> = { requests: 0, rows: 0, bytes: 0 };

  add(use: Readonly<Record<QuotaUnit, number>>, now: number): void {
    this.#advance(now);
    for (const unit of QUOTA_UNITS) this.#current[unit] += use[unit];
  }

  of(unit: QuotaUnit, now: number): number {
    this.#advance(now);
    return Math.max(this.#before[unit], this.#current[unit]);
  }

  #advance(now: number): void {
    const second = Math.floor(now / SECOND);
    if (second === this.#second) return;
    const isNext = second === this.#second + 1;
    for (const unit of QUOTA_UNITS) {
      this.#before[unit] = isNext ? this.#current[unit] : 0;
      this.#current[unit] = 0;
    }
    this.#second = second;
  }
}
