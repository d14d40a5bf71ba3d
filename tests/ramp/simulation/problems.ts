/** What can be wrong with an order, and what the ramp knows of it. */
import Big from "big.js";
import type { Intent } from "../../../runtime/ramp/intents/intent.js";
import { total } from "../../../runtime/ramp/intents/journal.js";
import { PRICE, SRC_AMOUNT } from "./sim-provider.js";

/** What is wrong with an order. */
export function wrongThings(order: {
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
  const posted = (about: string): boolean => !total(balances, { account: "provider", about }).eq(0);
  return new Set(
    wrongThings({
      amount: posted("payment") ? (transaction?.receipt?.amountReceived ?? null) : undefined,
      sent: (posted("payment") ? transaction?.receipt?.amountSent : undefined) ?? SRC_AMOUNT,
      isChargedBack: posted("chargeback"),
      isUnlisted: posted("refund unlisted"),
      unpaidAs: posted("payment") && status !== "COMPLETED" ? status : null,
    }),
  );
}

export function balanceProblems({ balances }: Intent): readonly string[] {
  return ["USD", "USDC_POLYGON"].flatMap((currency) => {
    const sum = total(balances, { currency });
    return sum.eq(0) ? [] : [`the journal is off by ${sum.toFixed()} ${currency}`];
  });
}

export function summary({
  status,
  transaction,
  attention,
  acknowledged,
  balances,
  refundRequests,
}: Intent): object {
  return { status, transaction: transaction?.status, attention, acknowledged, balances, refundRequests };
}
