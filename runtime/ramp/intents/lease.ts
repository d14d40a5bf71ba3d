import { OF_PROJECT, ofProject, type ProjectTransaction } from "../database/ramp-database.js";
import { type Intent, isTerminal } from "./intent.js";

/**
 * One process at a time talks to a provider about an intent: it holds the intent's lease. A crashed owner's lease expires;
 * its work is repeated under the same ids and idempotency keys. Leases and polls are set by the clock of the process, and due
 * polls are found by the clock of the database: the two may differ by seconds, much less than a lease lasts.
 */

/** When intents are polled, in milliseconds. */
export interface PollingPolicy {
  /** Lifetime of a lease: longer than the provider calls of one step may take. */
  readonly leaseMs: number;
  /** Interval of look-ups while the provider sends no callback. */
  readonly compliancePollMs: number;
  readonly executionPollMs: number;
  /** Pause after the first failed attempt; doubles up to the maximum. */
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
  /** Failed attempts in a row after which an intent needs the operator's attention. */
  readonly attentionAfter: number;
  /** Returns and refunds are looked for at this interval, for this long after SUCCESS. */
  readonly refundPollMs: number;
  readonly refundWindowMs: number;
  /** Lifetime of an intent (runtime/ramp/README.md, States). */
  readonly intentLifetimeMs: number;
}

const HOUR_MS = 60 * 60_000;

export const DEFAULT_POLLING_POLICY: PollingPolicy = {
  leaseMs: 120_000,
  compliancePollMs: 60_000,
  executionPollMs: 15_000,
  firstBackoffMs: 1_000,
  maxBackoffMs: 60_000,
  attentionAfter: 10,
  refundPollMs: 6 * HOUR_MS,
  // Bank debits can be returned for two months after they settled.
  refundWindowMs: 60 * 24 * HOUR_MS,
  intentLifetimeMs: 24 * HOUR_MS,
};

/**
 * Leases an intent if its lease is free and a poll is planned. The next poll is then due when the lease expires, so that
 * another process continues after a crash. Returns whether it leased the intent.
 */
export async function acquireLease(
  tx: ProjectTransaction,
  id: string,
  owner: string,
  { leaseMs }: PollingPolicy,
): Promise<boolean> {
  const now = Date.now();
  const leased = await tx.row(
    `UPDATE ramp.intents SET lease_owner = $2, lease_expires_at = $3, next_poll_at = $3, poll_requested = false
     WHERE ${OF_PROJECT} AND id = $1 AND next_poll_at IS NOT NULL AND (lease_expires_at IS NULL OR lease_expires_at < $4) RETURNING id`,
    [id, owner, new Date(now + leaseMs), new Date(now)],
  );
  return leased !== null;
}

/** Takes the lease from its owner, for a step that was created just now. Not for a terminal intent. */
export function stealLease(
  tx: ProjectTransaction,
  id: string,
  owner: string,
  { leaseMs }: PollingPolicy,
): void {
  const expiresAt = new Date(Date.now() + leaseMs);
  tx.write(
    `UPDATE ramp.intents SET lease_owner = $2, lease_expires_at = $3, next_poll_at = $3 WHERE ${OF_PROJECT} AND id = $1`,
    [id, owner, expiresAt],
  );
}

/** Locks the intent for the transaction; the transaction fails when `owner` no longer holds the lease. */
export function assertLease(tx: ProjectTransaction, id: string, owner: string): void {
  tx.requireRow(`SELECT FROM ramp.intents WHERE ${OF_PROJECT} AND id = $1 AND lease_owner = $2 FOR UPDATE`, [
    id,
    owner,
  ]);
}

/**
 * Extends the lease, and moves the next poll to its new expiry. Call `assertLease` in the same transaction first.
 */
export function renewLease(tx: ProjectTransaction, id: string, { leaseMs }: PollingPolicy): void {
  const expiresAt = new Date(Date.now() + leaseMs);
  tx.write(
    `UPDATE ramp.intents SET lease_expires_at = $2, next_poll_at = $2 WHERE ${OF_PROJECT} AND id = $1`,
    [id, expiresAt],
  );
}

