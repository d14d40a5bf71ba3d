import {
  Amount,
  type AmountText,
  greaterPercent,
  isPositiveRate,
  type PercentText,
} from "../accounts/amount.js";
import { type CheckedCurrency, readAmount } from "../accounts/currency.js";
import type { CoreContext } from "../core/context.js";
import {
  type Execution,
  type Fees,
  type Instruction,
  type ProviderQuote,
  type Rail,
  type Receipt,
  type Refund,
} from "./protocol.js";
import { isPageAddress } from "./message-fields.js";

/** The movement of money that was requested of a provider: its replies are checked against it. */
export interface RequestedMovement {
  readonly src: CheckedCurrency;
  readonly dest: CheckedCurrency;
  readonly srcAmount: AmountText;
  readonly rails: readonly Rail[];
}

/** Reports that a part of a reply is left out, and why. */
type ReplyReport = (field: "id" | "quote" | "instruction" | "receipt" | "refund", problem: string) => void;

/** Logs the invalid parts of a provider's replies (runtime/ramp/docs/provider-protocol.md, Checks of answers). */
export function reporter(
  { log }: Pick<CoreContext, "log">,
  about: Readonly<Record<string, string>>,
): ReplyReport {
  return (field, problem) =>
    log.warn({ ...about, field, problem }, "invalid part of a provider reply left out");
}

/** How far an amount may be from the computed one, in percent, beside the last decimal of its currency: providers round rates and fees. */
const ROUNDING: PercentText = "0.5";

/** A requested price: of an amount of the source, or of one of the destination. */
interface RequestedPrice extends Omit<RequestedMovement, "srcAmount"> {
  readonly srcAmount: AmountText | null;
  readonly destAmount: AmountText | null;
}

/** What is wrong with a quote, or null. */
export function quoteProblem(quote: ProviderQuote, wanted: RequestedPrice): string | null {
  const { src, dest, rails } = wanted;
  if (!rails.includes(quote.rail)) return `rail ${quote.rail} was not requested`;
  const wrongDest = amountProblem("destAmount", quote.destAmount, dest);
  if (wrongDest !== null) return wrongDest;
  const srcAmount = wanted.srcAmount ?? quote.srcAmount;
  if (srcAmount === undefined) return "srcAmount is missing: destAmount was requested";
  const wrongSrc = amountProblem("srcAmount", srcAmount, src);
  if (wrongSrc !== null) return wrongSrc;
  if (quote.srcAmount !== undefined && !Amount.of(quote.srcAmount).equals(srcAmount))
    return `srcAmount ${quote.srcAmount} was not requested`;
  if (wanted.destAmount !== null && !Amount.of(quote.destAmount).equals(wanted.destAmount))
    return `destAmount ${quote.destAmount} was not requested`;
  const requested = { ...wanted, srcAmount };
  if (!isPositiveRate(quote.exchangeRate)) return "exchangeRate is zero";
  const wrongFees = feesProblem(quote.fees, requested);
  if (wrongFees !== null) return wrongFees;
  const computed = destAmountOf(srcAmount, quote, src.code);
  const rounded = computed.percent(ROUNDING).plus(Amount.unit(dest.decimals));
  return computed.minus(quote.destAmount).abs().isMore(rounded)
    ? `destAmount ${quote.destAmount} is not ${computed.rounded(dest.decimals).text()}, which is ${srcAmount} at its rate and fees`
    : null;
}

/** What the destination receives for an amount of the source, at a rate and after fees. */
export function destAmountOf(
  srcAmount: AmountText,
  { exchangeRate, fees }: Pick<ProviderQuote, "exchangeRate" | "fees">,
  srcCurrency: string,
): Amount {
  const isOfSource = fees.currencyCode === srcCurrency;
  const exchanged = Amount.of(srcAmount)
    .minus(isOfSource ? fees.totalFee : "0")
    .at(exchangeRate);
  return isOfSource ? exchanged : exchanged.minus(fees.totalFee);
}

