/** A provider of the simulation: orders, money and its own ledger in memory, honest or not, over a network that loses and doubles messages. */
import Big from "big.js";
import type { DepositAccount } from "../../../runtime/ramp/providers/deposit-messages.js";
import type {
  Execution,
  ExecutionOrder,
  Onboarding,
  OnboardingOrder,
  Receipt,
  Refund,
  RefundOrder,
} from "../../../runtime/ramp/providers/protocol.js";
import type { Provider, ProviderReply } from "../../../runtime/ramp/providers/provider.js";
import { FEES } from "../support/card-provider.js";
import { type Market, PRICE } from "./market.js";
import type { Random } from "./random.js";
import type { SimBank } from "./sim-bank.js";

/** The process that makes a call dies. */
export class Crash extends Error {}

export const SRC_AMOUNT = "100.00";
export { FEES, PRICE };

interface Order {
  readonly id: string;
  /** What the destination is to receive, by the quote that the order names. */
  readonly price: string;
  status: Execution["status"];
  reference: string;
  /** Whether the payment was received, once. */
  wasPaid: boolean;
  /** What the source sent, as the last receipt that said it did; else what was ordered. */
  sent: string;
  receipt: Receipt | undefined;
  /** Null: not listed in reports. */
  refunds: Refund[] | null;
  /** Refunds that are taken and not listed yet. */
  taken: Refund[];
}

/** How the provider takes a refund that it is asked for: the money leaves with SUCCEEDED. */
const WAYS = [
  "at once",
  "pending",
  "listed later",
  "under its own id",
  "under its own id with the order's",
] as const;

const isGone = ({ status = "SUCCEEDED" }: Refund): boolean => status === "SUCCEEDED";
const isPending = ({ status }: Refund): boolean => status === "PENDING";
const isOnItsWay = (refund: Refund): boolean => isGone(refund) || isPending(refund);
const sumOf = (refunds: readonly Refund[]): Big =>
  refunds.reduce((sum, { amount }) => sum.plus(amount), new Big(0));

/** What no refund takes, made or on its way. */
function leftOf({ sent, refunds, taken }: Order): Big {
  return new Big(sent).minus(sumOf([...(refunds ?? []), ...taken].filter(isOnItsWay)));
}

/** What the network does to the next call. */
export type Fault =
  | "none"
  | "request lost"
  | "answer lost"
  | "doubled"
  | "crash before"
  | "crash after"
  | "stale"
  /** Without receipt and refunds. */
  | "bare"
  | "forgotten";

function bare({ id, reference, status, failureReason, instructions }: Execution): Execution {
  return { id, reference, status, failureReason, instructions };
}

export class SimProvider implements Provider {
  /** Orders that were carried out; the second of an intent is money paid twice. */
  readonly executed: string[] = [];
  readonly refundsMade: string[] = [];
  readonly #cancelled = new Set<string>();
  readonly #cancelledRefunds = new Set<string>();
  readonly #random: Random;
  readonly #market: Market;
  readonly #bank: SimBank;
  /** Quotes that an onboarding has accepted. */
  readonly #accepted = new Set<string | undefined>();
  order: Order | null = null;
  fault: Fault = "none";
  quotes = true;
  refuses = false;
  refusesRefunds = false;
  /** It called an order unknown that it has. */
  hasDenied = false;
  #before: Execution | null = null;
  #accountBefore: ProviderReply<DepositAccount> | null = null;

  constructor(random: Random, market: Market, bank: SimBank) {
    this.#random = random;
    this.#market = market;
    this.#bank = bank;
  }

  /** What its account holds by its own books, by currency. */
  ledger(): Readonly<Record<string, string>> {
    const { order } = this;
    if (!order?.wasPaid) return {};
    const listed = sumOf((order.refunds ?? []).filter(isGone));
    const isReturned = order.status === "FAILED" || order.status === "REFUNDED";
    const left = new Big(order.sent).minus(listed);
    const fee = order.receipt?.fees?.totalFee ?? "0";
    const sums = {
      USD: (isReturned && left.gt(0) ? new Big(0) : left).minus(fee),
      USDC_POLYGON: new Big(order.receipt?.amountReceived ?? "0").neg(),
    };
    return Object.fromEntries(
      Object.entries(sums)
        .filter(([, sum]) => !sum.eq(0))
        .map(([currency, sum]) => [currency, sum.toFixed()]),
    );
  }

