import type { NotificationResult } from "../core/http/outbound-http.js";

const HOUR = 60 * 60;

/** Pauses before the next attempts, in seconds; then the delivery is exhausted. */
export const RETRY_PAUSES_SECONDS = [60, 5 * 60, 30 * 60, 2 * HOUR, 8 * HOUR, 24 * HOUR, 36 * HOUR] as const;

const LONGEST_PAUSE_SECONDS = 36 * HOUR;

/** Status of a receiver that is gone for good. */
const GONE = 410;

/** What follows from an attempt. */
export interface AfterAttempt {
  readonly status: "PENDING" | "DELIVERED" | "EXHAUSTED";
  /** Seconds until the next attempt of a pending one. */
  readonly pause: number;
  /** HTTP status, or why there was none (`RESULTS`): at most 200 characters. */
  readonly lastResult: string;
  /** The receiver wants nothing more. */
  readonly isGone: boolean;
}

/** @param attempts those that were made, with this one */
export function afterAttempt(result: NotificationResult, attempts: number, now: Date): AfterAttempt {
  const isGone = result.kind === "answered" && result.status === GONE;
  const isDelivered = result.kind === "answered" && result.status >= 200 && result.status < 300;
  const scheduled = isGone ? undefined : RETRY_PAUSES_SECONDS[attempts - 1];
  return {
    status: isDelivered ? "DELIVERED" : scheduled === undefined ? "EXHAUSTED" : "PENDING",
    pause: pauseBefore(result, scheduled ?? 0, now),
    lastResult: lastResultOf(result),
    isGone,
  };
}

/** Seconds until the next attempt: by the schedule, or later where the receiver asks for it with `Retry-After` (RFC 9110 §10.2.3). */
function pauseBefore(result: NotificationResult, scheduled: number, now: Date): number {
  const text = (result.kind === "answered" && result.retryAfter) || "";
  const asked = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now.getTime()) / 1000;
  return Math.max(scheduled, Math.min(Number.isNaN(asked) ? 0 : asked, LONGEST_PAUSE_SECONDS));
}

function lastResultOf(result: NotificationResult): string {
  return (result.kind === "answered" ? String(result.status) : result.reason).slice(0, 200);
}
