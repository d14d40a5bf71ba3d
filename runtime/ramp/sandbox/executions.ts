import { Amount, type AmountText } from "../accounts/amount.js";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Execution, ExecutionOrder, Receipt, RefundOrder } from "../providers/protocol.js";
import type { Deposit } from "../providers/deposit-messages.js";
import { type HeldQuotes, QUOTE_EXPIRED } from "./held-quotes.js";
import type { Onboardings } from "./onboardings.js";
import { instructionOf, namesReceiver, paymentMs, priceOfOrder } from "./profiles.js";
import {
  CONFLICT,
  FAILURE,
  NO_RECEIVER,
  type ProviderState,
  refused,
  type Rejection,
  UNKNOWN,
} from "./provider-state.js";
import { OMITTED_MS, Refunds } from "./refunds.js";

interface StoredExecution {
  /** Null: cancelled before it was ordered. */
  readonly order: ExecutionOrder | null;
  execution: Execution;
  readonly refunds: Refunds;
  /** Whether a look-up has been answered with SUCCESS. */
  isPaidKnown?: boolean;
}

interface OrderedExecution extends StoredExecution {
  readonly order: ExecutionOrder;
}

/** Payments of one sandbox provider; orders are kept in memory. */
export class Executions {
  readonly #state: ProviderState;
  readonly #quotes: HeldQuotes;
  readonly #onboardings: Onboardings;
  /** Bounded by the orders of the ramp beside it, until the sandbox ends. */
  readonly #stored = new Map<string, StoredExecution>();

  constructor(state: ProviderState, quotes: HeldQuotes, onboardings: Onboardings) {
    this.#state = state;
    this.#quotes = quotes;
    this.#onboardings = onboardings;
  }

  /** Ids of those that were carried out; a repeated order is not carried out again. */
  get executed(): readonly string[] {
    return [...this.#stored].filter(([, { order }]) => order !== null).map(([id]) => id);
  }

  /** @param pageUrl the provider's own page of the payment */
  start(order: ExecutionOrder, pageUrl: string): Execution | Rejection {
    const stored = this.#stored.get(order.id);
    if (stored)
      return stored.order === null || isDeepStrictEqual(stored.order, order) ? stored.execution : CONFLICT;
    const problem = this.#problem(order);
    if (problem !== null) return problem;
    const { execution: kind, instructions } = this.#switches(order);
    const { profile, clock } = this.#state;
    const reference = this.#nextReference();
    const { details, ...instruction } = instructionOf(profile, order, reference);
    const shown = instructions === "valid" ? details : { ...details, amount: "1.00" };
    const { amount = "", currency = "" } = details;
    const elsewhere = {
      encoding: "REDIRECT",
      url: pageUrl,
      details: { amount, currency, reference },
    } as const;
    const dueMs = paymentMs(order);
    const execution: Execution = {
      id: order.id,
      reference,
      status: "AWAITING_FUNDS",
      failureReason: null,
      instructions: [{ ...instruction, details: shown, ...(kind === "page" && elsewhere) }],
      paymentDueAt: new Date(clock.now().getTime() + dueMs).toISOString(),
    };
    const made: OrderedExecution = { order, execution, refunds: new Refunds() };
    this.#stored.set(order.id, made);
    clock.after(dueMs, () => this.#fail(made, "The payment did not arrive in time."));
    if (kind !== "stall" && kind !== "page") this.#state.later(() => this.#receiveFunds(made));
    return execution;
  }

  #nextReference(): string {
    return `${this.#state.profile.capabilities.code}-${String(this.#stored.size + 1).padStart(6, "0")}`;
  }

  /** A payment that arrived at a deposit account. Without a price it goes back to its sender. */
  receive(order: ExecutionOrder, { price, returnReason }: Deposit): void {
    const reference = this.#nextReference();
    const made: OrderedExecution = {
      order,
      execution: { id: order.id, reference, status: "PROCESSING", failureReason: null, instructions: [] },
      refunds: new Refunds(),
    };
    this.#stored.set(order.id, made);
    const sendBack = (): void => {
      const refund = {
        id: `return-${order.id}`,
        amount: order.movement.srcAmount,
        reason: returnReason ?? "",
      };
      this.#change(made, { status: "REFUNDED", refunds: [refund] });
    };
    this.#state.notify(order, { type: "execution.updated", onboardingId: order.onboardingId });
    this.#state.later(price === undefined ? sendBack : () => this.#settle(made));
  }

  #problem(order: ExecutionOrder): Rejection | null {
    const onboarded = this.#onboardings.completed(order.onboardingId);
    if (onboarded === null) return refused("NOT_ONBOARDED", "The customer is not onboarded.");
    if (!namesReceiver(this.#state.profile, order.movement)) return NO_RECEIVER;
    const { execution } = this.#switches(order);
    if (execution === "refuse") return refused("REFUSED", "The provider does not take this order.");
    // The accepted price has changed all at once.
    const isAccepted = order.movement.quoteId === onboarded.movement.quoteId;
    if (execution === "reprice" && isAccepted) return QUOTE_EXPIRED;
    return this.#onboardings.quoteProblem(order);
  }

  #switches({ movement: { srcAmount } }: ExecutionOrder) {
    return this.#state.switchesFor(srcAmount);
  }

  #receiveFunds(stored: OrderedExecution): void {
    if (stored.execution.status !== "AWAITING_FUNDS") return;
    this.#change(stored, { status: "PROCESSING" });
    this.#state.later(() => this.#settle(stored));
  }

