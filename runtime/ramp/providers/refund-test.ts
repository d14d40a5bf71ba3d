import { Amount, type AmountText } from "../accounts/amount.js";
import { randomUUID } from "node:crypto";
import type { RequestedMovement } from "./check-reply.js";
import type { Refund } from "./protocol.js";
import type { HttpProvider } from "./provider.js";
import { refundsProblemOf } from "./test-answers.js";
import { type CheckList, describe } from "./test-checks.js";

/** A payment that `ramp provider test` has made. */
export interface PaidOrder {
  readonly id: string;
  readonly movement: RequestedMovement;
}

/** Refunds a half of the payment, then the rest; each may be PENDING, or not listed, at first. */
export async function refundChecks(
  provider: HttpProvider,
  checks: CheckList,
  order: PaidOrder,
): Promise<void> {
  const { src, srcAmount } = order.movement;
  const half = Amount.of(srcAmount).percent("50").roundedDown(src.decimals);
  const rest = Amount.of(srcAmount).minus(half);
  const test = new RefundTest(provider, checks, order);
  await test.order(half.text(src.decimals), "a partial refund");
  await test.order(rest.text(src.decimals), "a full refund");
}

class RefundTest {
  readonly #ids: string[] = [];

  constructor(
    readonly provider: HttpProvider,
    readonly checks: CheckList,
    readonly paid: PaidOrder,
  ) {}

  async order(amount: AmountText, name: "a partial refund" | "a full refund"): Promise<void> {
    const { provider, checks, paid } = this;
    const refund = { id: randomUUID(), amount, reason: "test" };
    this.#ids.push(refund.id);
    checks.answer(name, await provider.refund(paid.id, refund));
    let last = checks.answer(`${name}, repeated`, await provider.refund(paid.id, refund));
    const [status, count] = [name === "a partial refund" ? "SUCCESS" : "REFUNDED", this.#ids.length];
    const open = await checks.until(async () => {
      const reply = await provider.execution(paid.id);
      if (reply.kind === "answer") last = reply.value;
      if (last.status === status && succeeded(last.refunds).length >= count) return false;
      const refused = reply.kind === "answer" ? "" : `; the last look-up: ${describe(reply)}`;
      return `${last.status} with ${JSON.stringify(last.refunds ?? [])}${refused}`;
    });
    const listed = succeeded(last.refunds);
    if (status === "SUCCESS") checks.check("after it the payment is SUCCESS, and lists it", open);
    else checks.check("a full refund is REFUNDED", open);
    checks.check("it is one refund", listed.length !== count && JSON.stringify(listed));
    const made = listed.find((item) => item.id === refund.id || item.orderId === refund.id);
    checks.check(
      "it names the id of its order (id or orderId)",
      made === undefined && JSON.stringify(listed),
    );
    const isOther = made !== undefined && !Amount.of(made.amount).equals(amount);
    checks.check("it has the amount of its order", isOther && `${made.amount}, not ${amount}`);
    checks.check("the list of refunds fits the order", refundsProblemOf(last, paid.movement));
  }
}

function succeeded(refunds: readonly Refund[] = []): readonly Refund[] {
  return refunds.filter(({ status = "SUCCEEDED" }) => status === "SUCCEEDED");
}

/** A refund that is cancelled before it comes. */
export async function refundCancelChecks(
  provider: HttpProvider,
  checks: CheckList,
  { id, movement: { srcAmount: amount } }: PaidOrder,
): Promise<void> {
  const never = { id: randomUUID(), amount, reason: "test" };
  checks.answer("cancel of a refund that never came", await provider.cancelRefund(id, never.id));
  const late = await provider.refund(id, never);
  const isMade =
    late.kind !== "refused" && !(late.kind === "answer" && (late.value.refunds ?? []).every(isCancelled));
  checks.check("a refund that comes after its cancel is not made", isMade && describe(late));
}

function isCancelled({ status }: Refund): boolean {
  return status === "CANCELLED";
}
