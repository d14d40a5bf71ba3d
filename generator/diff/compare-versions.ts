import type { Endpoint } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { Difference } from "./change.js";

/** Decides whether a removal or a sunset date leaves consumers enough time. */
export interface SunsetPolicy {
  /** `YYYY-MM-DD`. */
  readonly today: string;
  /** Days that consumers must have from today until a sunset. */
  readonly minimumNoticeDays: number;
}

export const DAY_MS = 86_400_000;

/** Full days from the beginning of today until a time. */
export function daysUntil(time: string, today: string): number {
  return Math.floor((Date.parse(time) - Date.parse(`${today}T00:00:00Z`)) / DAY_MS);
}

/** Why a notice is too short. */
export function noticeText(days: number, minimum: number): string {
  const notice =
    days < 0 ? "The date has passed" : days === 1 ? "1 day from now" : `${String(days)} days from now`;
  return `${notice}; the minimum is ${String(minimum)} days.`;
}

/** Whether two entries are versions of one model. */
export function isOtherVersion(base: CatalogueEntry, head: CatalogueEntry): boolean {
  const areVersions = base.version !== undefined && head.version !== undefined;
  return base.model === head.model && areVersions && base.version !== head.version;
}

/** When requests begin to get 410. */
export function compareEnds(
  { goneAt: before }: Endpoint,
  { goneAt: after }: Endpoint,
  { today, minimumNoticeDays }: SunsetPolicy,
): readonly Difference[] {
  if (before === after) return [];
  const dates = { before, after };
  if (after === undefined || (before !== undefined && after > before))
    return [{ kind: "gone-put-off", ...dates }];
  const days = daysUntil(after, today);
  if (days >= minimumNoticeDays) return [{ kind: "gone-announced", ...dates }];
  return [{ kind: "gone-too-soon", ...dates, details: [noticeText(days, minimumNoticeDays)] }];
}