  #settle(stored: OrderedExecution): void {
    const { order, execution } = stored;
    const { execution: kind } = this.#switches(order);
    if (kind === "fail")
      return this.#change(stored, { status: "FAILED", failureReason: "The transfer was returned." });
    const reference = kind === "rename" ? `${execution.reference}-new` : execution.reference;
    const receipt = this.#receiptOf(order);
    this.#change(stored, { status: "SUCCESS", reference, ...(receipt && { receipt }) });
    if (kind === "reverse") this.#state.later(() => this.#reverse(stored));
    if (kind === "contradict") this.#state.later(() => this.#change(stored, {}));
  }

  /** The bank takes the payment back. */
  #reverse(stored: OrderedExecution): void {
    const { id, movement } = stored.order;
    const refund = { id: `return-${id}`, amount: movement.srcAmount, reason: "Returned by the bank." };
    this.#change(stored, { status: "REFUNDED", refunds: [refund] });
  }

  /** The customer has decided on the provider's own page. Returns the order. */
  decideOnPage(id: string, decision: string): ExecutionOrder | null {
    const stored = this.#stored.get(id);
    if (!stored || !isOrdered(stored) || this.#switches(stored.order).execution !== "page") return null;
    if (decision === "approve") this.#receiveFunds(stored);
    if (decision === "reject") this.#fail(stored, "The customer did not pay.");
    return stored.order;
  }

  /** Only while its money has not arrived. */
  #fail(stored: OrderedExecution, failureReason: string): void {
    if (stored.execution.status === "AWAITING_FUNDS")
      this.#change(stored, { status: "FAILED", failureReason });
  }

  #change(stored: OrderedExecution, change: Partial<Execution>): void {
    const { order } = stored;
    stored.execution = { ...stored.execution, ...change };
    this.#state.notify(order, { type: "execution.updated", onboardingId: order.onboardingId });
  }

  #receiptOf(order: ExecutionOrder): Receipt | null {
    const { id, movement } = order;
    const { src, dest, srcAmount, rail } = movement;
    const codes = { srcCurrencyCode: src.currencyCode, destCurrencyCode: dest.currencyCode };
    const { sentPercent, deliveredPercent } = this.#switches(order);
    if (deliveredPercent === null) return null;
    const amountSent = percentOf(srcAmount, sentPercent);
    const held = sentPercent === 100 ? this.#quotes.quoteOf(movement) : undefined;
    const quote = held ?? priceOfOrder(this.#state.profile, { ...codes, srcAmount: amountSent, rail });
    if (quote === null) return { amountSent };
    const { destAmount, fees, exchangeRate } = quote;
    const proof =
      movement.type === "ONRAMP"
        ? { transactionHash: `0x${createHash("sha256").update(id).digest("hex")}` }
        : { bankReference: id };
    return {
      amountSent,
      amountReceived: percentOf(destAmount, deliveredPercent),
      fees,
      exchangeRate,
      ...proof,
    };
  }

  /** A repeated refund changes nothing. */
  refund(order: RefundOrder, id: string): Execution | Rejection {
    const stored = this.#stored.get(id);
    if (!stored || !isOrdered(stored)) return UNKNOWN;
    const { execution, refunds } = stored;
    if (refunds.has(order.id)) return execution;
    const { refunds: kind } = this.#switches(stored.order);
    if (execution.status === "REFUNDED") return refused("NOT_REFUNDABLE", "Nothing is left to refund.");
    if (execution.status !== "SUCCESS" || kind === "refuse" || !refunds.canTake(order, sentOf(execution)))
      return refused("NOT_REFUNDABLE", "The amount is not there to refund.");
    refunds.take(order, kind);
    this.#reportRefunds(stored);
    const end = (status: "SUCCEEDED" | "FAILED", failureReason: string | null = null): void => {
      if (refunds.end(order.id, { status, ...(failureReason !== null && { failureReason }) }))
        this.#reportRefunds(stored);
    };
    if (kind === "settle") this.#state.later(() => end("SUCCEEDED"));
    if (kind === "fail") this.#state.later(() => end("FAILED", "The account is closed."));
    if (kind === "omit") this.#state.clock.after(OMITTED_MS, () => end("SUCCEEDED"));
    return stored.execution;
  }

  cancelRefund(id: string, refundId: string): Execution | Rejection {
    const stored = this.#stored.get(id);
    if (!stored || !isOrdered(stored)) return UNKNOWN;
    if (!stored.refunds.cancel(refundId)) return refused("NOT_CANCELLABLE", "The money has left.");
    if (stored.execution.status === "SUCCESS") this.#reportRefunds(stored);
    return stored.execution;
  }

  #reportRefunds(stored: OrderedExecution): void {
    this.#change(stored, stored.refunds.report(sentOf(stored.execution)));
  }

  get(id: string): Execution | Rejection {
    const stored = this.#stored.get(id);
    if (stored === undefined) return UNKNOWN;
    const { order, execution } = stored;
    const kind = order && this.#switches(order).execution;
    if (kind === "break") return FAILURE;
    if (kind === "forget" && execution.status !== "AWAITING_FUNDS") return UNKNOWN;
    if (kind === "contradict" && stored.isPaidKnown === true) return { ...execution, status: "PROCESSING" };
    stored.isPaidKnown = execution.status === "SUCCESS";
    return execution;
  }

  cancel(id: string): Execution {
    const stored = this.#stored.get(id) ?? {
      order: null,
      execution: NEVER_MADE(id),
      refunds: new Refunds(),
    };
    // A payment that has arrived cannot be cancelled.
    if (stored.execution.status === "AWAITING_FUNDS")
      stored.execution = { ...stored.execution, status: "CANCELLED" };
    this.#stored.set(id, stored);
    return stored.execution;
  }
}

function isOrdered(stored: StoredExecution): stored is OrderedExecution {
  return stored.order !== null;
}

/** What the source sent; nothing without a receipt. */
function sentOf({ receipt }: Execution): string {
  return receipt?.amountSent ?? "0";
}

/** With the decimals of the amount. */
function percentOf(amount: AmountText, percent: number): string {
  const [, fraction = ""] = amount.split(".");
  return Amount.of(amount).percent(String(percent)).text(fraction.length);
}

const NEVER_MADE = (id: string): Execution => ({
  id,
  reference: `never-made-${id}`,
  status: "CANCELLED",
  failureReason: null,
  instructions: [],
});