/**
 * Frees the lease, writes the number of failed attempts and plans the next poll: at once if one was requested since the
 * lease was acquired. Call `assertLease` in the same transaction first.
 */
export function releaseLease(tx: ProjectTransaction, intent: Intent, policy: PollingPolicy): void {
  tx.write(
    `UPDATE ramp.intents SET lease_owner = NULL, lease_expires_at = NULL, failed_attempts = $3,
       next_poll_at = CASE WHEN poll_requested THEN now() ELSE $2::timestamptz END WHERE ${OF_PROJECT} AND id = $1`,
    [intent.id, nextPollAt(intent, policy, Date.now()), intent.failedAttempts],
  );
}

/** Null: no further poll unless a callback arrives. */
function nextPollAt(intent: Intent, policy: PollingPolicy, now: number): Date | null {
  if (isTerminal(intent.status)) return nextRefundPollAt(intent, policy, now);
  const { failedAttempts } = intent;
  const { firstBackoffMs, maxBackoffMs } = policy;
  if (failedAttempts > 0)
    return new Date(now + Math.min(firstBackoffMs * 2 ** Math.min(failedAttempts - 1, 20), maxBackoffMs));
  const interval = pollIntervalOf(intent, policy);
  // After its expiry an intent is open only because the provider has the money: it is polled as before.
  const expiry = intent.expiresAt.getTime();
  return new Date(expiry > now ? Math.min(now + interval, expiry) : now + interval);
}

function nextRefundPollAt(
  { transaction, attentionReason }: Intent,
  { refundPollMs, refundWindowMs }: PollingPolicy,
  now: number,
): Date | null {
  if (transaction === null) return null;
  const canRefund =
    transaction.status === "SUCCESS" && now < transaction.updatedAt.getTime() + refundWindowMs;
  return canRefund || attentionReason !== null ? new Date(now + refundPollMs) : null;
}

/** A customer who does not pay causes no change at the provider: no poll until the intent expires. */
function pollIntervalOf({ status, transaction }: Intent, policy: PollingPolicy): number {
  if (transaction !== null) return policy.executionPollMs;
  return status === "PENDING_PAYMENT" ? policy.intentLifetimeMs : policy.compliancePollMs;
}

/**
 * Plans a poll for now, or for the end of the lease: its owner may have read the provider's state before. `releaseLease` sees
 * `poll_requested`, so the poll does not wait for the lease's expiry.
 */
const SET_POLL_REQUESTED =
  "poll_requested = true, next_poll_at = CASE WHEN lease_owner IS NULL THEN now() ELSE lease_expires_at END";

/** For a process that could not get the lease of an intent: plans a poll for its end, if the intent is polled at all. */
export async function pollAfterLease(tx: ProjectTransaction, id: string): Promise<void> {
  await tx.rows(
    `UPDATE ramp.intents SET ${SET_POLL_REQUESTED} WHERE ${OF_PROJECT} AND id = $1 AND next_poll_at IS NOT NULL`,
    [id],
  );
}

/**
 * For a provider's callback: plans a poll and enqueues it at once. Does nothing unless the intent belongs to the connection
 * and one of the credential versions that verified the callback. A terminal intent with a transaction is polled too: its
 * payment can still be refunded.
 */
export async function requestPoll(
  tx: ProjectTransaction,
  id: string,
  connectionId: string,
  versions: readonly number[],
): Promise<void> {
  const found = await tx.row(
    `UPDATE ramp.intents i SET ${SET_POLL_REQUESTED}
     WHERE ${ofProject("i")} AND id = $1 AND connection_id = $2 AND connection_version = ANY($3::int[]) AND (next_poll_at IS NOT NULL OR EXISTS
       (SELECT FROM ramp.transactions t WHERE t.project_id = i.project_id AND t.intent_id = i.id)) RETURNING id`,
    [id, connectionId, versions],
  );
  if (found !== null)
    tx.write(
      `SELECT ramp.enqueue('process_intent', json_build_object('projectId', $1::text, 'intentId', $2::text), 'process_intent:' || $2)`,
      [tx.projectId, id],
    );
}
