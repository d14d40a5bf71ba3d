import type { IntentContext } from "./lease.js";
import { orderIdOf } from "../database/id.js";
import type { ProjectTransaction } from "../database/transaction.js";
import {
  cancel,
  cancelRefund,
  execute,
  executionId,
  orderedRefund,
  refund,
  sendTravelRule,
  startOnboarding,
  transactionId,
  withdraw,
} from "./provider-calls.js";
import { checkedExecution, reporter } from "../providers/check-reply.js";
import type { Execution, Onboarding } from "../providers/protocol.js";
import { fetchPrice } from "../providers/quotes.js";
import { type NoAnswer, type ProviderReply, reasonOf } from "../providers/provider.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import { adoptOrder, applyEnd, applyExecution, applyRefusal, applyWithdrawal } from "./apply-reply.js";
import { applyOnboarding } from "./apply-onboarding.js";
import { unacknowledged } from "./attention.js";
import { changeRefund, failRefund } from "./apply-refunds.js";
import type { IntentRefund } from "./refund.js";
import { canRefundMove } from "./refund-transitions.js";
import { makePayment, termsOf } from "./payment.js";
import {
  afterOrderRefusal,
  type AfterRefusal,
  afterRefusal,
  nextOrder,
  renewedPrice,
} from "./refused-onboarding.js";
import type { ProviderAnswer, ProviderStep } from "./provider-answers.js";
import { clearRefusal } from "./transitions.js";
import { recordSent, recordTravelRuleRefusal } from "./travel-rules.js";
import { type AttentionReason, type Intent, isTerminal, type Progress, type Step } from "./intent.js";

/** The result of a step, ready to be recorded. */
export interface StepOutcome {
  readonly apply: (tx: ProjectTransaction, intent: Intent) => Intent;
  /** Null: as before the step. */
  readonly progress: Progress | null;
  readonly answer?: ProviderAnswer;
}

/** A step of an intent at its provider. */
interface ProviderCall {
  readonly ramp: IntentContext;
  readonly intent: Intent;
  readonly step: ProviderStep;
  readonly connection: ProviderConnection;
}

/** Calls the provider for one step. No transaction is open. */
export async function callProvider(
  ramp: IntentContext,
  intent: Intent,
  step: ProviderStep,
): Promise<StepOutcome> {
  return STEPS[step]({ ramp, intent, step, connection: await ramp.providers.get(intent) });
}

type PerformStep = (call: ProviderCall) => Promise<StepOutcome>;

/** A step that calls the provider, and makes its outcome of the reply. */
function step<T>(
  send: (intent: Intent, connection: ProviderConnection, ramp: IntentContext) => Promise<ProviderReply<T>>,
  outcomeOf: (call: ProviderCall, reply: ProviderReply<T>) => StepOutcome | Promise<StepOutcome>,
): PerformStep {
  return async (call) => {
    const reply = await send(call.intent, call.connection, call.ramp);
    return { ...(await outcomeOf(call, reply)), answer: { operation: call.step, reply } };
  };
}

const STEPS: Readonly<Record<ProviderStep, PerformStep>> = {
  startOnboarding: step(startOnboarding, onboardingOutcome),
  checkOnboarding: step(({ id }, { provider }) => provider.onboarding(id), onboardingOutcome),
  sendTravelRule: step(sendTravelRule, travelRuleOutcome),
  renewPrice: (call) => reordered(renewedPrice(call.ramp, call.connection, call.intent)),
  chooseNext: (call) => reordered(nextOrder(call.ramp, call.intent)),
  makePayment: paymentOutcome,
  execute: step(execute, executionOutcome),
  withdrawOrder: step(withdraw, withdrawalOutcome),
  checkExecution: step((intent, { provider }) => provider.execution(executionId(intent)), executionOutcome),
  cancelExecution: step(cancel, executionOutcome),
  refund: step(refund, refundOutcome),
  cancelRefund: step(cancelRefund, refundCancelOutcome),
  end: step(({ id }, { provider }) => provider.execution(orderIdOf(id)), endOutcome),
};

const NO_PRICE = { kind: "unavailable", reason: "no valid quote", isOutage: false } as const;

async function paymentOutcome(call: ProviderCall): Promise<StepOutcome> {
  const terms = await termsOf(call.ramp, call.intent);
  if (terms === null) return unanswered(call, NO_PRICE);
  return { ...answered((tx, current) => makePayment(tx, current, terms) ?? current), progress: null };
}

/** Adopts an order that the provider has, at the intent's price, or at one of now. */
async function adoptionOutcome(call: ProviderCall): Promise<StepOutcome> {
  const { ramp, intent, connection } = call;
  const price = intent.price ?? (await fetchPrice(ramp, connection, intent))?.price ?? null;
  if (price === null) return unanswered(call, NO_PRICE);
  return { ...answered((tx, current) => adoptOrder(tx, current, price)), progress: null };
}

/**
 * An intent without an order ends only where its provider has none either: its id is derived from the intent, so one that a
 * restore lost is found by it. Else a paid intent could end as CANCELLED.
 */
