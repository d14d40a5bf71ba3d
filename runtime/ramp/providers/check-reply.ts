import Big from "big.js";
import { type Currency, readAmount } from "../accounts/currency.js";
import type { CoreContext } from "../core/context.js";
import type { Execution, Fees, Instruction, ProviderQuote, Rail, Receipt, Refund } from "./protocol.js";

/** The movement of money that was requested of a provider: its replies are checked against it. */
export interface RequestedMovement {
  readonly src: Currency;
  readonly dest: Currency;
  readonly srcAmount: string;
  readonly rails: readonly Rail[];
}

/** Reports that a part of a reply is left out, and why. */
type Report = (field: "id" | "quote" | "instruction" | "receipt" | "refund", problem: string) => void;

/** Logs the invalid parts of a provider's replies (runtime/ramp/docs/provider-protocol.md, Checks of answers). */
export function reporter({ log }: Pick<CoreContext, "log">, about: Readonly<Record<string, string>>): Report {
  return (field, problem) =>
    log.warn({ ...about, field, problem }, "invalid part of a provider reply left out");
}

/** How much more than the computed amount a provider may report: it rounds. */
const ROUNDING_FACTOR = "1.005";

/** What is wrong with a quote, or null. */
export function quoteProblem(quote: ProviderQuote, requested: RequestedMovement): string | null {
  const { dest, srcAmount, rails } = requested;
  if (!rails.includes(quote.rail)) return `rail ${quote.rail} was not requested`;
  if (!isAmountOf(quote.destAmount, dest)) return `destAmount is not an amount of ${dest.code}`;
  if (!new Big(quote.exchangeRate).gt(0)) return "exchangeRate is zero";
  if (new Big(quote.destAmount).gt(new Big(srcAmount).times(quote.exchangeRate).times(ROUNDING_FACTOR)))
    return "destAmount is more than srcAmount at the exchange rate";
  return feesProblem(quote.fees, requested);
}

function feesProblem(fees: Fees, { src, dest, srcAmount }: RequestedMovement): string | null {
  const currency = [src, dest].find(({ code }) => code === fees.currencyCode);
  if (!currency) return `fee currency ${fees.currencyCode} is neither source nor destination`;
  const { totalFee, networkFee, processingFee, partnerFee } = fees;
  const parts = [networkFee, processingFee, partnerFee];
  if ([totalFee, ...parts].some((fee) => (fee.split(".")[1] ?? "").length > currency.decimals))
    return `a fee has more decimals than ${currency.code}`;
  if (!parts.reduce((sum, part) => sum.plus(part), new Big(0)).eq(totalFee))
    return "totalFee is not the sum of its parts";
  if (currency === src && new Big(totalFee).gte(srcAmount)) return "totalFee is not less than srcAmount";
  return null;
}

/** An execution as far as it fits the order, and what was left out. */
export interface CheckedExecution extends Execution {
  /** Why the receipt cannot be one of the order, so that it is left out. */
  readonly receiptProblem: string | null;
  /** Whether the received amount is not the price. */
  readonly isAmountWrong: boolean;
  /** Whether the fee is not that of the price. */
  readonly isFeeWrong: boolean;
  /** Why refunds do not fit the order. */
  readonly refundProblem: string | null;
  /** Why the customer has no instructions. */
  readonly instructionProblem: string | null;
}

