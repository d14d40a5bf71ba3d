import type { ProjectTransaction } from "../database/ramp-database.js";
import { type Intent, isTerminal } from "./intent.js";

/**
 * One driver at a time talks to a provider about an intent. Whoever attends to it holds it for a while and writes its name
 * on it; a driver that crashed loses it by time, and is not missed: all that it did is repeated under the same keys.
 */

/** When to look at intents again, in milliseconds. */
export interface PollingPolicy {
  /** How long a driver holds an intent: longer than its calls may take together. */
  readonly leaseMs: number;
  /** How often a provider is asked for news that it did not call back for. */
  readonly compliancePollMs: number;
  readonly executionPollMs: number;
  /** Pause after the first call that came to nothing; it doubles up to the limit. */
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
  /** How old an intent may get (decisions.md §B, States). */
  readonly intentLifetimeMs: number;
}

export const DEFAULT_POLLING_POLICY: PollingPolicy = {
  leaseMs: 60_000,
  compliancePollMs: 60_000,
  executionPollMs: 15_000,
  firstBackoffMs: 1_000,
  maxBackoffMs: 60_000,
  intentLifetimeMs: 24 * 60 * 60_000,
};

/** Takes an intent if nobody holds it; whether it did. */
export async function acquireLease(
  tx: ProjectTransaction,
  id: string,
  driver: string,
  { leaseMs }: PollingPolicy,
): Promise<boolean> {
  const now = Date.now();
  const held = await tx.row(
    `UPDATE ramp.intents SET lease_owner = $2, lease_expires_at = $3, next_poll_at = $3
     WHERE id = $1 AND next_poll_at IS NOT NULL AND (lease_expires_at IS NULL OR lease_expires_at < $4) RETURNING id`,
    [id, driver, new Date(now + leaseMs), new Date(now)],
  );
  return held !== null;
}

/** Takes an intent from whoever holds it: for a step that was not there to be done before. Not for one that is at its end. */
export function stealLease(
  tx: ProjectTransaction,
  id: string,
  driver: string,
  { leaseMs }: PollingPolicy,
): void {
  tx.write(
    "UPDATE ramp.intents SET lease_owner = $2, lease_expires_at = $3, next_poll_at = $3 WHERE id = $1",
    [id, driver, new Date(Date.now() + leaseMs)],
  );
}

/** Sees to it that the driver still holds the intent, until the transaction ends; the transaction is missed if it does not. */
export function assertLease(tx: ProjectTransaction, id: string, driver: string): void {
  tx.requireRow("SELECT FROM ramp.intents WHERE id = $1 AND lease_owner = $2 FOR UPDATE", [id, driver]);
}

/** Holds a kept intent for another while. */
export function renewLease(tx: ProjectTransaction, id: string, { leaseMs }: PollingPolicy): void {
  tx.write("UPDATE ramp.intents SET lease_expires_at = $2 WHERE id = $1", [
    id,
    new Date(Date.now() + leaseMs),
  ]);
}

/** Lets an intent go and sets when it is looked at next: never again, once it is at its end. */
export function releaseLease(tx: ProjectTransaction, intent: Intent, rhythm: PollingPolicy): void {
  tx.write(
    "UPDATE ramp.intents SET lease_owner = NULL, lease_expires_at = NULL, next_poll_at = $2, failed_attempts = $3 WHERE id = $1",
    [intent.id, nextPollAt(intent, rhythm, Date.now()), intent.failedAttempts],
  );
}

function nextPollAt(intent: Intent, rhythm: PollingPolicy, now: number): Date | null {
  if (isTerminal(intent.status)) return null;
  const { failedAttempts } = intent;
  if (failedAttempts > 0)
    return new Date(
      now + Math.min(rhythm.firstBackoffMs * 2 ** Math.min(failedAttempts - 1, 20), rhythm.maxBackoffMs),
    );
  const pause = pollIntervalOf(intent, rhythm);
  // What outlives its time does so because the provider has the money: it is asked as often as before.
  const expiry = intent.expiresAt.getTime();
  return new Date(expiry > now ? Math.min(now + pause, expiry) : now + pause);
}

/** How long to wait for news of its own accord: a customer who does not pay makes no news. */
function pollIntervalOf(
  { status, transaction }: Intent,
  { executionPollMs, compliancePollMs, intentLifetimeMs }: PollingPolicy,
): number {
  if (transaction !== null) return executionPollMs;
  return status === "PENDING_PAYMENT" ? intentLifetimeMs : compliancePollMs;
}

/** Has an intent of a connection looked at as soon as somebody can. One that is at its end, or another's, is let be. */
export async function requestPoll(tx: ProjectTransaction, id: string, connectionId: string): Promise<void> {
  const called = await tx.row(
    `UPDATE ramp.intents SET next_poll_at = LEAST(next_poll_at, now())
     WHERE id = $1 AND connection_id = $2 AND next_poll_at IS NOT NULL RETURNING id`,
    [id, connectionId],
  );
  if (called !== null) enqueueProcessing(tx, id);
}

function enqueueProcessing(tx: ProjectTransaction, id: string): void {
  tx.write(
    `SELECT ramp.enqueue('process_intent', json_build_object('projectId', $1::text, 'intentId', $2::text), 'process_intent:' || $2)`,
    [tx.projectId, id],
  );
}
