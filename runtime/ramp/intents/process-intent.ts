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
 * to continue. The caller holds the lease as `owner`. When another process steals the lease, the outcome is dropped: that
 * process gets the same answer from the provider.
 */
export async function processLeased<T>(
  ramp: IntentContext,
  projectId: ProjectId,
  leased: Intent,
  owner: string,
  onIdle: OnIdle<T>,
): Promise<T> {
  let intent = leased;
  let progress: Progress = "fresh";
  for (;;) {
    const step = nextStep(intent, progress);
    const outcome = await performStep(ramp, projectId, intent, step);
    progress = outcome.progress ?? progress;
    const recorded = await ramp.database
      .inProject(projectId, (tx) => {
        // Only the lease owner writes, so the intent in memory is the current one.
        assertLease(tx, intent.id, owner);
        return recordOutcome(ramp, tx, intent, step, outcome, progress, onIdle);
      })
      .catch((error: unknown) => afterLeaseLost(ramp, projectId, intent.id, onIdle, error));
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

async function recordOutcome<T>(
  { polling, vault }: IntentContext,
  tx: ProjectTransaction,
  before: Intent,
  step: Step,
  outcome: StepOutcome,
  progress: Progress,
  onIdle: OnIdle<T>,
): Promise<Recorded<T>> {
  const intent = outcome.apply(tx, before);
  if (outcome.reply && !isErased(intent)) recordAnswer(vault, tx, intent.id, step, outcome.reply);
  if (!isDeepStrictEqual(intent.attention, before.attention)) recordAttention(tx, intent);
  if (nextStep(intent, progress) !== "wait") {
    renewLease(tx, intent.id, polling);
    return { intent, idle: null };
  }
  releaseLease(tx, intent, polling);
  return { intent, idle: { value: await onIdle(tx, intent) } };
}

/** Another process has the lease: uses the intent as that process left it. Other errors are thrown on. */
async function afterLeaseLost<T>(
  { database }: IntentContext,
  projectId: ProjectId,
  id: string,
  onIdle: OnIdle<T>,
  error: unknown,
): Promise<Recorded<T>> {
  if (!(error instanceof PreconditionFailed)) throw error;
  return database.inProject(projectId, async (tx) => {
    const intent = await lockIntent(tx, id);
    return { intent, idle: { value: await onIdle(tx, intent) } };
  });
}

async function performStep(
  ramp: IntentContext,
  projectId: ProjectId,
  intent: Intent,
  step: Step,
): Promise<StepOutcome> {
  switch (step) {
    case "wait":
      return { apply: (_tx, current) => current, progress: null };
    case "createPayment":
      return { apply: createPayment, progress: null };
    case "fetchPrice":
    case "startOnboarding":
    case "checkOnboarding":
    case "execute":
    case "withdrawOrder":
    case "checkExecution":
    case "cancelExecution":
    case "refund":
    case "end":
      return callProvider(ramp, projectId, intent, step);
  }
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
  id: string,
  owner: string,
  onIdle: OnIdle<T>,
): Promise<T> {
  const leased = await ramp.database.inProject(projectId, async (tx) => {
    const isLeased = await acquireLease(tx, id, owner, ramp.polling);
    const intent = await readIntent(tx, id);
    if (intent === null) throw new Error(`The intent ${id} does not exist.`);
    return isLeased ? { intent } : { settled: await onIdle(tx, intent) };
  });
  return "settled" in leased ? leased.settled : processLeased(ramp, projectId, leased.intent, owner, onIdle);
}
