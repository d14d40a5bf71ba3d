import Big from "big.js";
import type { ProjectTransaction } from "../database/ramp-database.js";
import { type CheckedExecution, destAmountOf } from "../providers/check-reply.js";
import type { Price } from "../providers/quotes.js";
import type { Intent } from "./intent.js";
import {
  type About,
  type Account,
  type Balances,
  type Entry,
  post,
  type Posting,
  posting,
  type PostingKind,
  type SuspenseReason,
  total,
} from "./journal.js";

/** What the ramp posts about an intent (runtime/ramp/docs/finance.md, The journal). Each function returns the intent with its new balances. */

/** The order: the customer owes the source amount and is owed the price. */
export function bookOrder(tx: ProjectTransaction, intent: Intent, price: Price): Intent {
  const { src, dest, srcAmount } = intent;
  const postings = [
    ...posting("customer", src.currencyCode, new Big(srcAmount)),
    ...posting("exchange", src.currencyCode, new Big(srcAmount).neg()),
    ...posting("customer", dest.currencyCode, new Big(price.destAmount).neg()),
    ...posting("exchange", dest.currencyCode, new Big(price.destAmount)),
  ];
  return booked(tx, intent, { kind: "order", about: "order", postings });
}

/** The order has ended without money: no balance is left. */
export function bookVoid(tx: ProjectTransaction, intent: Intent): Intent {
  const order = intent.balances.filter(({ about }) => about === "order");
  const postings = order.flatMap(({ account, currency, amount }) =>
    posting(account, currency, new Big(amount).neg()),
  );
  return booked(tx, intent, { kind: "void", about: "order", postings });
}

/** Whether an order was placed, and not voided. */
function isOpen({ balances }: Intent): boolean {
  return balances.some(({ about }) => about === "order");
}

/** What the provider's account is to hold because of one thing, as it reports. */
interface Reported {
  readonly about: About;
  readonly currency: string;
  readonly held: Big;
  readonly kind: PostingKind;
  /** Null: as it should be. */
  readonly reason: SuspenseReason | null;
  readonly providerDate: string | null;
}

/**
 * Posts the differences between what the provider reports and what is posted: a repeated report posts nothing. What is not as it
 * should be goes to suspense, and stays there until a later report puts it right or the operator resolves it.
 */
export function bookReport(tx: ProjectTransaction, intent: Intent, reported: CheckedExecution): Intent {
  const paid = paymentOf(intent, reported);
  if (paid === null) return intent;
  const lines = [
    paid,
    ...deliveryOf(intent, reported),
    ...feesOf(intent, reported),
    ...refundsOf(intent, reported, paid.held),
  ];
  const withRefunds = lines.reduce((current, line) => bookDifference(tx, current, line), intent);
  return bookDifference(tx, withRefunds, chargebackOf(withRefunds, reported));
}

/** Statuses in which the provider has received the payment. */
export function isPaid({ status }: Pick<CheckedExecution, "status">): boolean {
  return status === "SUCCESS" || status === "REFUNDED";
}

/** Whether the provider has said what the destination received. */
export function isDelivered({ balances }: Intent): boolean {
  return !total(balances, { account: "provider", about: "delivery" }).eq(0);
}

const RETURNED: ReadonlySet<string> = new Set(["FAILED", "CANCELLED"]);

/** What the source sent; without a word about it, what was ordered. Null: the report says nothing about money. */
function paymentOf(intent: Intent, reported: CheckedExecution): Reported | null {
  const { balances, src, srcAmount } = intent;
  const posted = total(balances, { account: "provider", about: "payment" });
  const { receipt, refunds = [] } = reported;
  const wasPaid = posted.gt(0) || receipt?.amountReceived !== undefined || refunds.length > 0;
  if (!isPaid(reported) && !(RETURNED.has(reported.status) && wasPaid)) return null;
  // What cannot be read is not taken for what was ordered.
  const isUnclear = reported.isSentWrong || reported.receiptProblem !== null;
  const reason = receiptReason(intent, "payment") ?? (isUnclear ? "AMOUNT_MISMATCH" : null);
  const held = receipt?.amountSent ?? srcAmount;
  return {
    about: "payment",
    currency: src.currencyCode,
    held: new Big(held),
    kind: "receipt",
    reason,
    ...dateOf(reported),
  };
}

