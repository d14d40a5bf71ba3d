import Big from "big.js";
import { readAmount, readCurrencies } from "../accounts/currency.js";
import { isUuid, projectId, type ProjectId, refundIdOf } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import { REPORTED_OPEN, REPORTED_PAID } from "../intents/attention.js";
import { bookResolution, isSentUnknown, leftToRefund } from "../intents/book.js";
import { type Attention, type Intent, isErased, isTerminal, needsAttention } from "../intents/intent.js";
import { total } from "../intents/journal.js";
import { lockIntent, requestCancel } from "../intents/intent-rows.js";
import { pollNow } from "../intents/lease.js";
import { moveIntent, recordAttention, updateTransaction } from "../intents/transitions.js";
import { failed, type Outcome, succeeded } from "../../model/outcome.js";

const DECIMAL = /^\d{1,40}(\.\d{1,18})?$/;

interface ActionResult {
  readonly intentId: string;
  readonly status: string;
}

/** Changes an intent for the operator. A process that works on it loses its lease, so that it does not overwrite the change. */
async function changeIntent(
  database: RampDatabase,
  id: string,
  change: (tx: ProjectTransaction, intent: Intent) => Outcome<Intent> | Promise<Outcome<Intent>>,
): Promise<Outcome<ActionResult>> {
  const found = await findIntent(database, id);
  if (found === null) return failed(`There is no intent ${id}.`);
  return database.asOperatorOf(found, async (tx) => {
    const intent = await lockIntent(tx, id);
    const changed = await change(tx, intent);
    if (!changed.ok) return changed;
    pollNow(tx, id);
    return succeeded({ intentId: intent.id, status: changed.value.status });
  });
}

async function findIntent(database: RampDatabase, id: string): Promise<ProjectId | null> {
  if (!isUuid(id)) return null;
  const row = await database.operator.row<{ project_id: string }>(
    "SELECT project_id FROM ramp.intents WHERE id = $1",
    [id],
  );
  return row && projectId(row.project_id);
}

/** Looks the intent up at its provider now. A running server does it. */
export function pollIntent(database: RampDatabase, id: string): Promise<Outcome<ActionResult>> {
  return changeIntent(database, id, (_tx, intent) => succeeded(intent));
}

/** Cancels as the customer would: an order at the provider is cancelled there first. */
export function cancelIntent(database: RampDatabase, id: string): Promise<Outcome<ActionResult>> {
  return changeIntent(database, id, (tx, intent) =>
    isTerminal(intent.status) || intent.status === "AMOUNT_MISMATCH"
      ? failed(`The intent is ${intent.status}: it cannot be cancelled.`)
      : succeeded(requestCancel(tx, intent)),
  );
}

/**
 * Records how an intent ended that the provider left unclear. What is known now needs no attention again; what the provider reports
 * later does.
 */
export function resolveIntent(
  database: RampDatabase,
  id: string,
  { as, note }: { readonly as: "completed" | "failed"; readonly note: string },
): Promise<Outcome<ActionResult>> {
  return changeIntent(database, id, (tx, intent) => {
    if (!needsAttention(intent.attention)) return failed("The intent needs no attention.");
    if (as === "completed" && intent.transaction === null)
      return failed("The intent has no transaction: resolve it as failed.");
    const ended = as === "completed" ? completed(tx, intent) : endedWithoutPayment(tx, intent, note);
    const resolved = bookResolution(tx, ended, as);
    const acknowledged = { ...intent.acknowledged, ...stillReported(intent), ...intent.attention };
    recordAttention(tx, { ...resolved, attention: {}, acknowledged });
    return succeeded(resolved);
  });
}

/** What the provider keeps reporting is known: an order that had not ended as open, a payment as paid. */
function stillReported({ transaction, balances }: Intent): Attention {
  const isOpen = transaction?.status === "PENDING" || transaction?.status === "IN_PROGRESS";
  if (isOpen) return { CONTRADICTION: REPORTED_OPEN };
  return total(balances, { account: "provider", about: "payment" }).eq(0)
    ? {}
    : { CONTRADICTION: REPORTED_PAID };
}

