import { isDeepStrictEqual } from "node:util";
import type { ProjectTransaction } from "../database/transaction.js";
import type { CheckedExecution } from "../providers/check-reply.js";
import { DEPOSIT_RETURNS } from "../providers/deposit-messages.js";
import type { Execution, Refund } from "../providers/protocol.js";
import { applyRefunds } from "./apply-refunds.js";
import { attentionAfter, suspended } from "./attention.js";
import { bookReport, isDelivered } from "./book.js";
import type { Price } from "../providers/quotes.js";
import {
  canMove,
  type Intent,
  type IntentStatus,
  isErased,
  isTerminal,
  type Transaction,
  TRANSACTION_MOVES,
  type TransactionStatus,
} from "./intent.js";
import {
  clearRefusal,
  createPayment,
  extendExpiry,
  moveIntent,
  recordPrice,
  recordRefusal,
  type TransactionChange,
  updateTransaction,
} from "./transitions.js";

/**
 * What a provider's answer changes. The intent is locked and current. An answer older than the recorded state moves nothing,
 * so answers may come twice and in any order.
 */

/** Checks are complete. */
export function approved(tx: ProjectTransaction, intent: Intent): Intent {
  return moveIntent(tx, moveIntent(tx, intent, "COMPLIANCE_APPROVED"), "PENDING_PAYMENT");
}

/**
 * Records an order that the provider has and the database lost with a restore. It was placed, so compliance was met. What the
 * provider says of it comes with the next step.
 */
export function adoptOrder(tx: ProjectTransaction, intent: Intent, price: Price): Intent {
  const taken = clearRefusal(tx, intent);
  const payable = taken.status === "PENDING_PAYMENT" ? taken : approved(tx, taken);
  return createPayment(tx, payable.price === null ? recordPrice(tx, payable, price) : payable, price);
}

/** The statuses that lead to the reported one. */
const EXECUTION_PATH: Readonly<Record<Execution["status"], readonly TransactionStatus[]>> = {
  AWAITING_FUNDS: ["IN_PROGRESS"],
  PROCESSING: ["IN_PROGRESS"],
  SUCCESS: ["IN_PROGRESS", "SUCCESS"],
  FAILED: ["IN_PROGRESS", "FAILED"],
  CANCELLED: ["IN_PROGRESS", "CANCELLED"],
  REFUNDED: ["IN_PROGRESS", "SUCCESS", "REFUNDED"],
};

/**
 * SUCCESS completes the intent if the amounts fit, FAILED fails it; a refund leaves it COMPLETED. Amounts that do not fit leave it
 * in AMOUNT_MISMATCH until the provider corrects them or the operator settles it.
 */
export function applyExecution(tx: ProjectTransaction, intent: Intent, reported: CheckedExecution): Intent {
  if (intent.transaction === null) return intent;
  const details = detailsOf(intent, intent.transaction, reported);
  const { paymentDueAt } = details;
  const isAwaited = reported.status === "AWAITING_FUNDS" && paymentDueAt != null;
  const awaited = isAwaited ? extendExpiry(tx, intent, paymentDueAt) : intent;
  let current = bookReport(tx, applyRefunds(tx, awaited, reported), reported);
  for (const status of EXECUTION_PATH[reported.status])
    current = moveTransaction(tx, current, { ...details, status }, reported);
  if (current.transaction === intent.transaction) current = updateDetails(tx, current, details);
  if (current.status === "AMOUNT_MISMATCH" && isDelivered(current) && !isAmountWrong(current, reported))
    current = moveIntent(tx, current, "COMPLETED");
  return { ...current, attention: attentionAfter(current, reported) };
}

function isAmountWrong(intent: Intent, { receiptProblem }: CheckedExecution): boolean {
  return receiptProblem !== null || suspended(intent).AMOUNT_MISMATCH !== undefined;
}

