import { Amount } from "../accounts/amount.js";
import type { ProjectTransaction } from "../database/transaction.js";
import { type CheckedExecution, destAmountOf } from "../providers/check-reply.js";
import type { Price } from "../providers/quotes.js";
import type { Intent } from "./intent.js";
import {
  type About,
  type Account,
  type Balances,
  type JournalEntry,
  post,
  type Posting,
  posting,
  type PostingKind,
  total,
} from "./journal.js";
import { chargebackOf, isOpen, REFUND, type Reported, reportedLines } from "./reported-lines.js";
import { isOpenRefund, refundAmount } from "./refund.js";

/** What the ramp posts about an intent (runtime/ramp/docs/finance.md, The journal). Each function returns the intent with its new balances. */

/** The order: the customer owes the source amount and is owed the price. */
export function bookOrder(tx: ProjectTransaction, intent: Intent, price: Price): Intent {
  const { src, dest, srcAmount } = intent;
  const postings = [
    ...posting("customer", src.currencyCode, Amount.of(srcAmount)),
    ...posting("exchange", src.currencyCode, Amount.of(srcAmount).negated()),
    ...posting("customer", dest.currencyCode, Amount.of(price.destAmount).negated()),
    ...posting("exchange", dest.currencyCode, Amount.of(price.destAmount)),
  ];
  return booked(tx, intent, { kind: "order", about: "order", postings });
}

/** Another price of the order: what the customer is owed more, or less, than by the one before. */
export function bookPrice(tx: ProjectTransaction, intent: Intent, before: Price | null): Intent {
  const { dest, price } = intent;
  const difference = Amount.of(price?.destAmount ?? "0").minus(before?.destAmount ?? "0");
  const postings = [
    ...posting("customer", dest.currencyCode, difference.negated()),
    ...posting("exchange", dest.currencyCode, difference),
  ];
  return booked(tx, intent, { kind: "order", about: "order", postings });
}

/** The order has ended without money: no balance is left. */
export function bookVoid(tx: ProjectTransaction, intent: Intent): Intent {
  const order = intent.balances.filter(({ about }) => about === "order");
  const postings = order.flatMap(({ account, currency, amount }) =>
    posting(account, currency, Amount.of(amount).negated()),
  );
  return booked(tx, intent, { kind: "void", about: "order", postings });
}

/**
 * Posts the differences between what the provider reports and what is posted: a repeated report posts nothing. What is not as it
 * should be goes to suspense, and stays there until a later report puts it right or the operator resolves it.
 */
export function bookReport(tx: ProjectTransaction, intent: Intent, reported: CheckedExecution): Intent {
  const lines = reportedLines(intent, reported);
  if (lines.length === 0) return intent;
  const withRefunds = lines.reduce((current, line) => bookDifference(tx, current, line), intent);
  return bookDifference(tx, withRefunds, chargebackOf(withRefunds, reported));
}

/** Whether the provider has said what the destination received. */
export function isDelivered({ balances }: Intent): boolean {
  return !total(balances, { account: "provider", about: "delivery" }).isZero();
}

function bookDifference(tx: ProjectTransaction, intent: Intent, reported: Reported): Intent {
  const { about, currency, held, reason, providerDate } = reported;
  const posted = total(intent.balances, { account: "provider", about, currency });
  const difference = held.minus(posted);
  // An amount can be put right by another one: a delivery by the payment that it was for.
  const isPutRight = reason === null && suspendedAbout(intent, reported).some(isMismatch);
  if (difference.isZero() && !isPutRight) return intent;
  const other =
    reason === null
      ? acceptance(intent, reported, difference)
      : posting("suspense", currency, difference.negated(), reason);
  const postings = [...posting("provider", currency, difference), ...other];
  return booked(tx, intent, { kind: kindOf(reported, posted), about, providerDate, postings });
}

function kindOf({ kind, held, about }: Reported, posted: Amount): PostingKind {
  if (posted.isZero()) return kind;
  return about.startsWith(REFUND) && held.isMore(posted) ? "refund_reversal" : "correction";
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
function acceptance(intent: Intent, reported: Reported, difference: Amount): readonly Posting[] {
  const { about, currency } = reported;
  const suspended = suspendedAbout(intent, reported);
  const released = Amount.sum(suspended.map(({ amount }) => amount));
  const side = difference.negated().plus(released);
  return [
    ...suspended.flatMap(({ amount, reason }) =>
      posting("suspense", currency, Amount.of(amount).negated(), reason),
    ),
    ...posting(counterAccount(intent, about), currency, side),
    ...(isOpen(intent) && (about === "delivery" || about === "payment")
      ? slippage(intent, currency, side)
      : []),
  ];
}

/** A payment within the tolerance settles the whole order, and so does a delivery the price. */
function slippage({ balances }: Intent, currency: string, moved: Amount): readonly Posting[] {
  const owed = total(balances, { account: "customer", currency }).plus(moved);
  return [...posting("customer", currency, owed.negated()), ...posting("exchange", currency, owed)];
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
      ...posting("suspense", currency, Amount.of(amount).negated(), reason),
      ...posting(counterAccount(current, about), currency, Amount.of(amount)),
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
  if (!isOpen(intent) || sent.isZero() || unpaid.isZero() || price === null) return intent;
  const { fees = price.fees } = transaction?.receipt ?? {};
  const owed = destAmountOf(sent.text(), { ...price, fees }, src.currencyCode);
  const { amountReceived = price.destAmount } = transaction?.receipt ?? {};
  const decimals = amountReceived.split(".")[1]?.length ?? 0;
  const unowed = Amount.of(price.destAmount).minus(owed.roundedDown(decimals));
  const postings = [
    ...posting("customer", src.currencyCode, unpaid.negated()),
    ...posting("exchange", src.currencyCode, unpaid),
    ...posting("customer", dest.currencyCode, unowed),
    ...posting("exchange", dest.currencyCode, unowed.negated()),
  ];
  return booked(tx, intent, { kind: "void", about: "order", postings });
}

function writtenOff(tx: ProjectTransaction, intent: Intent): Intent {
  if (total(intent.balances, { account: "provider", about: "payment" }).isZero()) return intent;
  const { src, dest } = intent;
  return [src.currencyCode, dest.currencyCode].reduce((current, currency) => {
    const owed = total(current.balances, { account: "customer", currency });
    const postings = [
      ...posting("customer", currency, owed.negated()),
      ...posting("write_off", currency, owed),
    ];
    return booked(tx, current, { kind: "resolution", about: "order", postings });
  }, intent);
}

/** Whether the source sent another amount, by what was delivered or by a receipt that cannot be read, and nothing says which. */
export function isSentUnknown({ balances, transaction }: Intent): boolean {
  const isMismatched = balances.some(({ reason }) => reason === "AMOUNT_MISMATCH");
  return isMismatched && transaction?.receipt?.amountSent === undefined;
}

/** What is left of the payment to refund: what neither went back nor is on its way. */
export function leftToRefund({ balances, refunds }: Intent): Amount {
  const held = total(balances, { account: "provider", about: "payment" });
  const gone = total(balances, { account: "provider", aboutStartsWith: REFUND }).plus(
    total(balances, { account: "provider", about: "chargeback" }),
  );
  return held.plus(gone).minus(Amount.sum(refunds.filter(isOpenRefund).map(refundAmount)));
}

function booked(tx: ProjectTransaction, intent: Intent, entry: JournalEntry): Intent {
  return { ...intent, balances: post(tx, intent.id, intent.balances, entry) };
}
