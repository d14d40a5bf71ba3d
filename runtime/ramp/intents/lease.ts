import { ComputedValue, OF_PROJECT, ofProject, type ProjectTransaction } from "../database/transaction.js";
import type { ProviderContext } from "../providers/provider-connections.js";
import { type Intent, isOffered, isOver, isTerminal, needsAttention } from "./intent.js";
import { openRefund } from "./refund.js";

/**
 * One process at a time talks to a provider about an intent: it holds the intent's lease. A crashed owner's lease expires;
 * its work is repeated under the same ids and idempotency keys. Leases and polls use the database's clock.
 */

/** What the processing of intents needs. */
export interface IntentContext extends ProviderContext {
  readonly polling: PollingPolicy;
}

const HOUR_MS = 60 * 60_000;

/** When intents are polled, in milliseconds. */
export const DEFAULT_POLLING_POLICY = {
  /** Lifetime of a lease: longer than the provider calls of one step may take. */
  leaseMs: 120_000,
  /**
   * First interval of look-ups while the provider sends no callback. It grows to a quarter of the time since the last change,
   * up to `maxPollMs`.
   */
  compliancePollMs: 60_000,
  executionPollMs: 15_000,
  maxPollMs: 10 * 60_000,
  /** Pause after the first failed attempt; doubles up to the maximum. */
  firstBackoffMs: 1_000,
  maxBackoffMs: 60_000,
  /** Failed attempts in a row after which an intent needs the operator's attention. */
  attentionAfter: 10,
  /**
   * An ended order is looked up for this long: bank debits can be returned for two months after they settled. The interval grows
   * from the first to the longest.
   */
  followUpMs: 60 * 24 * HOUR_MS,
  followUpPollMs: 60_000,
  maxFollowUpPollMs: 24 * HOUR_MS,
  /** Lifetime of an intent (runtime/ramp/docs/intents.md, States). */
  intentLifetimeMs: 24 * HOUR_MS,
  /** Intents of one connection that a process works on at a time, and intents of all. */
  perConnection: 10,
  maxInFlight: 200,
  /** A request that waits for a provider is answered with the recorded state after this; the work continues. */
  answerWithinMs: 4_000,
};
export type PollingPolicy = Readonly<typeof DEFAULT_POLLING_POLICY>;

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
  const now = tx.now.getTime();
  const leased = await tx.row(
    `UPDATE ramp.intents SET lease_owner = $2, lease_expires_at = $3, next_poll_at = $3, poll_requested = false
     WHERE ${OF_PROJECT} AND id = $1 AND next_poll_at IS NOT NULL AND (lease_expires_at IS NULL OR lease_expires_at < $4) RETURNING id`,
    [id, owner, new Date(now + leaseMs), new Date(now)],
  );
  return leased !== null;
}

/**
 * Makes the intent's `leaseOwner` the owner of its lease, and moves the next poll to the end of the lease. Any other owner loses
 * it. An owner that extends its own lease calls `assertLease` in the same transaction first. Not for a terminal intent.
 */
export function takeLease(
  tx: ProjectTransaction,
  { id, leaseOwner }: Pick<Intent, "id" | "leaseOwner">,
  policy: PollingPolicy,
): void {
  tx.update("intents", id, leaseOf(tx, leaseOwner, policy));
}

/** The columns of an intent that its owner leases. */
export function leaseOf({ now }: ProjectTransaction, leaseOwner: string | null, { leaseMs }: PollingPolicy) {
  const end = new Date(now.getTime() + leaseMs);
  return { leaseOwner, leaseExpiresAt: end, nextPollAt: end };
}

/** Locks the intent for the transaction; the transaction fails when another process has taken its lease. */
export function assertLease(
  tx: ProjectTransaction,
  { id, leaseOwner }: Pick<Intent, "id" | "leaseOwner">,
): void {
  tx.requireRow(`SELECT FROM ramp.intents WHERE ${OF_PROJECT} AND id = $1 AND lease_owner = $2 FOR UPDATE`, [
    id,
    leaseOwner,
  ]);
}

/**
 * Frees the lease, writes the number of failed attempts and plans the next poll: at once if one was requested since the
 * lease was acquired. Call `assertLease` in the same transaction first.
 */
