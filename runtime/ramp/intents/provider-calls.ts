import { failpoint } from "../core/failpoints.js";
import type { IntentContext } from "./lease.js";
import type { Execution, Onboarding } from "../providers/protocol.js";
import { TRAVEL_RULE } from "../providers/travel-rule.js";
import { readTravelRule } from "./travel-rules.js";
import { type NoAnswer, type ProviderReply, reasonOf } from "../providers/provider.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import type { Intent } from "./intent.js";
import { type IntentRefund, openRefund } from "./refund.js";

/** The calls of steps that take more than one request, or that tests crash after. */

export async function startOnboarding(
  { id, onboardingOrder, onboardingAttempt }: Intent,
  { provider }: ProviderConnection,
) {
  if (onboardingOrder === null) throw new Error("The intent has no onboarding order.");
  const reply = await provider.startOnboarding(id, onboardingOrder, onboardingAttempt);
  await failpoint("onboarding.answered");
  if (reply.kind === "answer") return reply;
  return confirmed(reply, await provider.onboarding(id));
}

/** What is stored when it is sent. Deleted meanwhile, nothing is sent, and the customer is asked. */
export async function sendTravelRule(
  intent: Intent,
  { provider }: ProviderConnection,
  { database, vault }: IntentContext,
): Promise<ProviderReply<Onboarding>> {
  const fields = await database.inProject(intent.projectId, (tx) => readTravelRule(tx, vault, intent));
  return fields === null
    ? provider.onboarding(intent.id)
    : provider.submit(intent.id, TRAVEL_RULE, { fields });
}

export async function execute({ transaction }: Intent, { provider }: ProviderConnection) {
  if (!transaction?.orderBody) throw new Error("The intent has no order.");
  const { id, orderBody, orderAttempt } = transaction;
  const reply = await provider.execute(id, orderBody, orderAttempt);
  await failpoint("execution.answered");
  if (reply.kind === "answer") return reply;
  const final = confirmed(reply, await provider.execution(id));
  await failpoint("execution.confirmed");
  return final;
}

/**
 * Cancels a refused order, so that an earlier copy of it that is still on its way is never carried out. `unknown`: the provider
 * has no such order. A provider that refuses to cancel has carried it out: its state counts.
 */
export async function withdraw(
  intent: Intent,
  { provider }: ProviderConnection,
): Promise<ProviderReply<Execution>> {
  const id = transactionId(intent);
  const reply = await provider.cancel(id);
  await failpoint("execution.withdrawn");
  if (reply.kind === "answer" || reply.kind === "unknown") return reply;
  const found = await provider.execution(id);
  return found.kind === "answer" ? found : unavailable(reply);
}

/**
 * The reply to an order, settled by a look-up: an order counts as refused only when the provider has none of this id
 * (runtime/ramp/docs/provider-protocol.md).
 */
function confirmed<T>(order: NoAnswer, found: ProviderReply<T>): ProviderReply<T> {
  if (found.kind === "answer") return found;
  if (found.kind === "unknown" && order.kind === "refused") return order;
  return found.kind === "invalid" && order.kind !== "invalid" ? found : unavailable(order);
}

/** What decides nothing. */
function unavailable(reply: NoAnswer) {
  return reply.kind === "invalid"
    ? reply
    : ({ kind: "unavailable", reason: reasonOf(reply), isOutage: false } as const);
}

/** Cancels an expired payment. A provider that refuses is carrying it out: its state is followed to the end. */
export async function cancel(
  intent: Intent,
  { provider }: ProviderConnection,
): Promise<ProviderReply<Execution>> {
  const id = executionId(intent);
  const reply = await provider.cancel(id);
  await failpoint("cancel.answered");
  if (reply.kind === "answer") return reply;
  const found = await provider.execution(id);
  if (found.kind === "answer") return found;
  if (reply.kind !== "unknown" || found.kind !== "unknown") return unavailable(reply);
  // An order that the provider had and no longer knows has not ended: it needs an operator.
  return intent.transaction?.status === "PENDING" ? { kind: "answer", value: neverOrdered(intent) } : found;
}

function neverOrdered(intent: Intent): Execution {
  const { id, providerReference } = intent.transaction ?? { id: "", providerReference: null };
  const reference = providerReference ?? id;
  return { id, reference, status: "CANCELLED", failureReason: null, instructions: [] };
}

/** What the provider knows the payment by: the order's id, or its own of a payment that arrived at a deposit account. */
export function executionId(intent: Intent): string {
  return intent.depositId ?? transactionId(intent);
}

export function transactionId({ transaction }: Intent): string {
  if (transaction === null) throw new Error("The intent has no transaction.");
  return transaction.id;
}

export async function refund(intent: Intent, { provider }: ProviderConnection) {
  const { id, amount, reason } = orderedRefund(intent);
  const reply = await provider.refund(executionId(intent), { id, amount, reason });
  await failpoint("refund.answered");
  return reply;
}

/** A provider that refuses is carrying it out: its state is followed to the end. */
export function cancelRefund(intent: Intent, { provider }: ProviderConnection) {
  const { id, providerId } = orderedRefund(intent);
  return provider.cancelRefund(executionId(intent), providerId ?? id);
}

export function orderedRefund(intent: Intent): IntentRefund {
  const request = openRefund(intent);
  if (request === undefined) throw new Error("The intent has no refund to send or to cancel.");
  return request;
}