async function endOutcome(call: ProviderCall, reply: ProviderReply<Execution>): Promise<StepOutcome> {
  if (reply.kind === "unknown") return answered(applyEnd);
  return reply.kind === "answer" ? adoptionOutcome(call) : unanswered(call, reply);
}

function onboardingOutcome(call: ProviderCall, reply: ProviderReply<Onboarding>): StepOutcome {
  if (reply.kind === "refused" && call.step === "startOnboarding")
    return refusedOutcome(afterRefusal(call.intent, reply));
  if (reply.kind !== "answer") return unanswered(call, reply);
  if (reply.value.id !== call.intent.id) return otherOrder(call);
  return answered((tx, current) => applyOnboarding(tx, clearRefusal(tx, current), reply.value));
}

function travelRuleOutcome(call: ProviderCall, reply: ProviderReply<Onboarding>): StepOutcome {
  if (reply.kind === "refused")
    return answered((tx, current) => recordTravelRuleRefusal(tx, current, reply.message));
  if (reply.kind !== "answer") return unanswered(call, reply);
  if (reply.value.id !== call.intent.id) return otherOrder(call);
  return answered((tx, current) => applyOnboarding(tx, recordSent(tx, current), reply.value));
}

/** A refusal is an answer: what waits for a price, or for the end of a maintenance, needs no operator. */
function refusedOutcome({ apply, isDue }: AfterRefusal): StepOutcome {
  if (isDue) return { ...answered(apply), progress: null };
  return paused(apply);
}

/** Goes on after a pause, which grows as after failed attempts. */
function paused(apply: StepOutcome["apply"] = (_tx, current) => current): StepOutcome {
  return {
    apply: (tx, current) => {
      const applied = apply(tx, endSeries(current));
      return { ...applied, failedAttempts: current.failedAttempts + 1 };
    },
    progress: "unanswered",
  };
}

/** Sends the order again, otherwise, or offers what it would be; null: not now. */
async function reordered(order: Promise<StepOutcome["apply"] | null>): Promise<StepOutcome> {
  const apply = await order;
  return apply === null ? paused() : { apply, progress: null };
}

function executionOutcome(call: ProviderCall, reply: ProviderReply<Execution>): StepOutcome {
  const { ramp, intent, connection } = call;
  // An order that ended without money may be forgotten.
  if (reply.kind === "unknown" && endedWithoutMoney(intent)) return answered((_tx, current) => current);
  if (reply.kind === "unknown" && intent.transaction?.status !== "PENDING") return unknownOrder();
  if (reply.kind !== "answer") return unanswered(call, reply);
  if (reply.value.id !== executionId(intent)) return otherOrder(call);
  const requested = {
    src: ramp.currencies.get(intent.src.currencyCode),
    dest: ramp.currencies.get(intent.dest.currencyCode),
    srcAmount: intent.srcAmount,
    rails: [intent.rail],
    receipt: intent.transaction?.receipt ?? null,
  };
  const price = intent.price && { ...intent.price, heldTolerance: connection.amountTolerance };
  const execution = checkedExecution(reply.value, requested, price, reporter(ramp, { intent: intent.id }));
  const { status } = execution;
  const isTaken = call.step === "execute" || (status !== "FAILED" && status !== "CANCELLED");
  return answered((tx, current) =>
    applyExecution(tx, isTaken ? clearRefusal(tx, current) : current, execution),
  );
}

function endedWithoutMoney({ status, transaction }: Intent): boolean {
  return isTerminal(status) && transaction?.status !== "SUCCESS" && transaction?.status !== "REFUNDED";
}

function withdrawalOutcome(call: ProviderCall, reply: ProviderReply<Execution>): StepOutcome {
  const isWithdrawn =
    reply.kind === "unknown" ||
    (reply.kind === "answer" &&
      reply.value.id === transactionId(call.intent) &&
      reply.value.status === "CANCELLED");
  return isWithdrawn ? answered(applyWithdrawal) : executionOutcome(call, reply);
}

/** An answer knows the order. */
function answered(apply: StepOutcome["apply"]): StepOutcome {
  return {
    apply: (tx, current) => apply(tx, withoutAttention(current, ["UNKNOWN_ORDER"])),
    progress: "answered",
  };
}

/** Ends a series of failed attempts: a run whose last call was answered. One answer between failures does not. */
export function endSeries(intent: Intent): Intent {
  return { ...withoutAttention(intent, ["PROVIDER_FAILS", "INVALID_ANSWER"]), failedAttempts: 0 };
}

function withoutAttention(intent: Intent, reasons: readonly AttentionReason[]): Intent {
  const cleared: ReadonlySet<string> = new Set(reasons);
  const kept = Object.entries(intent.attention).filter(([reason]) => !cleared.has(reason));
  return { ...intent, attention: Object.fromEntries(kept) };
}

/** An order that the provider had and no longer knows. */
function unknownOrder(): StepOutcome {
  return answered((_tx, current) => {
    const seen = { UNKNOWN_ORDER: current.transaction?.id };
    return { ...current, attention: { ...current.attention, ...unacknowledged(current, seen) } };
  });
}