function deliveryOf(intent: Intent, reported: CheckedExecution): readonly Reported[] {
  const { amountReceived } = reported.receipt ?? {};
  if (amountReceived === undefined) return [];
  const reason = receiptReason(intent, "delivery") ?? (reported.isAmountWrong ? "AMOUNT_MISMATCH" : null);
  const held = new Big(amountReceived).neg();
  const { currencyCode: currency } = intent.dest;
  return [{ about: "delivery", currency, held, kind: "delivery", reason, ...dateOf(reported) }];
}

/** A fee can be named in another currency than before. */
function feesOf(intent: Intent, reported: CheckedExecution): readonly Reported[] {
  const { fees } = reported.receipt ?? {};
  if (fees === undefined) return [];
  const reason = receiptReason(intent, "fee") ?? (reported.isFeeWrong ? "FEE_MISMATCH" : null);
  return [intent.src.currencyCode, intent.dest.currencyCode].map((currency) => ({
    about: "fee",
    currency,
    held: currency === fees.currencyCode ? new Big(fees.totalFee).neg() : new Big(0),
    kind: "fee",
    reason,
    ...dateOf(reported),
  }));
}

/** A payment that was accepted is not changed in silence. */
function receiptReason(intent: Intent, about: About): SuspenseReason | null {
  if (!isOpen(intent)) return "LATE_PAYMENT";
  const isAccepted =
    intent.status === "COMPLETED" && !total(intent.balances, { account: "provider", about }).eq(0);
  return isAccepted ? "RECEIPT_CHANGED" : null;
}

const REFUND = "refund";
/** The part of a REFUNDED payment that no listed refund covers: of no id. */
const UNLISTED = REFUND;
const refundAbout = (id: string): About => `${REFUND} ${id}`;

/** A list names all refunds so far: one that it no longer names did not happen, or has another id now. */
function refundsOf(intent: Intent, reported: CheckedExecution, paid: Big): readonly Reported[] {
  const currency = intent.src.currencyCode;
  const ofRefunds = intent.balances.filter(
    ({ account, about }) => account === "provider" && about.startsWith(REFUND),
  );
  const held = new Map(ofRefunds.map(({ about, amount }) => [about, new Big(amount)]));
  const before = sumOf(held.values());
  if (reported.refunds !== undefined) {
    for (const about of held.keys()) if (about !== UNLISTED) held.set(about, new Big(0));
    for (const { id, amount } of reported.refunds) held.set(refundAbout(id), new Big(amount).neg());
  }
  held.delete(UNLISTED);
  const listed = sumOf(held.values());
  const unlisted =
    reported.status === "REFUNDED" && paid.plus(listed).gt(0) ? paid.plus(listed).neg() : new Big(0);
  held.set(UNLISTED, unlisted);
  const after = listed.plus(unlisted);
  const isExcess = paid.plus(after).lt(0);
  const isLowered = after.gt(before) && paid.plus(before).gte(0);
  const reason = isExcess || isLowered || !unlisted.eq(0) ? "REFUND_MISMATCH" : null;
  const kind = isExcess ? "goodwill" : "refund";
  const dates = new Map(reported.refunds?.map(({ id, occurredAt }) => [refundAbout(id), occurredAt]));
  return [...held].map(([about, amount]) => ({
    about,
    currency,
    held: amount,
    kind,
    reason,
    providerDate: dates.get(about) ?? null,
  }));
}

function sumOf(amounts: Iterable<Big>): Big {
  return [...amounts].reduce((sum, amount) => sum.plus(amount), new Big(0));
}

