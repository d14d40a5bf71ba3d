/** What can be wrong with an order, and what the ramp knows of it. */
import Big from "big.js";
import type { Intent } from "../../../runtime/ramp/intents/intent.js";
import { refundAmount } from "../../../runtime/ramp/intents/refund.js";
import { total } from "../../../runtime/ramp/intents/journal.js";
import { PRICE, type SimProvider, SRC_AMOUNT } from "./sim-provider.js";

/** What is wrong with an order. */
function wrongThings(order: {
  /** Null: paid, but nothing says what was received; undefined: not paid. */
  readonly amount: string | null | undefined;
  /** What the source sent. */
  readonly sent: string;
  readonly isChargedBack: boolean;
  readonly isUnlisted: boolean;
  /** Status of an intent that is not completed though its order is paid. */
  readonly unpaidAs: string | null;
}): readonly string[] {
  const { amount, sent, isChargedBack, isUnlisted, unpaidAs } = order;
  const isOff = amount === null || (amount !== undefined && new Big(amount).minus(PRICE).abs().gt("4.95"));
  return [
    ...(isOff ? [`amount ${amount === null ? "unknown" : new Big(amount).toFixed()}`] : []),
    ...(new Big(sent).eq(SRC_AMOUNT) ? [] : [`sent ${new Big(sent).toFixed()}`]),
    ...(isChargedBack ? ["chargeback"] : []),
    ...(isUnlisted ? ["no list of refunds"] : []),
    ...(unpaidAs === null ? [] : [`paid, but ${unpaidAs}`]),
  ];
}

/** What is wrong by what the ramp knows. */
export function knownProblems({ balances, transaction, status }: Intent): ReadonlySet<string> {
  const posted = (about: string): boolean => !total(balances, { account: "provider", about }).isZero();
  return new Set(
    wrongThings({
      amount: posted("payment") ? (transaction?.receipt?.amountReceived ?? null) : undefined,
      sent: (posted("payment") ? transaction?.receipt?.amountSent : undefined) ?? SRC_AMOUNT,
      isChargedBack: posted("chargeback"),
      isUnlisted: posted("refund"),
      unpaidAs: posted("payment") && status !== "COMPLETED" ? status : null,
    }),
  );
}

function balanceProblems({ balances }: Intent): readonly string[] {
  return ["USD", "USDC_POLYGON"].flatMap((currency) => {
    const sum = total(balances, { currency });
    return sum.isZero() ? [] : [`the journal is off by ${sum.text()} ${currency}`];
  });
}

/** @param asked ids of the refunds that operators asked for */
export function moneyProblems(
  intent: Intent,
  provider: SimProvider,
  asked: ReadonlySet<string>,
): readonly string[] {
  return [
    ...orderProblems(provider, asked),
    ...balanceProblems(intent),
    ...ledgerProblems(intent, provider),
    ...refundProblems(intent, provider),
  ];
}

function orderProblems(
  { executed, refundsMade }: SimProvider,
  asked: ReadonlySet<string>,
): readonly string[] {
  return [
    ...(executed.length > 1 ? [`ordered ${String(executed.length)} times`] : []),
    ...(new Set(refundsMade).size < refundsMade.length ? ["a refund was made twice"] : []),
    ...refundsMade.filter((id) => !asked.has(id)).map((id) => `nobody asked for the refund ${id}`),
  ];
}

/** Each refund that the provider lists is one of the intent's, in its state; none waits for a payment that is gone. */
function refundProblems(intent: Intent, { order }: SimProvider): readonly string[] {
  if (order === null || intent.transaction === null) return [];
  const list = order.refunds ?? [];
  if (new Set(list.map(({ id }) => id)).size < list.length) return [];
  const isOpen = order.status === "SUCCESS";
  const undecided = intent.refunds.filter(
    ({ status, providerId }) =>
      status === "REQUESTED" ||
      (status === "PENDING" &&
        !isOpen &&
        !list.some(({ id, status: now }) => id === providerId && now === "PENDING")),
  );
  const wrong = list.filter(({ id, amount, status = "SUCCEEDED" }) => {
    const known = intent.refunds.filter(({ providerId }) => providerId === id);
    const [only] = known;
    if (known.length !== 1 || only === undefined) return true;
    // One that has ended here succeeds when its money leaves.
    const isAwaited = status === "PENDING" && (only.status === "FAILED" || only.status === "CANCELLED");
    const isOver = status !== "SUCCEEDED" && only.status !== "SUCCEEDED" && only.status !== "PENDING";
    return !(only.status === status || isAwaited || isOver) || !refundAmount(only).equals(amount);
  });
  return [
    ...undecided.map(({ id, status }) => `the refund ${id} stays ${status}`),
    ...wrong.map(({ id }) => `the refund ${id} of the provider is none of the intent's`),
  ];
}

/** The provider's account is what the provider says, but for a receipt that it withholds. */
function ledgerProblems(intent: Intent, provider: SimProvider): readonly string[] {
  // A list of refunds that cannot be right is left out, and needs attention.
  const ids = provider.order?.refunds?.map(({ id }) => id) ?? [];
  if (new Set(ids).size < ids.length && intent.attention.REFUND_MISMATCH !== undefined) return [];
  const expected = provider.ledger();
  const isKnown = intent.transaction !== null;
  return ["USD", "USDC_POLYGON"].flatMap((currency) => {
    const posted = total(intent.balances, { account: "provider", currency });
    const wanted = new Big(isKnown ? (expected[currency] ?? "0") : "0");
    return posted.equals(String(wanted))
      ? []
      : [`${currency}: posted ${posted.text()}, but the provider has ${wanted.toFixed()}`];
  });
}

/** What is wrong with an order of an intent that needs no attention, but for what an operator accepted. */
export function unflagged(
  intent: Intent,
  { order }: SimProvider,
  accepted: ReadonlySet<string>,
): readonly string[] {
  // What a restore lost, the doctor names (`doctor --restored`).
  if (order === null || intent.transaction === null) return [];
  // Neither the report nor a recorded one says that it was ever paid.
  const isPosted = !total(intent.balances, { account: "provider", about: "payment" }).isZero();
  if (order.status === "FAILED" && order.receipt === undefined && !isPosted) return [];
  return wrongThings({
    amount: order.wasPaid ? (order.receipt?.amountReceived ?? null) : undefined,
    sent: order.wasPaid ? order.sent : SRC_AMOUNT,
    isChargedBack: order.wasPaid && order.status === "FAILED",
    isUnlisted: order.status === "REFUNDED" && order.refunds === null,
    unpaidAs: order.wasPaid && intent.status !== "COMPLETED" ? intent.status : null,
  })
    .filter((problem) => !accepted.has(problem))
    .map((problem) => `needs attention: ${problem}`);
}

export function summary({ status, transaction, attention, acknowledged, balances, refunds }: Intent): object {
  return { status, transaction: transaction?.status, attention, acknowledged, balances, refunds };
}
