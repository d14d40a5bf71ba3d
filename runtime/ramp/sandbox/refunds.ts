import { Amount } from "../accounts/amount.js";
import type { Execution, Refund, RefundOrder } from "../providers/protocol.js";
import type { Switches } from "./behaviour.js";

type RefundBehaviour = Switches["refunds"];

interface TakenRefund {
  readonly orderId: string;
  refund: Refund;
  isListed: boolean;
}

/** How long the sandbox takes to list a refund that it omits at first: banks list on the next working days. */
export const OMITTED_MS = 2 * 24 * 60 * 60_000;

/** The refunds of one payment. */
export class Refunds {
  readonly #taken: TakenRefund[] = [];
  /** Orders that were cancelled before they came. Bounded by the cancels of the ramp beside it, until the sandbox ends. */
  readonly #never = new Set<string>();

  has(orderId: string): boolean {
    return this.#taken.some((taken) => taken.orderId === orderId);
  }

  /** Whether so much is left of what was sent, and the order was not cancelled before it came. */
  canTake({ id, amount }: RefundOrder, sent: string): boolean {
    return !this.#never.has(id) && !this.#left(sent, ["PENDING", "SUCCEEDED"]).isLess(amount);
  }

  take(order: RefundOrder, kind: RefundBehaviour): void {
    const isDone = kind === "accept" || kind === "rename";
    const own = kind === "rename" ? { id: `own-${String(this.#taken.length + 1)}` } : {};
    const refund: Refund = { ...order, ...own, ...(!isDone && { status: "PENDING" as const }) };
    this.#taken.push({ orderId: order.id, refund, isListed: kind !== "omit" });
  }

  /** Ends a refund that is on its way; false: there is none. */
  end(id: string, change: Pick<Refund, "status" | "failureReason">): boolean {
    const taken = this.#taken.find(({ orderId, refund }) => orderId === id || refund.id === id);
    if (taken?.refund.status !== "PENDING") return false;
    taken.refund = { ...taken.refund, ...change };
    taken.isListed = true;
    return true;
  }

  /** False: the money has left. */
  cancel(id: string): boolean {
    if (this.#taken.some(({ orderId, refund }) => orderId === id || refund.id === id))
      return this.end(id, { status: "CANCELLED" });
    this.#never.add(id);
    return true;
  }

  /** What the execution says of them. */
  report(sent: string): Pick<Execution, "status" | "refunds"> {
    const isGone = this.#taken.length > 0 && this.#left(sent, ["SUCCEEDED"]).isZero();
    const status = isGone ? "REFUNDED" : "SUCCESS";
    return { status, refunds: this.#taken.filter(({ isListed }) => isListed).map(({ refund }) => refund) };
  }

  #left(sent: string, statuses: readonly Refund["status"][]): Amount {
    return this.#taken
      .filter(({ refund: { status = "SUCCEEDED" } }) => statuses.includes(status))
      .reduce((rest, { refund: { amount } }) => rest.minus(amount), Amount.of(sent));
  }
}