/** A refund that the provider answers is taken; what it lists is applied. A refused one needs attention. */
function refundOutcome(call: ProviderCall, reply: ProviderReply<Execution>): StepOutcome {
  if (reply.kind === "refused")
    return answered((tx, current) => {
      const refund = stillOrdered(call, current);
      return refund === null ? current : failRefund(tx, current, refund, reply.message);
    });
  return answeredRefund(call, reply, (tx, current, refund) =>
    canRefundMove(refund.status, "PENDING")
      ? changeRefund(tx, current, { ...refund, status: "PENDING" })
      : current,
  );
}

/** A refused cancel: the provider carries the refund out. An answered one: it is cancelled, unless the list says otherwise. */
function refundCancelOutcome(call: ProviderCall, reply: ProviderReply<Execution>): StepOutcome {
  const withoutWish = (tx: ProjectTransaction, current: Intent): Intent => {
    const refund = stillOrdered(call, current);
    return refund === null ? current : changeRefund(tx, current, { ...refund, isCancelRequested: false });
  };
  if (reply.kind === "refused") return answered(withoutWish);
  const { id, providerId } = orderedRefund(call.intent);
  const list = reply.kind === "answer" ? (reply.value.refunds ?? []) : [];
  const isListed = list.some((item) => [id, providerId].includes(item.id) || item.orderId === id);
  return answeredRefund(call, reply, (tx, current, refund) =>
    isListed
      ? withoutWish(tx, current)
      : changeRefund(tx, current, { ...refund, status: "CANCELLED", isCancelRequested: false }),
  );
}

/** What an answer about a refund says beside the refund is applied after it. No answer leaves the refund to the next attempt. */
function answeredRefund(
  call: ProviderCall,
  reply: ProviderReply<Execution>,
  apply: (tx: ProjectTransaction, intent: Intent, refund: IntentRefund) => Intent,
): StepOutcome {
  const outcome = executionOutcome(call, reply);
  if (outcome.progress !== "answered" || reply.kind !== "answer")
    return { ...outcome, progress: "unanswered" };
  return {
    ...outcome,
    apply: (tx, current) => {
      const refund = stillOrdered(call, current);
      return outcome.apply(tx, refund === null ? current : apply(tx, current, refund));
    },
  };
}

function stillOrdered({ intent }: ProviderCall, current: Intent): IntentRefund | null {
  const { id } = orderedRefund(intent);
  return current.refunds.find((refund) => refund.id === id) ?? null;
}

function otherOrder(call: ProviderCall): StepOutcome {
  reporter(call.ramp, { intent: call.intent.id })("id", "the answer is about another order");
  return unanswered(call, { kind: "invalid", reason: "answer about another order" });
}

/** An answer that does not match the protocol holds its intent alone, under attention at once. */
function held(intent: Intent, problem: string): Intent {
  const seen = unacknowledged(intent, { INVALID_ANSWER: problem });
  return { ...intent, attention: { ...intent.attention, ...seen } };
}

/** What the database refuses to record would be refused again at each attempt: the operator sees it, and the next attempts wait. */
export function unrecorded(
  { log }: IntentContext,
  { id, connectionId }: Intent,
  {
    step,
    outcome: { answer },
    refusal,
  }: { readonly step: Step; readonly outcome: StepOutcome; readonly refusal: string },
): StepOutcome {
  log.error({ intent: id, connection: connectionId, step, reason: refusal }, "provider answer not recorded");
  const problem = `${step}: the database refuses to record the answer (${refusal})`;
  return {
    apply: (_tx, current) => held({ ...current, failedAttempts: current.failedAttempts + 1 }, problem),
    progress: "unanswered",
    ...(answer && { answer }),
  };
}

/** Only a refused order ends an intent. All other failures are tried again; after some attempts the intent needs attention. */
function unanswered({ ramp: { log, polling }, intent, step }: ProviderCall, reply: NoAnswer): StepOutcome {
  if (reply.kind === "refused" && step === "execute") {
    const after = afterOrderRefusal(intent, reply);
    return after === null
      ? answered((tx, current) => applyRefusal(tx, current, reply.message))
      : refusedOutcome(after);
  }
  const { id, connectionId } = intent;
  const reason = reasonOf(reply);
  log.warn({ intent: id, connection: connectionId, step, reason }, "provider call failed");
  return {
    apply: (_tx, current) => {
      const failedAttempts = current.failedAttempts + 1;
      if (reply.kind === "invalid") return held({ ...current, failedAttempts }, `${step}: ${reason}`);
      // An end that the operator recorded stands without the provider.
      const isResolved = isTerminal(current.status) && current.acknowledged.PROVIDER_FAILS !== undefined;
      if (failedAttempts < polling.attentionAfter || isResolved) return { ...current, failedAttempts };
      const { PROVIDER_FAILS = `${step}: ${reason}` } = current.attention;
      return { ...current, failedAttempts, attention: { ...current.attention, PROVIDER_FAILS } };
    },
    progress: "unanswered",
  };
}