/** A quote's amounts with exactly the decimals of their currencies. */
export function exactQuote<Q extends Pick<ProviderQuote, "destAmount" | "fees">>(
  quote: Q,
  { src, dest }: Pick<RequestedMovement, "src" | "dest">,
): Q {
  const { currencyCode, totalFee, networkFee, processingFee, partnerFee } = quote.fees;
  const currency = currencyCode === src.code ? src : dest;
  const fees = {
    currencyCode,
    totalFee: exactAmount(totalFee, currency),
    networkFee: exactAmount(networkFee, currency),
    processingFee: exactAmount(processingFee, currency),
    partnerFee: exactAmount(partnerFee, currency),
  };
  return { ...quote, destAmount: exactAmount(quote.destAmount, dest), fees };
}

function feesProblem(fees: Fees, { src, dest, srcAmount }: RequestedMovement): string | null {
  const currency = [src, dest].find(({ code }) => code === fees.currencyCode);
  if (!currency) return `fee currency ${fees.currencyCode} is neither source nor destination`;
  const { totalFee, networkFee, processingFee, partnerFee } = fees;
  const parts = [networkFee, processingFee, partnerFee];
  if ([totalFee, ...parts].some((fee) => (fee.split(".")[1] ?? "").length > currency.decimals))
    return `a fee has more decimals than ${currency.code}`;
  if (!Amount.sum(parts).equals(totalFee)) return "totalFee is not the sum of its parts";
  if (currency === src && !Amount.of(totalFee).isLess(srcAmount))
    return "totalFee is not less than srcAmount";
  return null;
}

/** An order, and what its receipt has said so far. */
export interface RequestedExecution extends RequestedMovement {
  readonly receipt: Receipt | null;
}

/** An execution as far as it fits the order, with its whole receipt, and what was left out. */
export interface CheckedExecution extends Execution {
  /** Why the receipt cannot be one of the order, so that it is left out. */
  readonly receiptProblem: string | null;
  /** Whether the source sent another amount than was ordered. */
  readonly isSentWrong: boolean;
  /** Whether the received amount is not the price, or one for another amount. */
  readonly isAmountWrong: boolean;
  /** Whether the fee is not that of the price. */
  readonly isFeeWrong: boolean;
  /** Why refunds do not fit the order. */
  readonly refundProblem: string | null;
  /** Why the customer has no instructions. */
  readonly instructionProblem: string | null;
}

/**
 * Leaves the parts out that contradict the order. Amounts get exactly the decimals of their currency. A receipt that leaves something out erases
 * nothing of it.
 */
export function checkedExecution(
  execution: Execution,
  requested: RequestedExecution,
  price: CheckedPrice | null,
  report: ReplyReport,
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
  const isSaid = receipt !== undefined && invalidReceipt === null;
  const valid = isSaid ? { ...requested.receipt, ...receipt } : requested.receipt;
  const amountSent = valid?.amountSent && exactAmount(valid.amountSent, requested.src);
  const isSentWrong = isBeyond(amountSent, requested.srcAmount, price?.heldTolerance);
  const amountReceived = valid?.amountReceived && exactAmount(valid.amountReceived, requested.dest);
  return {
    ...rest,
    instructions: kept,
    ...(valid && {
      receipt: {
        ...valid,
        ...(amountSent !== undefined && { amountSent }),
        ...(amountReceived !== undefined && { amountReceived }),
      },
    }),
    ...(refunds &&
      refundProblem === null && {
        refunds: refunds.map((refund) => ({ ...refund, amount: exactAmount(refund.amount, requested.src) })),
      }),
    receiptProblem: invalidReceipt,
    isSentWrong,
    isAmountWrong: isSentWrong || isBeyond(amountReceived, price?.destAmount, price && toleranceOf(price)),
    isFeeWrong: isFeeFar(valid?.fees, price, { ...requested, amountSent: amountSent ?? requested.srcAmount }),
    refundProblem,
    instructionProblem: paysNothing ? (problems.find((problem) => problem !== null) ?? null) : null,
  };
}

/** How far the market may move between an indicative price and the payment, in percent. */
const INDICATIVE_TOLERANCE: PercentText = "5";

/** The price that an intent was made at. */
export interface CheckedPrice extends Pick<ProviderQuote, "destAmount" | "fees" | "hasIndicativePrice"> {
  /** How far an amount may be from a held price, and from what was ordered, in percent: the project's setting. */
  readonly heldTolerance: PercentText;
}

