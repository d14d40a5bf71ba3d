import type { ProjectTransaction } from "../store/database.js";
import type { Intent } from "./intent.js";
import { isTerminal } from "./status.js";

/**
 * One driver at a time talks to a provider about an intent. Whoever attends to it holds it for a while and writes its name
 * on it; a driver that crashed loses it by time, and is not missed: all that it did is repeated under the same keys.
 */

/** When to look at intents again, in milliseconds. */
export interface Rhythm {
  /** How long a driver holds an intent: longer than its calls may take together. */
  readonly holdMs: number;
  /** How often a provider is asked for news that it did not call back for. */
  readonly complianceMs: number;
  readonly executionMs: number;
  /** Pause after the first call that came to nothing; it doubles up to the limit. */
  readonly setbackMs: number;
  readonly maxSetbackMs: number;
  /** How old an intent may get (decisions.md §B, States). */
  readonly lifetimeMs: number;
}

export const RHYTHM: Rhythm = {
  holdMs: 60_000,
  complianceMs: 60_000,
  executionMs: 15_000,
  setbackMs: 1_000,
  maxSetbackMs: 60_000,
  lifetimeMs: 24 * 60 * 60_000,
};

/** Takes an intent if nobody holds it; whether it did. */
export async function hold(
  tx: ProjectTransaction,
  id: string,
  driver: string,
  { holdMs }: Rhythm,
): Promise<boolean> {
  const now = Date.now();
  const held = await tx.row(
    `UPDATE ramp.intents SET attended_by = $2, attended_until = $3, attend_at = $3
     WHERE id = $1 AND attend_at IS NOT NULL AND (attended_until IS NULL OR attended_until < $4) RETURNING id`,
    [id, driver, new Date(now + holdMs), new Date(now)],
  );
  return held !== null;
}

/** Takes an intent from whoever holds it: for a step that was not there to be done before. Not for one that is at its end. */
export function seize(tx: ProjectTransaction, id: string, driver: string, { holdMs }: Rhythm): void {
  tx.write("UPDATE ramp.intents SET attended_by = $2, attended_until = $3, attend_at = $3 WHERE id = $1", [
    id,
    driver,
    new Date(Date.now() + holdMs),
  ]);
}

/** Sees to it that the driver still holds the intent, until the transaction ends; the transaction is missed if it does not. */
export function keep(tx: ProjectTransaction, id: string, driver: string): void {
  tx.insist("SELECT FROM ramp.intents WHERE id = $1 AND attended_by = $2 FOR UPDATE", [id, driver]);
}

/** Holds a kept intent for another while. */
export function holdOn(tx: ProjectTransaction, id: string, { holdMs }: Rhythm): void {
  tx.write("UPDATE ramp.intents SET attended_until = $2 WHERE id = $1", [id, new Date(Date.now() + holdMs)]);
}

/** Lets an intent go and sets when it is looked at next: never again, once it is at its end. */
export function letGo(tx: ProjectTransaction, intent: Intent, rhythm: Rhythm): void {
  tx.write(
    "UPDATE ramp.intents SET attended_by = NULL, attended_until = NULL, attend_at = $2, setbacks = $3 WHERE id = $1",
    [intent.id, nextLook(intent, rhythm, Date.now()), intent.setbacks],
  );
}

function nextLook(intent: Intent, rhythm: Rhythm, now: number): Date | null {
  if (isTerminal(intent.status)) return null;
  const { setbacks } = intent;
  if (setbacks > 0)
    return new Date(now + Math.min(rhythm.setbackMs * 2 ** Math.min(setbacks - 1, 20), rhythm.maxSetbackMs));
  const pause = pauseOf(intent, rhythm);
  // What outlives its time does so because the provider has the money: it is asked as often as before.
  const expiry = intent.expiresAt.getTime();
  return new Date(expiry > now ? Math.min(now + pause, expiry) : now + pause);
}

/** How long to wait for news of its own accord: a customer who does not pay makes no news. */
function pauseOf({ status, transaction }: Intent, { executionMs, complianceMs, lifetimeMs }: Rhythm): number {
  if (transaction !== null) return executionMs;
  return status === "PENDING_PAYMENT" ? lifetimeMs : complianceMs;
}

/** Has an intent of a connection looked at as soon as somebody can. One that is at its end, or another's, is let be. */
export async function callFor(tx: ProjectTransaction, id: string, connectionId: string): Promise<void> {
  const called = await tx.row(
    `UPDATE ramp.intents SET attend_at = LEAST(attend_at, now())
     WHERE id = $1 AND connection_id = $2 AND attend_at IS NOT NULL RETURNING id`,
    [id, connectionId],
  );
  if (called !== null) enqueueAttention(tx, id);
}

function enqueueAttention(tx: ProjectTransaction, id: string): void {
  tx.write(
    `SELECT ramp.enqueue('attend', json_build_object('projectId', $1::text, 'intentId', $2::text), 'attend:' || $2)`,
    [tx.projectId, id],
  );
}
