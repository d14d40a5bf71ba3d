import { reach } from "../fault/points.js";
import type { Movement } from "../provider/protocol.js";
import type { Reply } from "../provider/provider.js";
import type { ProjectId } from "../project/project.js";
import type { ProjectTransaction } from "../store/database.js";
import type { Ramp } from "../ramp.js";
import { walletIssuer } from "../token/wallet.js";
import { applyExecution, applyExpiry, applyOnboarding, applyRefusal } from "./apply.js";
import { letGo } from "./attention.js";
import type { Intent } from "./intent.js";
import { openTransaction } from "./move.js";
import { lockIntent } from "./read.js";
import { nextStep, type Progress, type Step } from "./step.js";

/** What a driver does in the transaction in which an intent comes to rest, such as storing the answer to a request. */
export type Settle<T> = (tx: ProjectTransaction, intent: Intent) => Promise<T>;

/**
 * Does what can be done about an intent now: asks the provider with no transaction open, records what it said, and so on
 * until there is nothing left but to wait. The same function serves a request, a callback, the clock and recovery after a
 * crash: what has been recorded says where to go on. The caller holds the intent as `driver` (attention.ts).
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
    const apply = await act(ramp, projectId, intent, step);
    const recorded = await ramp.database.inProject(projectId, async (tx) => {
      const current = await lockIntent(tx, intent.id);
      const applied = await apply.record(tx, current);
      const next = nextStep(applied, ramp.now(), apply.progress(progress));
      const isMine = applied.attendedBy === driver;
      if (isMine && next !== "rest") return { intent: applied, done: null };
      if (isMine) await letGo(tx, applied, ramp.rhythm);
      return { intent: applied, done: { value: await settle(tx, applied) } };
    });
    reachRecorded(step);
    if (recorded.done) return recorded.done.value;
    intent = recorded.intent;
    progress = apply.progress(progress);
  }
}

/** What a step has brought, ready to be recorded. */
interface Result {
  record(tx: ProjectTransaction, intent: Intent): Promise<Intent>;
  progress(before: Progress): Progress;
}

const onlyRecord = (record: Result["record"]): Result => ({ record, progress: (before) => before });

async function act(ramp: Ramp, projectId: ProjectId, intent: Intent, step: Step): Promise<Result> {
  switch (step) {
    case "rest":
      return onlyRecord((_tx, current) => Promise.resolve(current));
    case "expire":
      return onlyRecord(expireUnpaid);
    case "openTransaction":
      return onlyRecord(openOnce);
    case "startOnboarding":
    case "checkOnboarding":
    case "execute":
    case "checkExecution":
    case "cancelExecution":
      return ask(ramp, projectId, intent, step);
  }
}

/** Somebody may have opened the transaction since: then its provider has a say in the expiry. */
function expireUnpaid(tx: ProjectTransaction, current: Intent): Promise<Intent> {
  return current.transaction === null ? applyExpiry(tx, current) : Promise.resolve(current);
}

function openOnce(tx: ProjectTransaction, current: Intent): Promise<Intent> {
  const isOpenable = current.transaction === null && current.status === "PENDING_PAYMENT";
  return isOpenable ? openTransaction(tx, current) : Promise.resolve(current);
}

type ProviderStep = Exclude<Step, "rest" | "expire" | "openTransaction">;

async function ask(ramp: Ramp, projectId: ProjectId, intent: Intent, step: ProviderStep): Promise<Result> {
  const { provider, callbackUrl } = await ramp.providers.get(projectId, intent.connectionId);
  const transactionId = intent.transaction?.id ?? "";
  switch (step) {
    case "startOnboarding": {
      const { reference, wallets } = await ramp.database.inProject(projectId, (tx) => readHolder(tx, intent.customerId, walletIssuer(ramp.publicUrl)));
      const order = { id: intent.id, customerReference: reference, wallets, movement: movementOf(intent), callbackUrl };
      const reply = await provider.startOnboarding(order);
      reach("onboarding.answered");
      return resultOf(reply, applyOnboarding, true, note(ramp, intent, step));
    }
    case "checkOnboarding":
      return resultOf(await provider.onboarding(intent.id), applyOnboarding, false, note(ramp, intent, step));
    case "execute": {
      const { reference } = await ramp.database.inProject(projectId, (tx) => readHolder(tx, intent.customerId, walletIssuer(ramp.publicUrl)));
      const reply = await provider.execute({
        id: transactionId,
        onboardingId: intent.id,
        customerReference: reference,
        movement: movementOf(intent),
        callbackUrl,
      });
      reach("execution.answered");
      return resultOf(reply, applyExecution, true, note(ramp, intent, step));
    }
    case "checkExecution":
      return resultOf(await provider.execution(transactionId), applyExecution, false, note(ramp, intent, step));
    case "cancelExecution":
      return resultOf(await provider.cancel(transactionId), applyExecution, false, note(ramp, intent, step));
  }
}

/**
 * A refused order ends the intent. A refused question does not: what has been ordered stands, and is asked about again.
 */
function resultOf<T>(
  reply: Reply<T>,
  apply: (tx: ProjectTransaction, intent: Intent, answer: T) => Promise<Intent>,
  isOrder: boolean,
  noteLost: (reason: string) => void,
): Result {
  switch (reply.kind) {
    case "answer":
      return {
        record: async (tx, current) => ({ ...(await apply(tx, current, reply.value)), setbacks: 0 }),
        progress: () => "answered",
      };
    case "refused":
      if (isOrder) return { record: (tx, current) => applyRefusal(tx, current, reply.message), progress: () => "answered" };
      return lost(`refused: ${reply.code}`, noteLost);
    case "unavailable":
      return lost(reply.reason, noteLost);
  }
}

function lost(reason: string, noteLost: (reason: string) => void): Result {
  noteLost(reason);
  return {
    record: (_tx, current) => Promise.resolve({ ...current, setbacks: current.setbacks + 1 }),
    progress: () => "lost",
  };
}

function note({ log }: Ramp, { id, connectionId }: Intent, step: ProviderStep): (reason: string) => void {
  return (reason) => log.warn({ intent: id, connection: connectionId, step, reason }, "provider call came to nothing");
}

interface Holder {
  readonly reference: string;
  readonly wallets: string[];
}

/** What a provider is told of the customer. */
async function readHolder(tx: ProjectTransaction, customerId: string, issuer: string): Promise<Holder> {
  const holder = await tx.row<{ reference: string; wallets: string[] }>(
    `SELECT reference, ARRAY(SELECT subject FROM ramp.customer_identities w
       WHERE w.customer_id = c.id AND w.issuer = $2) AS wallets
     FROM ramp.customers c WHERE id = $1`,
    [customerId, issuer],
  );
  if (holder === null) throw new Error("The intent's customer does not exist.");
  return holder;
}

function movementOf({ type, src, dest, srcAmount, rail }: Intent): Movement {
  return { type, src, dest, srcAmount, rail };
}

function reachRecorded(step: Step): void {
  if (step === "startOnboarding") reach("onboarding.recorded");
  if (step === "openTransaction") reach("execution.opened");
  if (step === "execute") reach("execution.recorded");
}