function toleranceOf({ hasIndicativePrice, heldTolerance }: CheckedPrice): PercentText {
  return hasIndicativePrice ? greaterPercent(heldTolerance, INDICATIVE_TOLERANCE) : heldTolerance;
}

/** Whether a reported amount lies more than `tolerance` percent from the expected one, above or below. Nothing reported does not. */
function isBeyond(
  reported: AmountText | undefined,
  expected: Amount | AmountText | undefined,
  tolerance: PercentText | null | undefined,
): boolean {
  if (reported === undefined || expected === undefined || tolerance == null) return false;
  return Amount.of(reported).minus(expected).abs().isMore(Amount.of(expected).percent(tolerance));
}

/** The fee of another amount than was ordered lies between that of the order and its share of it, rounded. */
function isFeeFar(
  fees: Fees | undefined,
  price: CheckedPrice | null,
  { src, dest, srcAmount, amountSent }: RequestedMovement & { readonly amountSent: AmountText },
): boolean {
  if (fees === undefined || price === null) return false;
  const { totalFee, currencyCode } = price.fees;
  if (fees.currencyCode !== currencyCode)
    return !(Amount.of(fees.totalFee).isZero() && Amount.of(totalFee).isZero());
  const { decimals } = currencyCode === src.code ? src : dest;
  const share = Amount.of(totalFee).share(amountSent, srcAmount);
  const [least, most] = share.isMore(totalFee)
    ? [Amount.of(totalFee), share.roundedUp(decimals)]
    : [share.roundedDown(decimals), Amount.of(totalFee)];
  const nearest = most.isLess(fees.totalFee) ? most : least.isMore(fees.totalFee) ? least : fees.totalFee;
  return isBeyond(fees.totalFee, nearest, toleranceOf(price));
}

/** An amount with all decimals of its currency. */
export function exactAmount(amount: AmountText, { decimals }: CheckedCurrency): AmountText {
  return Amount.of(amount).text(decimals);
}

function instructionProblem(instruction: Instruction, requested: RequestedMovement): string | null {
  const { encoding, type, url, details } = instruction;
  const { src, srcAmount, rails } = requested;
  const { currency, amount, rail } = details;
  if ((encoding === "REDIRECT") !== (url !== undefined)) return `encoding ${encoding} does not fit url`;
  if (url !== undefined && !isPageAddress(url)) return "url is no address of a page (https)";
  if (type !== (src.type === "FIAT" ? "BANK" : "CRYPTO")) return `type ${type} does not fit ${src.code}`;
  if (currency !== undefined && currency !== src.code && currency !== src.ticker)
    return `currency is not ${src.code}`;
  if (rail !== undefined && !rails.some((known) => known === rail)) return "rail was not requested";
  const isSame =
    amount === undefined || (/^\d+(\.\d+)?$/.test(amount) && Amount.of(amount).equals(srcAmount));
  return isSame ? null : `amount is not ${srcAmount}`;
}

function receiptProblem(
  { amountSent, amountReceived, fees, exchangeRate }: Receipt,
  requested: RequestedMovement,
): string | null {
  const wrongAmount =
    (amountSent === undefined ? null : amountProblem("amountSent", amountSent, requested.src)) ??
    (amountReceived === undefined ? null : amountProblem("amountReceived", amountReceived, requested.dest));
  if (wrongAmount !== null) return wrongAmount;
  if (exchangeRate !== undefined && !isPositiveRate(exchangeRate)) return "exchangeRate is zero";
  return fees ? feesProblem(fees, { ...requested, srcAmount: amountSent ?? requested.srcAmount }) : null;
}

function refundsProblem(refunds: readonly Refund[], { src }: RequestedMovement): string | null {
  for (const { amount } of refunds) {
    const wrong = amountProblem("a refund's amount", amount, src);
    if (wrong !== null) return wrong;
  }
  return new Set(refunds.map(({ id }) => id)).size < refunds.length ? "two refunds have one id" : null;
}

/** Why a text is no amount of the currency, or null. */
function amountProblem(field: string, text: string, currency: CheckedCurrency): string | null {
  const read = readAmount(text, currency);
  return read.ok ? null : `${field} ${text} is not an amount of ${currency.code}: ${read.problems.join(" ")}`;
}