/** What the provider reports beside the status. What it no longer repeats is kept, its first reference too. */
function detailsOf(intent: Intent, known: Transaction, reported: CheckedExecution): TransactionChange {
  const { reference, instructions, paymentDueAt, receipt, refunds } = reported;
  return {
    providerReference: known.providerReference ?? (reference === "" ? null : reference),
    instructions: instructions.length > 0 && !isErased(intent) ? instructions : known.instructions,
    paymentDueAt: paymentDueAt === undefined ? known.paymentDueAt : new Date(paymentDueAt),
    receipt: receipt ?? known.receipt,
    refunds: refunds?.map((refund) => (isErased(intent) ? withoutWords(refund) : refund)) ?? known.refunds,
  };
}

function withoutWords(refund: Refund): Refund {
  return { ...refund, reason: "", ...("failureReason" in refund && { failureReason: null }) };
}

function moveTransaction(
  tx: ProjectTransaction,
  intent: Intent,
  change: TransactionChange & { readonly status: TransactionStatus },
  reported: CheckedExecution,
): Intent {
  const { transaction } = intent;
  const { status } = change;
  if (transaction === null || !canMove(TRANSACTION_MOVES, transaction.status, status)) return intent;
  const reason = isErased(intent) ? "Erased." : (reported.failureReason ?? "The provider gave no reason.");
  const failureReason = status === "FAILED" ? reason : null;
  const next = intentStatusAfter(status, intent, reported);
  const returned = next === "TRANSACTION_FAILED" && intent.returnReason;
  const follows = next && {
    status: next,
    failureReason: failureReason ?? (returned ? DEPOSIT_RETURNS[returned] : null),
  };
  return updateTransaction(tx, intent, transaction, { ...change, failureReason }, follows);
}

/** Null: it stays. */
function intentStatusAfter(
  status: TransactionStatus,
  intent: Intent,
  reported: CheckedExecution,
): IntentStatus | null {
  switch (status) {
    case "IN_PROGRESS":
      return "TRANSACTION_IN_PROGRESS";
    case "SUCCESS":
      // The provider has a payment that it does not carry out.
      if (intent.returnReason !== null) return "TRANSACTION_FAILED";
      return isAmountWrong(intent, reported) ? "AMOUNT_MISMATCH" : "COMPLETED";
    case "FAILED":
      return "TRANSACTION_FAILED";
    case "CANCELLED":
      return endStatus(intent);
    case "PENDING":
    case "REFUNDED":
      return null;
  }
}

/**
 * Instructions, receipts and refunds can come after the answer that moved the transaction. Compared by value: stored JSON does
 * not keep the order of its names.
 */
function updateDetails(tx: ProjectTransaction, intent: Intent, details: TransactionChange): Intent {
  const { transaction } = intent;
  if (transaction === null) return intent;
  const isChanged = (Object.keys(details) as (keyof TransactionChange)[]).some(
    (key) => !isDeepStrictEqual(details[key], transaction[key]),
  );
  return isChanged ? updateTransaction(tx, intent, transaction, details) : intent;
}

/** A refused order is recorded, and withdrawn before it ends the intent. */
export function applyRefusal(tx: ProjectTransaction, intent: Intent, reason: string): Intent {
  return isTerminal(intent.status) ? intent : recordRefusal(tx, intent, reason);
}

/** Of a report without receipt, refunds and instructions. */
export const NO_PROBLEMS = {
  receiptProblem: null,
  isSentWrong: false,
  isAmountWrong: false,
  isFeeWrong: false,
  refundProblem: null,
  instructionProblem: null,
};

/** A refused order that is withdrawn fails the intent. */
export function applyWithdrawal(tx: ProjectTransaction, intent: Intent): Intent {
  const { id = "", refusalReason = null } = intent.transaction ?? {};
  const refused = { id, reference: "", failureReason: refusalReason, instructions: [] };
  return applyExecution(tx, intent, { ...refused, status: "FAILED", ...NO_PROBLEMS });
}

/** Ends an intent that was not paid in time. */
export function applyEnd(tx: ProjectTransaction, intent: Intent): Intent {
  return moveIntent(tx, intent, endStatus(intent));
}

/** A cancel that the customer requested ends as CANCELLED, even after the expiry. */
function endStatus({ expiresAt, isCancelRequested, readAt }: Intent): "EXPIRED" | "CANCELLED" {
  return !isCancelRequested && expiresAt <= readAt ? "EXPIRED" : "CANCELLED";
}