  /** Something happens at the provider; what it was, for the trace. */
  act(): string {
    const { order } = this;
    if (order === null) return "nothing";
    const refunds = order.refunds ?? [];
    const [amount] = this.#random.pick([["10"], ["50"], ["90"]] as const);
    const { price } = order;
    const cost = new Big(SRC_AMOUNT).minus(price).toFixed(2);
    const usual = { ...FEES, totalFee: cost, processingFee: cost };
    const receipt = (amountReceived: string, fees = usual): Receipt => ({
      // What it has named once it names in all later receipts (runtime/ramp/docs/provider-protocol.md, Amounts).
      ...(order.receipt?.amountSent !== undefined && { amountSent: order.sent }),
      amountReceived,
      fees,
      exchangeRate: "1",
    });
    const acts: Record<string, (() => void) | false> = {
      funded: order.status === "AWAITING_FUNDS" && (() => void (order.status = "PROCESSING")),
      settled: !order.wasPaid && (() => this.#pay(order, receipt(price === PRICE ? "98.9" : price))),
      "settled again": !order.wasPaid && (() => this.#pay(order, receipt(price))),
      "settled wrongly":
        !order.wasPaid && (() => this.#pay(order, receipt(this.#random.pick(["0.01", "990", "49"])))),
      "paid short": !order.wasPaid && (() => this.#pay(order, { ...receipt("59"), amountSent: "60" })),
      "paid too much": !order.wasPaid && (() => this.#pay(order, { ...receipt("139"), amountSent: "140" })),
      "the rest arrived":
        order.wasPaid &&
        order.sent !== SRC_AMOUNT &&
        (() => {
          order.sent = SRC_AMOUNT;
          order.receipt = { ...receipt(price), amountSent: SRC_AMOUNT };
        }),
      "settled with a wrong fee":
        !order.wasPaid &&
        (() =>
          this.#pay(
            order,
            receipt(price, { ...usual, totalFee: new Big(cost).plus(4).toFixed(2), networkFee: "4.00" }),
          )),
      "settled without a receipt": !order.wasPaid && (() => this.#pay(order, undefined)),
      failed: !order.wasPaid && (() => void (order.status = "FAILED")),
      "charged back": order.status === "SUCCESS" && (() => void (order.status = "FAILED")),
      recovered: order.wasPaid && order.status === "FAILED" && (() => void (order.status = "SUCCESS")),
      corrected: order.wasPaid && (() => void (order.receipt = receipt(price))),
      "corrected wrongly": order.wasPaid && (() => void (order.receipt = receipt("1"))),
      refunded: order.status === "SUCCESS" && (() => this.#refund(order, amount)),
      "refund renamed":
        refunds.length > 0 &&
        (() => void (order.refunds = refunds.map((item) => ({ ...item, id: `${item.id}x` })))),
      "refund lowered":
        refunds.length > 0 &&
        (() => void (order.refunds = refunds.map((item) => ({ ...item, amount: "1" })))),
      "refund done": refunds.some(isPending) && (() => this.#end(order, isPending, "SUCCEEDED")),
      "refund failed": refunds.some(isPending) && (() => this.#end(order, isPending, "FAILED")),
      "refund returned by the bank":
        order.status === "SUCCESS" && refunds.some(isGone) && (() => this.#end(order, isGone, "FAILED")),
      "refund listed":
        order.taken.length > 0 &&
        (() => {
          order.refunds = [...refunds, ...order.taken.splice(0)];
          this.#settle(order);
        }),
      goodwill:
        order.status === "SUCCESS" &&
        (() => void (order.refunds = [...refunds, { id: "gift", amount: "120", reason: "" }])),
      "refunded without a list":
        order.status === "SUCCESS" && order.refunds === null && (() => void (order.status = "REFUNDED")),
      "reference changed": () => void (order.reference += "x"),
    };
    const possible = Object.entries(acts).filter(([, act]) => act !== false);
    const [name, act] = this.#random.pick(possible);
    if (act) act();
    return name;
  }

  #pay(order: Order, receipt: Receipt | undefined): void {
    order.wasPaid = true;
    order.status = "SUCCESS";
    order.sent = receipt?.amountSent ?? SRC_AMOUNT;
    order.receipt = receipt;
  }

  #refund(order: Order, amount: string): void {
    const refunds = order.refunds ?? [];
    if (leftOf(order).lt(amount)) return;
    order.refunds = [...refunds, { id: `own-${String(refunds.length)}`, amount, reason: "return" }];
    this.#settle(order);
  }

  /** The first refund that matches comes to an end. */
  #end(
    order: Order,
    matches: (refund: Refund) => boolean,
    status: "SUCCEEDED" | "FAILED" | "CANCELLED",
  ): void {
    const ended = order.refunds?.find(matches);
    order.refunds = (order.refunds ?? []).map((item) => (item === ended ? { ...item, status } : item));
    this.#settle(order);
  }

  #settle(order: Order): void {
    const isAll = new Big(order.sent).eq(sumOf((order.refunds ?? []).filter(isGone)));
    if (order.status === "SUCCESS" && isAll) order.status = "REFUNDED";
  }

  #report(): Execution {
    const { order } = this;
    if (order === null) throw new Error("There is no order.");
    const { id, status, reference, receipt, refunds } = order;
    return {
      id,
      reference,
      status,
      failureReason: status === "FAILED" ? "failed" : null,
      instructions: [],
      ...(receipt ? { receipt } : {}),
      ...(refunds ? { refunds: [...refunds] } : {}),
    };
  }

  async #call<T>(run: () => ProviderReply<T>): Promise<ProviderReply<T>> {
    const { fault } = this;
    this.fault = "none";
    await Promise.resolve();
    if (fault === "crash before") throw new Crash();
    if (fault === "request lost") return { kind: "unavailable", reason: "timeout", isOutage: true };
    const reply = run();
    if (fault === "doubled") run();
    if (fault === "crash after") throw new Crash();
    return fault === "answer lost" ? { kind: "unavailable", reason: "timeout", isOutage: true } : reply;
  }

  capabilities: Provider["capabilities"] = () => Promise.reject(new Error("Not called."));
  submit: Provider["submit"] = () => Promise.reject(new Error("Not called."));
  openDepositAccount: Provider["openDepositAccount"] = (id, body) =>
    this.#call(() => this.#bank.open(id, body));
  closeDepositAccount: Provider["closeDepositAccount"] = (id) => this.#call(() => this.#bank.close(id));
  depositAccount: Provider["depositAccount"] = (id, after) => {
    const { fault } = this;
    return this.#call(() => {
      const stale = this.#accountBefore;
      this.#accountBefore = this.#bank.account(id, after);
      return fault === "stale" && stale !== null ? stale : this.#accountBefore;
    });
  };
  verifyCallback: Provider["verifyCallback"] = () => null;

  quote: Provider["quote"] = () =>
    this.#call(() =>
      this.quotes
        ? { kind: "answer", value: this.#market.quote() }
        : { kind: "unavailable", reason: "503", isOutage: true },
    );

  startOnboarding: Provider["startOnboarding"] = (id, body) =>
    this.#call(() => {
      const { quoteId } = (JSON.parse(body) as OnboardingOrder).movement;
      const refusal = this.#accepted.size > 0 ? null : this.#market.refusal(quoteId);
      if (refusal !== null) return refusal;
      this.#accepted.add(quoteId);
      return this.#onboarding(id);
    });
  onboarding: Provider["onboarding"] = (id) =>
    this.#call(() =>
      this.#market.holds && this.#accepted.size === 0 ? { kind: "unknown" } : this.#onboarding(id),
    );

  #onboarding(id: string): ProviderReply<Onboarding> {
    const [accepted] = this.#accepted;
    return { kind: "answer", value: { id, requirements: [], ...this.#market.told(accepted) } };
  }

  execute: Provider["execute"] = (id, body) =>
    this.#call(() => {
      if (this.order?.id === id) return { kind: "answer", value: this.#report() };
      if (this.refuses && !this.#cancelled.has(id))
        return { kind: "refused", code: "REFUSED", message: "refused" };
      const isCancelled = this.#cancelled.has(id);
      const { id: ordered, movement } = JSON.parse(body) as ExecutionOrder;
      const refusal = isCancelled ? null : this.#market.refusal(movement.quoteId);
      if (refusal !== null) return refusal;
      if (!isCancelled) this.executed.push(ordered);
      const status = isCancelled ? "CANCELLED" : "AWAITING_FUNDS";
      this.order = {
        id,
        price: this.#market.destAmountOf(movement.quoteId),
        status,
        reference: "r",
        wasPaid: false,
        sent: SRC_AMOUNT,
        receipt: undefined,
        refunds: null,
        taken: [],
      };
      return { kind: "answer", value: this.#report() };
    });

  execution: Provider["execution"] = (id) => {
    const { fault } = this;
    return this.#call(() => {
      const deposit = this.#bank.execution(id);
      if (deposit !== null) return deposit;
      if (this.order?.id === id && fault === "forgotten") this.hasDenied = true;
      if (this.order?.id !== id || fault === "forgotten") return { kind: "unknown" };
      const now = this.#report();
      if (fault === "bare") return { kind: "answer", value: bare(now) };
      const stale = this.#before;
      this.#before = now;
      return { kind: "answer", value: fault === "stale" && stale ? stale : now };
    });
  };

  cancel: Provider["cancel"] = (id) =>
    this.#call(() => {
      if (this.order?.id !== id) {
        this.#cancelled.add(id);
        return { kind: "unknown" };
      }
      if (this.order.status === "AWAITING_FUNDS") this.order.status = "CANCELLED";
      return { kind: "answer", value: this.#report() };
    });

  refund: Provider["refund"] = (id, order) =>
    this.#call(() => {
      const { order: known } = this;
      if (known?.id !== id) return { kind: "unknown" };
      if (this.refundsMade.includes(order.id)) return { kind: "answer", value: this.#report() };
      const isRefused = this.refusesRefunds || this.#cancelledRefunds.has(order.id);
      if (isRefused || known.status !== "SUCCESS" || leftOf(known).lt(order.amount))
        return { kind: "refused", code: "NOT_REFUNDABLE", message: "no" };
      this.refundsMade.push(order.id);
      this.#take(known, order);
      return { kind: "answer", value: this.#report() };
    });

  #take(known: Order, order: RefundOrder): void {
    const refunds = known.refunds ?? [];
    const own = `mine-${String(this.refundsMade.length)}`;
    switch (this.#random.pick(WAYS)) {
      case "at once":
        known.refunds = [...refunds, order];
        break;
      case "pending":
        known.refunds = [...refunds, { ...order, status: "PENDING" }];
        break;
      case "listed later":
        known.taken.push(order);
        break;
      case "under its own id":
        known.refunds = [...refunds, { ...order, id: own }];
        break;
      case "under its own id with the order's":
        known.refunds = [...refunds, { ...order, id: own, orderId: order.id }];
    }
    this.#settle(known);
  }

  cancelRefund: Provider["cancelRefund"] = (id, refundId) =>
    this.#call(() => {
      const { order: known } = this;
      if (known?.id !== id) return { kind: "unknown" };
      const names = (item: Refund): boolean => item.id === refundId || item.orderId === refundId;
      const listed = known.refunds?.find(names);
      if (listed !== undefined && !isPending(listed))
        return { kind: "refused", code: "NOT_CANCELLABLE", message: "no" };
      if (listed !== undefined) this.#end(known, names, "CANCELLED");
      else if (known.taken.some(names)) known.taken = known.taken.filter((item) => !names(item));
      else this.#cancelledRefunds.add(refundId);
      return { kind: "answer", value: this.#report() };
    });
}