export function releaseLease(tx: ProjectTransaction, intent: Intent, policy: PollingPolicy): void {
  tx.update("intents", intent.id, {
    leaseOwner: null,
    leaseExpiresAt: null,
    failedAttempts: intent.failedAttempts,
    nextPollAt: new ComputedValue(PLANNED_POLL, nextPollAt(intent, policy, tx.now.getTime())),
  });
}

/** At once if a poll was requested meanwhile. */
const PLANNED_POLL = (place: string): string =>
  `CASE WHEN poll_requested THEN now() ELSE ${place}::timestamptz END`;

/** Null: no further poll unless a callback arrives. */
function nextPollAt(intent: Intent, policy: PollingPolicy, now: number): Date | null {
  const { failedAttempts, status, transaction, expiresAt, updatedAt, readAt } = intent;
  const { firstBackoffMs, maxBackoffMs } = policy;
  if (isTerminal(status) && !openRefund(intent)) return nextFollowUpAt(intent, policy, now);
  // What waits to be accepted causes no change: no poll until another price is due.
  if (intent.newPrice !== null && isOffered(intent) && !isOver(intent))
    return new Date(Math.min(new Date(intent.newPrice.expiresAt).getTime(), expiresAt.getTime()));
  if (failedAttempts > 0)
    return new Date(now + Math.min(firstBackoffMs * 2 ** Math.min(failedAttempts - 1, 20), maxBackoffMs));
  const changedAt = transaction?.updatedAt ?? updatedAt;
  const first = transaction === null ? policy.compliancePollMs : policy.executionPollMs;
  // A customer who does not pay causes no change at the provider: no poll until the intent expires.
  const isIdle = transaction === null && status === "PENDING_PAYMENT";
  const interval = isIdle ? policy.intentLifetimeMs : grownInterval(now, changedAt, first, policy.maxPollMs);
  // After its expiry an intent is open only because the provider has the money: it is polled as before.
  const expiry = expiresAt.getTime();
  return new Date(expiresAt > readAt ? Math.min(now + interval, expiry) : now + interval);
}

/** A quarter of the time since the last change, within bounds: 200 unpaid intents of an hour cause 20 look-ups a minute. */
export function grownInterval(now: number, changedAt: Date, first: number, longest: number): number {
  return Math.min(Math.max((now - changedAt.getTime()) / 4, first), longest);
}

/** The order of an ended intent is looked up until the window closes, and after it while the intent needs attention. */
function nextFollowUpAt(
  { transaction, attention, refunds }: Intent,
  { followUpMs, followUpPollMs, maxFollowUpPollMs }: PollingPolicy,
  now: number,
): Date | null {
  if (transaction === null) return null;
  const changes = [transaction, ...refunds].map(({ updatedAt }) => updatedAt.getTime());
  const updatedAt = new Date(Math.max(...changes));
  if (!needsAttention(attention) && now >= updatedAt.getTime() + followUpMs) return null;
  return new Date(now + grownInterval(now, updatedAt, followUpPollMs, maxFollowUpPollMs));
}

/** For the operator: takes the lease away, so that its owner records nothing more, and plans a poll for now. */
export function pollNow(tx: ProjectTransaction, id: string): void {
  tx.write(
    `UPDATE ramp.intents SET lease_owner = NULL, lease_expires_at = NULL, poll_requested = false, next_poll_at = now(), failed_attempts = 0
     WHERE ${OF_PROJECT} AND id = $1`,
    [id],
  );
}

/**
 * For a provider's callback: plans a poll. False unless the intent belongs to the connection and one of the credential
 * versions that verified the callback. A terminal intent with a transaction is polled too: its payment can still be refunded. The
 * poll is for now, or for the end of the lease, whose owner may have read the provider's state before: `releaseLease` sees
 * `poll_requested`, so it does not wait for the expiry.
 */
export async function requestPoll(
  tx: ProjectTransaction,
  id: string,
  connectionId: string,
  versions: readonly number[],
): Promise<boolean> {
  const found = await tx.row(
    `UPDATE ramp.intents i SET poll_requested = true, next_poll_at = CASE WHEN lease_owner IS NULL THEN now() ELSE lease_expires_at END
     WHERE ${ofProject("i")} AND id = $1 AND connection_id = $2 AND connection_version = ANY($3::int[]) AND (next_poll_at IS NOT NULL OR EXISTS
       (SELECT FROM ramp.transactions t WHERE t.project_id = i.project_id AND t.intent_id = i.id)) RETURNING id`,
    [id, connectionId, versions],
  );
  return found !== null;
}
