import Big from "big.js";
import { type Currency, readAmount } from "../accounts/currency.js";
import type { RampContext } from "../context.js";
import type { ReplyField } from "../ramp-metrics.js";
import type { Execution, Fees, Instruction, ProviderQuote, Rail, Receipt, Refund } from "./protocol.js";

/** The movement of money that was requested of a provider: its replies are checked against it. */
export interface RequestedMovement {
  readonly src: Currency;
  readonly dest: Currency;
  readonly srcAmount: string;
  readonly rails: readonly Rail[];
}

/** Reports that a part of a reply is left out, and why. */
type Report = (field: ReplyField, problem: string) => void;

/** Logs and counts the invalid parts of a provider's replies (runtime/ramp/README.md, Checks of answers). */
export function reporter(
  { log, metrics }: Pick<RampContext, "log" | "metrics">,
  about: Readonly<Record<string, string>>,
): Report {
  return (field, problem) => {
    metrics.countInvalidReply(field);
    log.warn({ ...about, field, problem }, "invalid part of a provider reply left out");
  };
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

/** The execution without the parts that contradict the order. */
export function checkedExecution(
  execution: Execution,
  requested: RequestedMovement,
  report: Report,
): Execution {
  const { receipt, refund, instructions, ...rest } = execution;
  const keep = <T>(field: ReplyField, value: T, problem: string | null): readonly T[] => {
    if (problem !== null) report(field, problem);
    return problem === null ? [value] : [];
  };
  const [checkedReceipt] = receipt ? keep("receipt", receipt, receiptProblem(receipt, requested)) : [];
  const [checkedRefund] = refund ? keep("refund", refund, refundProblem(refund, requested)) : [];
  return {
    ...rest,
    instructions: instructions.flatMap((item) =>
      keep("instruction", item, instructionProblem(item, requested)),
    ),
    ...(checkedReceipt ? { receipt: checkedReceipt } : {}),
    ...(checkedRefund ? { refund: checkedRefund } : refund ? { refund: { reason: refund.reason } } : {}),
  };
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

function refundProblem({ amount }: Refund, { src, srcAmount }: RequestedMovement): string | null {
  if (amount === undefined) return null;
  if (!isAmountOf(amount, src)) return `amount is not an amount of ${src.code}`;
  return new Big(amount).gt(srcAmount) ? "amount is more than srcAmount" : null;
}

function isAmountOf(text: string, currency: Currency): boolean {
  return readAmount(text, currency).ok;
}