function completed(tx: ProjectTransaction, intent: Intent): Intent {
  const { transaction, status } = intent;
  const isPaid = transaction?.status === "SUCCESS" || transaction?.status === "REFUNDED";
  if (transaction === null || isPaid)
    return status === "COMPLETED" ? intent : moveIntent(tx, intent, "COMPLETED");
  const follows = status === "COMPLETED" ? null : ({ status: "COMPLETED", failureReason: null } as const);
  return updateTransaction(tx, intent, transaction, { status: "SUCCESS", failureReason: null }, follows);
}

/** What an operator writes about an intent; nothing about that of an erased customer, whom it can name. */
function wordsAbout(intent: Intent, note: string, erased = ""): string {
  return isErased(intent) ? erased : note;
}

function endedWithoutPayment(tx: ProjectTransaction, intent: Intent, note: string): Intent {
  const { transaction, status } = intent;
  const failureReason = wordsAbout(intent, note, "Erased.");
  const hasEnded = isTerminal(status) && (status !== "COMPLETED" || transaction === null);
  const isUnpaid =
    transaction === null || transaction.status === "FAILED" || transaction.status === "CANCELLED";
  if (isUnpaid) return hasEnded ? intent : moveIntent(tx, intent, "TRANSACTION_FAILED", failureReason);
  const follows = hasEnded ? null : ({ status: "TRANSACTION_FAILED", failureReason } as const);
  return updateTransaction(tx, intent, transaction, { status: "FAILED", failureReason }, follows);
}

export interface RefundWish {
  /** Null: what is left of the payment. */
  readonly amount: string | null;
  /** Names the refund: a repeated wish with the same reason is the same refund. */
  readonly reason: string;
}

/**
 * Records a refund of a payment, or of a part of it; a running server sends it. It is stored under a lock and checked against what
 * is left, so that neither a repeated command nor two operators refund more than was paid.
 */
export async function refundIntent(
  database: RampDatabase,
  id: string,
  wish: RefundWish,
): Promise<Outcome<ActionResult & { readonly refundId: string; readonly amount: string }>> {
  let refund = { refundId: "", amount: "" };
  const changed = await changeIntent(database, id, async (tx, intent) => {
    const checked = await checkedRefund(tx, intent, wish);
    if (!checked.ok) return checked;
    refund = { refundId: checked.value.id, amount: checked.value.amount };
    if (!intent.refundRequests.some((known) => known.id === checked.value.id))
      tx.insert("refund_requests", { intentId: intent.id, ...checked.value });
    return succeeded(intent);
  });
  return changed.ok ? succeeded({ ...changed.value, ...refund }) : changed;
}

async function checkedRefund(
  tx: ProjectTransaction,
  intent: Intent,
  { amount, reason }: RefundWish,
): Promise<Outcome<{ readonly id: string; readonly amount: string; readonly reason: string }>> {
  const refundId = refundIdOf(intent.id, reason);
  const known = intent.refundRequests.find((request) => request.id === refundId);
  if (known && (amount === null || (DECIMAL.test(amount) && new Big(amount).eq(known.amount))))
    return succeeded(known);
  if (known)
    return failed(`A refund of ${known.amount} has this note. Give another refund a note of its own.`);
  if (intent.transaction?.status !== "SUCCESS")
    return failed("Only a payment that is SUCCESS can be refunded.");
  if (!(await offersRefunds(tx, intent))) return failed(`${intent.provider} offers no refunds.`);
  if (isSentUnknown(intent))
    return failed(
      `${intent.provider} does not say what the source sent. Refund once its receipt does, or once you have resolved the intent.`,
    );
  const left = leftToRefund(intent);
  if (left.lte(0)) return failed("Nothing is left to refund.");
  const currency = (await readCurrencies(tx)).get(intent.src.currencyCode);
  if (amount !== null && !DECIMAL.test(amount)) return failed(`${amount} is not an amount such as 10.00.`);
  const read = readAmount(amount ?? left.toFixed(), currency);
  if (!read.ok) return read;
  if (left.lt(read.value))
    return failed(`Only ${left.toFixed(currency.decimals)} ${currency.code} are left to refund.`);
  return succeeded({ id: refundId, amount: read.value, reason: wordsAbout(intent, reason) });
}

async function offersRefunds(tx: ProjectTransaction, { connectionId }: Intent): Promise<boolean> {
  const row = await tx.row<{ offered: boolean | null }>(
    `SELECT (capabilities -> 'refunds')::boolean AS offered FROM ramp.provider_connections WHERE ${OF_PROJECT} AND id = $1`,
    [connectionId],
  );
  return row?.offered === true;
}
