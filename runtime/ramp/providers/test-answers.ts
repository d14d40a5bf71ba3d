import { checkedExecution, quoteProblem, type RequestedMovement } from "./check-reply.js";
import type { Execution, Onboarding, ProviderQuote } from "./protocol.js";
import type { ProviderReply } from "./provider.js";
import { type CheckList, type CheckProblem, describe } from "./test-checks.js";

/** What `ramp provider test` says of answers, by the ramp's own checks of them. */

/** The tolerance of a new project. */
const HELD_TOLERANCE = "0.5";

/** What the ramp refuses of an offer. */
export function offerProblem(
  quote: ProviderQuote | null,
  { srcAmount, ...movement }: RequestedMovement,
  destAmount: string | null = null,
): CheckProblem {
  if (quote === null) return "the quote is null";
  const wanted = { ...movement, srcAmount: destAmount === null ? srcAmount : null, destAmount };
  return quoteProblem(quote, wanted) ?? false;
}

/** Checks the answers about one payment, oldest first, against its order and its price. */
export function checkPayment(
  checks: CheckList,
  answers: readonly Execution[],
  movement: RequestedMovement,
  price: ProviderQuote,
): void {
  const wrong: string[] = [];
  const checked = answers.map((answer) =>
    checkedExecution(
      answer,
      { ...movement, receipt: null },
      { ...price, heldTolerance: HELD_TOLERANCE },
      (field, problem) => {
        if (field === "instruction") wrong.push(problem);
      },
    ),
  );
  const awaiting = checked.filter(({ status }) => status === "AWAITING_FUNDS");
  const isUnpayable = awaiting.length > 0 && awaiting.every(({ instructions }) => instructions.length === 0);
  checks.check(
    "while it awaits funds it has instructions that fit the order",
    wrong[0] ?? (isUnpayable && "there are none"),
  );
  const last = checked.at(-1);
  const { amountSent, amountReceived, fees } = last?.receipt ?? {};
  const far = [
    last?.receiptProblem,
    last?.isSentWrong && `amountSent is ${amountSent ?? ""}, the order ${movement.srcAmount}`,
    last?.isAmountWrong && `amountReceived is ${amountReceived ?? ""}, the price ${price.destAmount}`,
    last?.isFeeWrong &&
      `totalFee is ${fees?.totalFee ?? ""} ${fees?.currencyCode ?? ""}, the price's ${price.fees.totalFee} ${price.fees.currencyCode}`,
  ].filter(Boolean);
  checks.check("its receipt fits the order and its price", far.join("; ") || false);
}

/** What the ramp refuses of a list of refunds. */
export function refundsProblemOf(answer: Execution, movement: RequestedMovement): CheckProblem {
  const requested = { ...movement, receipt: null };
  return checkedExecution(answer, requested, null, () => undefined).refundProblem ?? false;
}

/** What keeps an onboarding from being complete. */
export function requirementsProblem(reply: ProviderReply<Onboarding>): CheckProblem {
  if (reply.kind !== "answer") return `the last look-up: ${describe(reply)}`;
  const { requirements, complete = true } = reply.value;
  const open = requirements.filter(({ status }) => status !== "COMPLETED");
  const states = open.map(({ code, status, failureReason }) =>
    [`${code} is ${status}`, failureReason ?? ""].filter(Boolean).join(", "),
  );
  return states.join("; ") || (!complete && "the list is not `complete`");
}
