import { failpoint } from "../failpoints.js";
import type { Movement, ProviderReply } from "../providers/protocol.js";
import { type ProjectId, newId } from "../database/id.js";
import { PreconditionFailed, type ProjectTransaction } from "../database/ramp-database.js";
import type { RampContext } from "../context.js";
import { applyExecution, applyExpiry, applyOnboarding, applyRefusal } from "./apply-reply.js";
import { renewLease, assertLease, releaseLease, acquireLease } from "./lease.js";
import { type Intent, nextStep, type Progress, type Step } from "./intent.js";
import { createPayment } from "./transitions.js";
import { lockIntent, readIntent } from "./intent-rows.js";
import { setTimeout as sleep } from "node:timers/promises";
/** What a driver does in the transaction in which an intent comes to rest, such as storing the answer to a request. */
export type OnIdle<T> = (tx: ProjectTransaction, intent: Intent) => T;

/**
 * Does what can be done about an intent now: asks the provider with no transaction open, records what it said, and so on
 * until there is nothing left but to wait. The same function serves a request, a callback, the clock and recovery after a
 * crash: what has been recorded says where to go on. The caller holds the intent as `driver` (attention.ts) and knows it as it
 * is; when somebody takes it away meanwhile, what the provider said is left to them, who will be told the same.
 */
export async function processLeased<T>(
  ramp: RampContext,
  projectId: ProjectId,
  held: Intent,
  driver: string,
  settle: OnIdle<T>,
): Promise<T> {
  let intent = held;
  let progress: Progress = "fresh";
  for (;;) {
    const step = nextStep(intent, ramp.now(), progress);
    const result = await performStep(ramp, projectId, intent, step);
    progress = result.progress(progress);
    const recorded = await ramp.database
      .inProject(projectId, (tx) => {
        // Only the holder writes: what is known of an intent that is still held is how it is.
        assertLease(tx, intent.id, driver);
        return Promise.resolve(recordResult(ramp, tx, result.record(tx, intent), progress, settle));
      })
      .catch((error: unknown) => onLeaseLost(ramp, projectId, intent.id, settle, error));
    recordedFailpoint(step);
    if (recorded.done) return recorded.done.value;
    intent = recorded.intent;
  }
}

/** An intent as it was recorded, and what it was settled with if it has come to rest. */
interface Recorded<T> {
  readonly intent: Intent;
  readonly done: { readonly value: T } | null;
}

function recordResult<T>(
  { now, polling }: RampContext,
  tx: ProjectTransaction,
  intent: Intent,
  progress: Progress,
  settle: OnIdle<T>,
): Recorded<T> {
  if (nextStep(intent, now(), progress) !== "rest") {
    renewLease(tx, intent.id, polling);
    return { intent, done: null };
  }
  releaseLease(tx, intent, polling);
  return { intent, done: { value: settle(tx, intent) } };
}

/** Settles with an intent that somebody else has taken, as it is now; any other fault is none of that. */
async function onLeaseLost<T>(
  { database }: RampContext,
  projectId: ProjectId,
  id: string,
  settle: OnIdle<T>,
  error: unknown,
): Promise<Recorded<T>> {
  if (!(error instanceof PreconditionFailed)) throw error;
  return database.inProject(projectId, async (tx) => {
    const intent = await lockIntent(tx, id);
    return { intent, done: { value: settle(tx, intent) } };
  });
}

/** What a step has brought, ready to be recorded. */
interface Result {
  record(tx: ProjectTransaction, intent: Intent): Intent;
  progress(before: Progress): Progress;
}

const withoutCall = (record: Result["record"]): Result => ({ record, progress: (before) => before });

async function performStep(
  ramp: RampContext,
  projectId: ProjectId,
  intent: Intent,
  step: Step,
): Promise<Result> {
  switch (step) {
    case "rest":
      return withoutCall((_tx, current) => current);
    case "expire":
      return withoutCall(applyExpiry);
    case "openTransaction":
      return withoutCall(createPayment);
    case "startOnboarding":
    case "checkOnboarding":
    case "execute":
    case "checkExecution":
    case "cancelExecution":
      return callProvider(ramp, projectId, intent, step);
  }
}

type ProviderStep = Exclude<Step, "rest" | "expire" | "openTransaction">;