/** Leaves the parts out that contradict the order. Amounts get exactly the decimals of their currency. */
export function checkedExecution(
  execution: Execution,
  requested: RequestedMovement,
  price: CheckedPrice | null,
  report: Report,
): CheckedExecution {
  const { receipt, refunds, instructions, ...rest } = execution;
  const problems = instructions.map((item) => instructionProblem(item, requested));
  const invalidReceipt = receipt ? receiptProblem(receipt, requested) : null;
  const refundProblem = refundsProblem(refunds ?? [], requested);
  for (const problem of problems) if (problem !== null) report("instruction", problem);
  if (invalidReceipt !== null) report("receipt", invalidReceipt);
  if (refundProblem !== null) report("refund", refundProblem);
  const kept = instructions.filter((_, at) => problems[at] === null);
  const paysNothing = kept.length === 0 && execution.status === "AWAITING_FUNDS";
  const valid = receipt && invalidReceipt === null ? receipt : null;
  const amountReceived = valid?.amountReceived && exact(valid.amountReceived, requested.dest);
  return {
    ...rest,
    instructions: kept,
    ...(valid && { receipt: { ...valid, ...(amountReceived !== undefined && { amountReceived }) } }),
    ...(refunds &&
      refundProblem === null && {
        refunds: refunds.map((refund) => ({ ...refund, amount: exact(refund.amount, requested.src) })),
      }),
    receiptProblem: invalidReceipt,
    isAmountWrong: isFar(amountReceived, price?.destAmount, price),
    isFeeWrong: isFeeFar(valid?.fees, price),
    refundProblem,
    instructionProblem: paysNothing ? (problems.find((problem) => problem !== null) ?? null) : null,
  };
}

/** How far the market may move between an indicative price and the payment, in percent. */
const INDICATIVE_TOLERANCE = "5";

/** The price that an intent was made at. */
export interface CheckedPrice extends Pick<ProviderQuote, "destAmount" | "fees" | "hasIndicativePrice"> {
  /** How far the received amount may be from a held price, in percent: the project's setting. */
  readonly heldTolerance: string;
}

function toleranceOf({ hasIndicativePrice, heldTolerance }: CheckedPrice): Big {
  const held = new Big(heldTolerance);
  return hasIndicativePrice && held.lt(INDICATIVE_TOLERANCE) ? new Big(INDICATIVE_TOLERANCE) : held;
}

/** Whether a reported amount lies too far from that of the price, below it as well as above. Nothing reported is not far. */
function isFar(
  reported: string | undefined,
  expected: string | undefined,
  price: CheckedPrice | null,
): boolean {
  if (reported === undefined || expected === undefined || price === null) return false;
  const allowed = new Big(expected).times(toleranceOf(price)).div(100);
  return new Big(reported).minus(expected).abs().gt(allowed);
}

function isFeeFar(fees: Fees | undefined, price: CheckedPrice | null): boolean {
  if (fees === undefined || price === null) return false;
  if (fees.currencyCode === price.fees.currencyCode) return isFar(fees.totalFee, price.fees.totalFee, price);
  return !(new Big(fees.totalFee).eq(0) && new Big(price.fees.totalFee).eq(0));
}

function exact(amount: string, { decimals }: Currency): string {
  return new Big(amount).toFixed(decimals);
}

function instructionProblem({ type, details }: Instruction, requested: RequestedMovement): string | null {
  const { src, srcAmount, rails } = requested;
  const { currency, amount, rail } = details;
  if (type !== (src.type === "FIAT" ? "BANK" : "CRYPTO")) return `type ${type} does not fit ${src.code}`;
  if (currency !== undefined && currency !== src.code && currency !== src.ticker)
    return `currency is not ${src.code}`;
  if (rail !== undefined && !rails.some((known) => known === rail)) return "rail was not requested";
  const isSame = amount === undefined || (/^\d+(\.\d+)?$/.test(amount) && new Big(amount).eq(srcAmount));
  return isSame ? null : `amount is not ${srcAmount}`;
}

function receiptProblem(
  { amountReceived, fees, exchangeRate }: Receipt,
  requested: RequestedMovement,
): string | null {
  if (amountReceived !== undefined && !isAmountOf(amountReceived, requested.dest))
    return `amountReceived is not an amount of ${requested.dest.code}`;
  if (exchangeRate !== undefined && !new Big(exchangeRate).gt(0)) return "exchangeRate is zero";
  return fees ? feesProblem(fees, requested) : null;
}

function refundsProblem(refunds: readonly Refund[], { src }: RequestedMovement): string | null {
  const wrong = refunds.find(({ amount }) => !isAmountOf(amount, src));
  if (wrong) return `a refund of ${wrong.amount} is not an amount of ${src.code}`;
  return new Set(refunds.map(({ id }) => id)).size < refunds.length ? "two refunds have one id" : null;
}

function isAmountOf(text: string, currency: Currency): boolean {
  return readAmount(text, currency).ok;
}