/** A payment that the provider reports as failed after it was made: what is left of it is taken back. */
function chargebackOf({ balances, src }: Intent, { status }: CheckedExecution): Reported {
  const left = total(balances, { account: "provider", about: "payment" }).plus(
    total(balances, { account: "provider", aboutStartsWith: REFUND }),
  );
  const held = RETURNED.has(status) && left.gt(0) ? left.neg() : new Big(0);
  return {
    about: "chargeback",
    currency: src.currencyCode,
    held,
    kind: "chargeback",
    reason: "CHARGEBACK",
    providerDate: null,
  };
}

function dateOf({ receipt }: CheckedExecution): Pick<Reported, "providerDate"> {
  return { providerDate: receipt?.occurredAt ?? null };
}

function bookDifference(tx: ProjectTransaction, intent: Intent, reported: Reported): Intent {
  const { about, currency, held, reason, providerDate } = reported;
  const posted = total(intent.balances, { account: "provider", about, currency });
  const difference = held.minus(posted);
  // An amount can be put right by another one: a delivery by the payment that it was for.
  const isPutRight = reason === null && suspendedAbout(intent, reported).some(isMismatch);
  if (difference.eq(0) && !isPutRight) return intent;
  const other =
    reason === null
      ? acceptance(intent, reported, difference)
      : posting("suspense", currency, difference.neg(), reason);
  const postings = [...posting("provider", currency, difference), ...other];
  return booked(tx, intent, { kind: kindOf(reported, posted), about, providerDate, postings });
}

function kindOf({ kind, held, about }: Reported, posted: Big): PostingKind {
  if (posted.eq(0)) return kind;
  return about.startsWith(REFUND) && held.gt(posted) ? "refund_reversal" : "correction";
}

function suspendedAbout({ balances }: Intent, { about, currency }: Reported): Balances {
  return balances.filter(
    (balance) => balance.account === "suspense" && balance.about === about && balance.currency === currency,
  );
}

function isMismatch({ reason }: Posting): boolean {
  return reason === "AMOUNT_MISMATCH" || reason === "FEE_MISMATCH";
}

/** The other side of an amount that is as it should be: what was in suspense about it is settled too. */
function acceptance(intent: Intent, reported: Reported, difference: Big): readonly Posting[] {
  const { about, currency } = reported;
  const suspended = suspendedAbout(intent, reported);
  const released = sumOf(suspended.map(({ amount }) => new Big(amount)));
  const side = difference.neg().plus(released);
  return [
    ...suspended.flatMap(({ amount, reason }) =>
      posting("suspense", currency, new Big(amount).neg(), reason),
    ),
    ...posting(counterAccount(intent, about), currency, side),
    ...(about === "delivery" || about === "payment" ? slippage(intent, currency, side) : []),
  ];
}

/** A payment within the tolerance settles the whole order, and so does a delivery the price. */
function slippage({ balances }: Intent, currency: string, moved: Big): readonly Posting[] {
  const owed = total(balances, { account: "customer", currency }).plus(moved);
  return [...posting("customer", currency, owed.neg()), ...posting("exchange", currency, owed)];
}

/** Where the other side of an amount goes. Without an open order what comes in is the customer's, until it is returned. */
function counterAccount(intent: Intent, about: About): Account {
  if (about === "payment" || about === "delivery") return "customer";
  if (about === "fee") return "fees";
  return isOpen(intent) ? "returned" : "customer";
}

/**
 * The operator's decision. As failed: an order that is open is voided, and a payment is the customer's until it is returned. As completed: the order
 * is the one that was paid, and what the customer is still owed for it is written off.
 */
