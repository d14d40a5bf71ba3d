import { isDeepStrictEqual } from "node:util";
import type { IntentContext } from "./lease.js";
import type { ProjectId } from "../database/id.js";
import { PreconditionFailed, type ProjectTransaction } from "../database/ramp-database.js";
import { failpoint } from "../core/failpoints.js";
import { createPayment, recordAttention } from "./transitions.js";
import { type Intent, isErased, nextStep, type Progress, type Step } from "./intent.js";
import { lockIntent, readIntent } from "./intent-rows.js";
import { acquireLease, assertLease, releaseLease, renewLease } from "./lease.js";
import { recordAnswer } from "./provider-answers.js";
import { callProvider, type StepOutcome } from "./provider-steps.js";

/** Called in the transaction in which an intent becomes idle, for example to store the answer to a request. */
export type OnIdle<T> = (tx: ProjectTransaction, intent: Intent) => T | Promise<T>;

/**
 * Processes an intent until it can only wait: calls the provider with no transaction open and records the outcome, step by
 * step. Requests, callbacks, the scheduler and recovery after a crash all use this function: the recorded state decides where
 * to continue. `leased.leaseOwner` is the caller. When another process steals the lease, the outcome is dropped: that
 * process gets the same answer from the provider.
 */
export async function processLeased<T>(
  ramp: IntentContext,
  projectId: ProjectId,
  leased: Intent,
  onIdle: OnIdle<T>,
): Promise<T> {
  const { database, polling } = ramp;
  let intent = leased;
  let progress: Progress = "fresh";
  for (;;) {
    const before = intent;
    const step = nextStep(before, progress);
    const outcome = await performStep(ramp, projectId, before, step);
    const reached = (progress = outcome.progress ?? progress);
    const recorded = await database
      .inProject(projectId, async (tx) => {
        // Only the lease owner writes, so the intent in memory is the current one.
        assertLease(tx, leased);
        const after = recordOutcome(ramp, tx, before, { step, outcome });
        if (nextStep(after, reached) === "wait") {
          releaseLease(tx, after, polling);
          return idle(tx, after, onIdle);
        }
        renewLease(tx, after.id, polling);
        return { intent: after, idle: null };
      })
      .catch((error: unknown) => {
        if (!(error instanceof PreconditionFailed)) throw error;
        // Another process has the lease: the intent is as that process left it.
        return database.inProject(projectId, async (tx) => idle(tx, await lockIntent(tx, leased.id), onIdle));
      });
    await recordedFailpoint(step);
    if (recorded.idle) return recorded.idle.value;
    intent = recorded.intent;
  }
}

/** An intent as recorded, with the caller's value once it is idle. */
interface Recorded<T> {
  readonly intent: Intent;
  readonly idle: { readonly value: T } | null;
}

async function idle<T>(tx: ProjectTransaction, intent: Intent, onIdle: OnIdle<T>): Promise<Recorded<T>> {
  return { intent, idle: { value: await onIdle(tx, intent) } };
}

function recordOutcome(
  { vault }: IntentContext,
  tx: ProjectTransaction,
  before: Intent,
  { step, outcome }: { readonly step: Step; readonly outcome: StepOutcome },
): Intent {
  const intent = outcome.apply(tx, before);
  if (outcome.reply && !isErased(intent))
    recordAnswer(tx, vault, { intentId: intent.id, operation: step, answer: outcome.reply });
  if (!isDeepStrictEqual(intent.attention, before.attention)) recordAttention(tx, intent);
  return intent;
}

async function performStep(
  ramp: IntentContext,
  projectId: ProjectId,
  intent: Intent,
  step: Step,
): Promise<StepOutcome> {
  if (step === "wait") return { apply: (_tx, current) => current, progress: null };
  if (step === "createPayment") return { apply: createPayment, progress: null };
  return callProvider(ramp, projectId, intent, step);
}

function recordedFailpoint(step: Step): Promise<void> | undefined {
  if (step === "startOnboarding") return failpoint("onboarding.recorded");
  if (step === "createPayment") return failpoint("execution.opened");
  if (step === "execute") return failpoint("execution.recorded");
  return undefined;
}

/** Processes an intent if its lease is free; calls `onIdle` with its present state otherwise. */
export async function processIfFree<T>(
  ramp: IntentContext,
  projectId: ProjectId,
  { id, owner }: { readonly id: string; readonly owner: string },
  onIdle: OnIdle<T>,
): Promise<T> {
  const leased = await ramp.database.inProject(projectId, async (tx) => {
    const isLeased = await acquireLease(tx, id, owner, ramp.polling);
    const intent = await readIntent(tx, id);
    if (intent === null) throw new Error(`The intent ${id} does not exist.`);
    return isLeased ? { intent } : { settled: await onIdle(tx, intent) };
  });
  return "settled" in leased ? leased.settled : processLeased(ramp, projectId, leased.intent, onIdle);
}
