import { OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import { providerRefundIdOf } from "../database/id.js";
import type { CheckedExecution } from "../providers/check-reply.js";
import type { Refund } from "../providers/protocol.js";
import { type Intent, isErased } from "./intent.js";
import { type IntentRefund, isOpenRefund, matchRefunds, openRefund } from "./refund.js";
import { canRefundMove } from "./refund-transitions.js";
import { isPaymentGone, saysPayment } from "./reported-lines.js";
import { recordChange } from "./intent-event.js";

/** What moves refunds. What has succeeded is posted, and nothing else (reported-lines.ts). */

/** Records what a provider's report says of refunds. Those that are open end with a payment that is gone. */
export function applyRefunds(tx: ProjectTransaction, intent: Intent, reported: CheckedExecution): Intent {
  if (!saysPayment(intent, reported)) return intent;
  const { refunds: list } = reported;
  const listed = list === undefined ? intent : applyList(tx, intent, list);
  if (!isPaymentGone(reported)) return listed;
  const ids = new Set(list?.map(({ id }) => id));
  const left = listed.refunds.filter(({ providerId }) => providerId === null || !ids.has(providerId));
  const words = `The payment is ${reported.status === "REFUNDED" ? "returned" : "taken back"} without it.`;
  return closeRefunds(tx, listed, left, words, "attention");
}

/** A list names all refunds: one that had succeeded and is no longer named did not happen. */
function applyList(tx: ProjectTransaction, intent: Intent, list: readonly Refund[]): Intent {
  const matches = matchRefunds(intent.refunds, list);
  const named = new Set(matches.map(({ known }) => known));
  const applied = matches.reduce(
    (current, { listed, known, isByAmount }) =>
      known === null
        ? addRefund(tx, current, listed)
        : applyListed(tx, current, isByAmount ? matchedByAmount(known) : known, listed),
    intent,
  );
  return intent.refunds
    .filter((refund) => refund.status === "SUCCEEDED" && !named.has(refund))
    .reduce(
      (current, refund) => failRefund(tx, current, refund, "The provider no longer lists it."),
      applied,
    );
}

/** One that nobody asked for is the provider's own, also under another id. */
function matchedByAmount(refund: IntentRefund): IntentRefund {
  return { ...refund, isMatchedByAmount: refund.isMatchedByAmount || refund.origin === "REQUEST" };
}

/** One that the provider made alone, or that a restore lost. */
function addRefund(tx: ProjectTransaction, intent: Intent, listed: Refund): Intent {
  const { id: providerId, amount, reason, status = "SUCCEEDED", failureReason = null } = listed;
  const refund: IntentRefund = {
    id: newRefundId(intent, listed),
    providerId,
    amount,
    listedAmount: amount,
    reason: isErased(intent) ? "" : reason,
    status: status,
    origin: "PROVIDER",
    failureReason: isErased(intent) ? null : failureReason,
    isSent: false,
    isCancelRequested: false,
    isMatchedByAmount: false,
    createdAt: tx.now,
    updatedAt: tx.now,
  };
  const { id, origin, status: state, createdAt, updatedAt } = refund;
  const words = { reason: refund.reason, failureReason: refund.failureReason };
  tx.insert("refund_requests", {
    ...{ intentId: intent.id, id, providerId, amount, listedAmount: amount, state, origin },
    ...words,
    ...{ createdAt, updatedAt },
  });
  return recordRefund(tx, { ...intent, refunds: [...intent.refunds, refund] }, refund);
}

/** That of its order, so that a repeated wish finds it; where the intent has a refund of that id, one of its own. */
function newRefundId(intent: Intent, { id: providerId, orderId = providerId }: Refund): string {
  const taken = new Set(intent.refunds.map(({ id }) => id));
  let id = providerRefundIdOf(intent.id, orderId);
  for (let at = 1; taken.has(id); at++)
    id = providerRefundIdOf(intent.id, at === 1 ? providerId : `${providerId} ${String(at)}`);
  return id;
}

/** What an older report says of a refund that has ended moves nothing. */
function applyListed(tx: ProjectTransaction, intent: Intent, known: IntentRefund, listed: Refund): Intent {
  const { status = "SUCCEEDED" } = listed;
  // Money that had left and comes back.
  const comesBack = known.status === "SUCCEEDED" && status === "CANCELLED";
  const reported = comesBack ? "FAILED" : status;
  const isMoved = canRefundMove(known.status, reported);
  const failureReason =
    reported === "FAILED" ? (listed.failureReason ?? "The provider lists it as failed.") : null;
  const refund: IntentRefund = {
    ...known,
    providerId: listed.id,
    listedAmount: listed.amount,
    ...(isMoved && { status: reported, failureReason, isCancelRequested: false }),
  };
  const before = intent.refunds.find(({ id }) => id === known.id);
  const isNewMatch = refund.isMatchedByAmount && before?.isMatchedByAmount === false;
  const flagged = isNewMatch
    ? withAttention(intent, "REFUND_MATCHED", `${known.id} of ${known.amount} is ${listed.id}`)
    : intent;
  if (isMoved && reported === "FAILED") return failRefund(tx, flagged, refund, failureReason ?? "");
  return before && isSame(before, refund) ? flagged : changeRefund(tx, flagged, refund);
}

function isSame(before: IntentRefund, after: IntentRefund): boolean {
  return (Object.keys(after) as (keyof IntentRefund)[]).every((name) => before[name] === after[name]);
}

/** A refund that was asked for and fails needs attention: the customer waits for it. */
export function failRefund(
  tx: ProjectTransaction,
  intent: Intent,
  refund: IntentRefund,
  failureReason: string,
): Intent {
  const failed = changeRefund(tx, intent, { ...refund, status: "FAILED", failureReason });
  const about = `${refund.id} of ${refund.amount}: ${failureReason}`;
  return refund.origin === "REQUEST" ? withAttention(failed, "REFUND_REFUSED", about) : failed;
}

/** Ends open refunds: one that was not sent is cancelled, and of one that was nothing came. */
export function closeRefunds(
  tx: ProjectTransaction,
  intent: Intent,
  refunds: readonly IntentRefund[],
  failureReason: string,
  then: "attention" | "silence",
): Intent {
  return refunds.filter(isOpenRefund).reduce((current, refund) => {
    const isUnsent = refund.status === "REQUESTED" && !refund.isSent;
    if (!isUnsent && then === "attention") return failRefund(tx, current, refund, failureReason);
    return changeRefund(tx, current, { ...refund, status: isUnsent ? "CANCELLED" : "FAILED", failureReason });
  }, intent);
}

/** From now on the provider can have the next refund. */
export function prepareRefund(tx: ProjectTransaction, intent: Intent): Intent {
  const refund = openRefund(intent);
  return refund === undefined ? intent : changeRefund(tx, intent, { ...refund, isSent: true });
}

/** Several are named together until the operator resolves the intent. */
function withAttention(intent: Intent, reason: "REFUND_REFUSED" | "REFUND_MATCHED", about: string): Intent {
  const { [reason]: said } = intent.attention;
  const all = said === undefined ? about : `${said}; ${about}`;
  return { ...intent, attention: { ...intent.attention, [reason]: all } };
}

/** Writes a refund as it is after a change. */
export function changeRefund(tx: ProjectTransaction, intent: Intent, change: IntentRefund): Intent {
  const failureReason = change.failureReason !== null && isErased(intent) ? "Erased." : change.failureReason;
  const refund = { ...change, failureReason, updatedAt: tx.now };
  const { id, status, providerId, listedAmount, isMatchedByAmount, isSent, isCancelRequested } = refund;
  tx.write(
    `UPDATE ramp.refund_requests SET state = $3, provider_id = $4, listed_amount = $5, matched_by_amount = $6, failure_reason = $7,
       sent_at = CASE WHEN $8 THEN COALESCE(sent_at, now()) END,
       cancel_requested_at = CASE WHEN $9 THEN COALESCE(cancel_requested_at, now()) END, updated_at = $10
     WHERE ${OF_PROJECT} AND intent_id = $1 AND id = $2`,
    [
      ...[intent.id, id, status, providerId, listedAmount, isMatchedByAmount, failureReason],
      ...[isSent, isCancelRequested, tx.now],
    ],
  );
  const before = intent.refunds.find((item) => item.id === id);
  const changed = { ...intent, refunds: intent.refunds.map((item) => (item.id === id ? refund : item)) };
  return before?.status === status ? changed : recordRefund(tx, changed, refund);
}

/** The event of a refund that is new or has moved. */
export function recordRefund(tx: ProjectTransaction, intent: Intent, refund: IntentRefund): Intent {
  const { id: refundId, status, origin, reason, providerId, failureReason } = refund;
  recordChange(tx, "refund.updated", intent, {
    ...{ refundId, status, origin, amount: refund.listedAmount ?? refund.amount, reason },
    ...(providerId !== null && providerId !== refundId && { providerRefundId: providerId }),
    ...(failureReason !== null && { failureReason }),
  });
  return intent;
}