export function bookResolution(tx: ProjectTransaction, intent: Intent, as: "completed" | "failed"): Intent {
  const voided = as === "failed" ? bookVoid(tx, intent) : intent;
  const suspended = voided.balances.filter(({ account }) => account === "suspense");
  const accepted = suspended.reduce((current, { about, currency, amount, reason }) => {
    const postings = [
      ...posting("suspense", currency, new Big(amount).neg(), reason),
      ...posting(counterAccount(current, about), currency, new Big(amount)),
    ];
    return booked(tx, current, { kind: "resolution", about, postings });
  }, voided);
  return as === "completed" ? writtenOff(tx, asPaid(tx, accepted)) : accepted;
}

/** Makes the order one of what the source sent: nobody owes the rest, and nobody is owed its price. */
function asPaid(tx: ProjectTransaction, intent: Intent): Intent {
  const { balances, src, dest, price, transaction } = intent;
  const sent = total(balances, { account: "provider", about: "payment" });
  const unpaid = total(balances, { account: "customer", currency: src.currencyCode });
  if (!isOpen(intent) || sent.eq(0) || unpaid.eq(0) || price === null) return intent;
  const { fees = price.fees } = transaction?.receipt ?? {};
  const owed = destAmountOf(sent.toFixed(), { ...price, fees }, src.currencyCode);
  const { amountReceived = price.destAmount } = transaction?.receipt ?? {};
  const decimals = amountReceived.split(".")[1]?.length ?? 0;
  const unowed = new Big(price.destAmount).minus(owed.round(decimals, Big.roundDown));
  const postings = [
    ...posting("customer", src.currencyCode, unpaid.neg()),
    ...posting("exchange", src.currencyCode, unpaid),
    ...posting("customer", dest.currencyCode, unowed),
    ...posting("exchange", dest.currencyCode, unowed.neg()),
  ];
  return booked(tx, intent, { kind: "void", about: "order", postings });
}

function writtenOff(tx: ProjectTransaction, intent: Intent): Intent {
  if (total(intent.balances, { account: "provider", about: "payment" }).eq(0)) return intent;
  const { src, dest } = intent;
  return [src.currencyCode, dest.currencyCode].reduce((current, currency) => {
    const owed = total(current.balances, { account: "customer", currency });
    const postings = [...posting("customer", currency, owed.neg()), ...posting("write_off", currency, owed)];
    return booked(tx, current, { kind: "resolution", about: "order", postings });
  }, intent);
}

/** Whether the source sent another amount, by what was delivered or by a receipt that cannot be read, and nothing says which. */
export function isSentUnknown({ balances, transaction }: Intent): boolean {
  const isMismatched = balances.some(({ reason }) => reason === "AMOUNT_MISMATCH");
  return isMismatched && transaction?.receipt?.amountSent === undefined;
}

/** What is left of the payment to refund. */
export function leftToRefund({ balances, refundRequests }: Intent): Big {
  const held = total(balances, { account: "provider", about: "payment" });
  const gone = total(balances, { account: "provider", aboutStartsWith: REFUND }).plus(
    total(balances, { account: "provider", about: "chargeback" }),
  );
  const isPosted = (id: string): boolean =>
    !total(balances, { account: "provider", about: refundAbout(id) }).eq(0);
  const requested = refundRequests
    .filter(({ id, state }) => state !== "REFUSED" && !isPosted(id))
    .map(({ amount }) => new Big(amount));
  return held.plus(gone).minus(sumOf(requested));
}

/** What the provider has accepted to refund, and less than it lists; null: it lists it all. */
export function missingRefunds({ balances, refundRequests }: Intent): string | null {
  const accepted = refundRequests.filter(({ state }) => state === "ACCEPTED");
  const wanted = sumOf(accepted.map(({ amount }) => new Big(amount)));
  const listed = total(balances, { account: "provider", aboutStartsWith: REFUND }).neg();
  return listed.lt(wanted) ? `${wanted.toFixed()} accepted, ${listed.toFixed()} listed` : null;
}

function booked(tx: ProjectTransaction, intent: Intent, entry: Entry): Intent {
  return { ...intent, balances: post(tx, intent.id, intent.balances, entry) };
}