async function callProvider(
  ramp: RampContext,
  projectId: ProjectId,
  intent: Intent,
  step: ProviderStep,
): Promise<Result> {
  const { provider, callbackUrl } = await ramp.providers.get(projectId, intent.connectionId);
  const transactionId = intent.transaction?.id ?? "";
  switch (step) {
    case "startOnboarding": {
      const { id, customerReference, wallets } = intent;
      const order = {
        id,
        customerReference,
        wallets: [...wallets],
        movement: movementOf(intent),
        callbackUrl,
      };
      const reply = await provider.startOnboarding(order);
      failpoint("onboarding.answered");
      return resultOfReply(reply, applyOnboarding, true, logUnanswered(ramp, intent, step));
    }
    case "checkOnboarding":
      return resultOfReply(
        await provider.onboarding(intent.id),
        applyOnboarding,
        false,
        logUnanswered(ramp, intent, step),
      );
    case "execute": {
      const reply = await provider.execute({
        id: transactionId,
        onboardingId: intent.id,
        customerReference: intent.customerReference,
        movement: movementOf(intent),
        callbackUrl,
      });
      failpoint("execution.answered");
      return resultOfReply(reply, applyExecution, true, logUnanswered(ramp, intent, step));
    }
    case "checkExecution":
      return resultOfReply(
        await provider.execution(transactionId),
        applyExecution,
        false,
        logUnanswered(ramp, intent, step),
      );
    case "cancelExecution":
      return resultOfReply(
        await provider.cancel(transactionId),
        applyExecution,
        false,
        logUnanswered(ramp, intent, step),
      );
  }
}

/**
 * A refused order ends the intent. A refused question does not: what has been ordered stands, and is asked about again.
 */
function resultOfReply<T>(
  reply: ProviderReply<T>,
  apply: (tx: ProjectTransaction, intent: Intent, answer: T) => Intent,
  isOrder: boolean,
  noteLost: (reason: string) => void,
): Result {
  switch (reply.kind) {
    case "answer":
      return {
        record: (tx, current) => ({ ...apply(tx, current, reply.value), failedAttempts: 0 }),
        progress: () => "answered",
      };
    case "refused":
      if (isOrder)
        return {
          record: (tx, current) => applyRefusal(tx, current, reply.message),
          progress: () => "answered",
        };
      return unanswered(`refused: ${reply.code}`, noteLost);
    case "unavailable":
      return unanswered(reply.reason, noteLost);
  }
}

function unanswered(reason: string, noteLost: (reason: string) => void): Result {
  noteLost(reason);
  return {
    record: (_tx, current) => ({ ...current, failedAttempts: current.failedAttempts + 1 }),
    progress: () => "lost",
  };
}

function logUnanswered(
  { log }: RampContext,
  { id, connectionId }: Intent,
  step: ProviderStep,
): (reason: string) => void {
  return (reason) =>
    log.warn({ intent: id, connection: connectionId, step, reason }, "provider call came to nothing");
}

function movementOf({ type, src, dest, srcAmount, rail }: Intent): Movement {
  return { type, src, dest, srcAmount, rail };
}

function recordedFailpoint(step: Step): void {
  if (step === "startOnboarding") failpoint("onboarding.recorded");
  if (step === "openTransaction") failpoint("execution.opened");
  if (step === "execute") failpoint("execution.recorded");
}

/** A holder is at work for moments: whoever was called for news waits for it, lest the news be missed. */
const LEASE_RETRY_MS = 250;
const LEASE_ATTEMPTS = 8;

/** Does what can be done about an intent, as soon as nobody else is at it. */
export async function processIntent(ramp: RampContext, projectId: ProjectId, id: string): Promise<void> {
  const driver = newId();
  for (let tries = 0; tries < LEASE_ATTEMPTS; tries++) {
    const [isHeld, intent] = await ramp.database.inProject(projectId, (tx) =>
      Promise.all([acquireLease(tx, id, driver, ramp.polling), readIntent(tx, id)]),
    );
    if (intent === null) return;
    if (isHeld) return processLeased(ramp, projectId, intent, driver, () => undefined);
    // Neither free nor held: it is at its end.
    if (intent.leaseOwner === null) return;
    await sleep(LEASE_RETRY_MS);
  }
}
