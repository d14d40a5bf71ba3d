import { reach } from "../fault/points.js";
import type { Movement } from "../provider/protocol.js";
import type { Reply } from "../provider/provider.js";
import type { ProjectId } from "../project/project.js";
import { Missed, type ProjectTransaction } from "../store/database.js";
import type { Ramp } from "../ramp.js";
import { applyExecution, applyExpiry, applyOnboarding, applyRefusal } from "./apply.js";
import { holdOn, keep, letGo } from "./attention.js";
import type { Intent } from "./intent.js";
import { openTransaction } from "./move.js";
import { lockIntent } from "./read.js";
import { nextStep, type Progress, type Step } from "./step.js";

/** What a driver does in the transaction in which an intent comes to rest, such as storing the answer to a request. */
export type Settle<T> = (tx: ProjectTransaction, intent: Intent) => T;

/**
 * Does what can be done about an intent now: asks the provider with no transaction open, records what it said, and so on
 * until there is nothing left but to wait. The same function serves a request, a callback, the clock and recovery after a
 * crash: what has been recorded says where to go on. The caller holds the intent as `driver` (attention.ts) and knows it as it
 * is; when somebody takes it away meanwhile, what the provider said is left to them, who will be told the same.
 */
export async function drive<T>(
  ramp: Ramp,
  projectId: ProjectId,
  held: Intent,
  driver: string,
  settle: Settle<T>,
): Promise<T> {
  let intent = held;
  let progress: Progress = "fresh";
  for (;;) {
    const step = nextStep(intent, ramp.now(), progress);
    const result = await act(ramp, projectId, intent, step);
    progress = result.progress(progress);
    const recorded = await ramp.database
      .inProject(projectId, (tx) => {
        // Only the holder writes: what is known of an intent that is still held is how it is.
        keep(tx, intent.id, driver);
        return Promise.resolve(recordResult(ramp, tx, result.record(tx, intent), progress, settle));
      })
      .catch((error: unknown) => settleTaken(ramp, projectId, intent.id, settle, error));
    reachRecorded(step);
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
  { now, rhythm }: Ramp,
  tx: ProjectTransaction,
  intent: Intent,
  progress: Progress,
  settle: Settle<T>,
): Recorded<T> {
  if (nextStep(intent, now(), progress) !== "rest") {
    holdOn(tx, intent.id, rhythm);
    return { intent, done: null };
  }
  letGo(tx, intent, rhythm);
  return { intent, done: { value: settle(tx, intent) } };
}

/** Settles with an intent that somebody else has taken, as it is now; any other fault is none of that. */
async function settleTaken<T>(
  { database }: Ramp,
  projectId: ProjectId,
  id: string,
  settle: Settle<T>,
  error: unknown,
): Promise<Recorded<T>> {
  if (!(error instanceof Missed)) throw error;
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

const onlyRecord = (record: Result["record"]): Result => ({ record, progress: (before) => before });

async function act(ramp: Ramp, projectId: ProjectId, intent: Intent, step: Step): Promise<Result> {
  switch (step) {
    case "rest":
      return onlyRecord((_tx, current) => current);
    case "expire":
      return onlyRecord(applyExpiry);
    case "openTransaction":
      return onlyRecord(openTransaction);
    case "startOnboarding":
    case "checkOnboarding":
    case "execute":
    case "checkExecution":
    case "cancelExecution":
      return ask(ramp, projectId, intent, step);
  }
}

type ProviderStep = Exclude<Step, "rest" | "expire" | "openTransaction">;

async function ask(ramp: Ramp, projectId: ProjectId, intent: Intent, step: ProviderStep): Promise<Result> {
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
      reach("onboarding.answered");
      return resultOf(reply, applyOnboarding, true, note(ramp, intent, step));
    }
    case "checkOnboarding":
      return resultOf(await provider.onboarding(intent.id), applyOnboarding, false, note(ramp, intent, step));
    case "execute": {
      const reply = await provider.execute({
        id: transactionId,
        onboardingId: intent.id,
        customerReference: intent.customerReference,
        movement: movementOf(intent),
        callbackUrl,
      });
      reach("execution.answered");
      return resultOf(reply, applyExecution, true, note(ramp, intent, step));
    }
    case "checkExecution":
      return resultOf(
        await provider.execution(transactionId),
        applyExecution,
        false,
        note(ramp, intent, step),
      );
    case "cancelExecution":
      return resultOf(await provider.cancel(transactionId), applyExecution, false, note(ramp, intent, step));
  }
}

/**
 * A refused order ends the intent. A refused question does not: what has been ordered stands, and is asked about again.
 */
function resultOf<T>(
  reply: Reply<T>,
  apply: (tx: ProjectTransaction, intent: Intent, answer: T) => Intent,
  isOrder: boolean,
  noteLost: (reason: string) => void,
): Result {
  switch (reply.kind) {
    case "answer":
      return {
        record: (tx, current) => ({ ...apply(tx, current, reply.value), setbacks: 0 }),
        progress: () => "answered",
      };
    case "refused":
      if (isOrder)
        return {
          record: (tx, current) => applyRefusal(tx, current, reply.message),
          progress: () => "answered",
        };
      return lost(`refused: ${reply.code}`, noteLost);
    case "unavailable":
      return lost(reply.reason, noteLost);
  }
}

function lost(reason: string, noteLost: (reason: string) => void): Result {
  noteLost(reason);
  return {
    record: (_tx, current) => ({ ...current, setbacks: current.setbacks + 1 }),
    progress: () => "lost",
  };
}

function note({ log }: Ramp, { id, connectionId }: Intent, step: ProviderStep): (reason: string) => void {
  return (reason) =>
    log.warn({ intent: id, connection: connectionId, step, reason }, "provider call came to nothing");
}

function movementOf({ type, src, dest, srcAmount, rail }: Intent): Movement {
  return { type, src, dest, srcAmount, rail };
}

function reachRecorded(step: Step): void {
  if (step === "startOnboarding") reach("onboarding.recorded");
  if (step === "openTransaction") reach("execution.opened");
  if (step === "execute") reach("execution.recorded");
}
