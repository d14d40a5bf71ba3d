/** The bank of the simulation's provider: a deposit account, the payments that arrive there, and what becomes of each. */
import Big from "big.js";
import type {
  Deposit,
  DepositAccount,
  DepositReturn,
} from "../../../runtime/ramp/providers/deposit-messages.js";
import type { Execution } from "../../../runtime/ramp/providers/protocol.js";
import type { ProviderReply } from "../../../runtime/ramp/providers/provider.js";
import { FEES } from "../support/card-provider.js";

/** Of one answer: several payments are several pages. */
const MOST_LISTED = 2;
const UNKNOWN = { kind: "unknown" } as const;

interface Arrived {
  readonly deposit: Deposit;
  /** Listed twice in each answer. */
  readonly isDoubled: boolean;
  status: "PROCESSING" | "SUCCESS" | "REFUNDED";
}

export class SimBank {
  readonly arrived: Arrived[] = [];
  refuses = false;
  /** The bytes of the order; null: it is closed before it was opened. */
  #opened: string | null | undefined;
  #isClosed = false;

  /** Whether payments can arrive: the customer has seen where to. */
  get isOpened(): boolean {
    return typeof this.#opened === "string";
  }

  open(id: string, body: string): ProviderReply<DepositAccount> {
    if (this.#opened === undefined && this.refuses)
      return { kind: "refused", code: "REFUSED", message: "refused" };
    if (this.#opened === undefined) this.#opened = body;
    if (this.#opened !== null && this.#opened !== body)
      return { kind: "refused", code: "OTHER", message: "another account" };
    return this.#answer(id, null);
  }

  account(id: string, after: string | null): ProviderReply<DepositAccount> {
    return this.#opened === undefined ? UNKNOWN : this.#answer(id, after);
  }

  close(id: string): ProviderReply<DepositAccount> {
    this.#opened ??= null;
    this.#isClosed = true;
    return this.#answer(id, null);
  }

  execution(id: string): ProviderReply<Execution> | null {
    const found = this.arrived.find(({ deposit }) => deposit.id === id);
    return found === undefined ? null : { kind: "answer", value: reportOf(found) };
  }

  arrive({
    srcAmount,
    srcCurrencyCode,
    reference,
    isDoubled,
  }: {
    readonly srcAmount: string;
    readonly srcCurrencyCode: string;
    readonly reference: string | null;
    readonly isDoubled: boolean;
  }): void {
    const id = `deposit-${String(this.arrived.length)}`;
    const what = { id, srcCurrencyCode, srcAmount, ...(reference !== null && { reference }) };
    const returnReason = this.#returnReason(srcCurrencyCode, srcAmount);
    const deposit =
      returnReason === null ? { ...what, price: priceOf(srcAmount) } : { ...what, returnReason };
    this.arrived.push({ deposit, isDoubled, status: "PROCESSING" });
  }

  /** Each payment is delivered or goes back. */
  settle(): void {
    for (const payment of this.arrived)
      payment.status = payment.deposit.price === undefined ? "REFUNDED" : "SUCCESS";
  }

  /** What its account holds of a payment by its own books, in the currency of the payment and in that of the destination. */
  static ledger({ deposit, status }: Arrived): readonly (readonly [currency: string, amount: Big])[] {
    const { price, srcAmount, srcCurrencyCode } = deposit;
    if (price === undefined || status !== "SUCCESS") return [];
    return [
      [srcCurrencyCode, new Big(srcAmount).minus(price.fees.totalFee)],
      ["USDC_POLYGON", new Big(price.destAmount).neg()],
    ];
  }

  #returnReason(currency: string, amount: string): DepositReturn | null {
    if (this.#isClosed) return "ACCOUNT_CLOSED";
    if (currency !== "USD") return "WRONG_CURRENCY";
    return new Big(amount).lt(10) ? "BELOW_MINIMUM" : null;
  }

  #answer(id: string, after: string | null): ProviderReply<DepositAccount> {
    const from = this.arrived.findIndex(({ deposit }) => deposit.id === after) + 1;
    const listed = this.arrived.slice(from, from + MOST_LISTED);
    return {
      kind: "answer",
      value: {
        id,
        status: this.#isClosed ? "CLOSED" : "ACTIVE",
        instructions:
          this.#opened === null ? [] : [{ encoding: "DISPLAY", type: "BANK", details: { reference: id } }],
        deposits: listed.flatMap(({ deposit, isDoubled }) => (isDoubled ? [deposit, deposit] : [deposit])),
      },
    };
  }
}

function priceOf(srcAmount: string): NonNullable<Deposit["price"]> {
  return { destAmount: new Big(srcAmount).minus(FEES.totalFee).toFixed(6), exchangeRate: "1", fees: FEES };
}

function reportOf({ deposit: { id, srcAmount, price, returnReason }, status }: Arrived): Execution {
  const report = { id, reference: `r-${id}`, status, failureReason: null, instructions: [] };
  if (status === "SUCCESS" && price !== undefined) {
    const { destAmount: amountReceived, exchangeRate, fees } = price;
    return { ...report, receipt: { amountReceived, exchangeRate, fees }, refunds: [] };
  }
  if (status !== "REFUNDED") return report;
  return { ...report, refunds: [{ id: `return-${id}`, amount: srcAmount, reason: returnReason ?? "" }] };
}
