import Big from "big.js";
import type { Pair, ProviderQuote, QuoteRequest } from "../provider/protocol.js";
import type { Profile } from "./profile.js";

/** Prices in dollars, made up and fixed. */
const DOLLARS: Readonly<Record<string, string>> = {
  USD: "1",
  EUR: "1.08",
  BRL: "0.18",
  USDC: "1",
  EURe: "1.08",
};

const FIAT_DECIMALS = 2;
const TOKEN_DECIMALS = 6;

function priceOf(code: string): Big {
  return new Big(DOLLARS[code.split("_")[0] ?? ""] ?? "0");
}

function decimalsOf(code: string): number {
  return code.includes("_") ? TOKEN_DECIMALS : FIAT_DECIMALS;
}

export function pairFor({ capabilities }: Profile, request: QuoteRequest): Pair | null {
  const { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail } = request;
  const amount = new Big(srcAmount);
  const found = capabilities.pairs.find(
    (pair) =>
      pair.srcCurrencyCode === srcCurrencyCode &&
      pair.destCurrencyCode === destCurrencyCode &&
      (rail === null || pair.rail === rail) &&
      (countryCode === null || pair.countries.includes(countryCode)) &&
      amount.gte(pair.minSrcAmount) &&
      amount.lte(pair.maxSrcAmount),
  );
  return found ?? null;
}

/** The quote for a path; null when the provider does not offer it, or the fees would eat the amount. */
export function quoteFor(profile: Profile, request: QuoteRequest): ProviderQuote | null {
  const pair = pairFor(profile, request);
  if (pair === null) return null;
  const { srcCurrencyCode, destCurrencyCode } = request;
  const decimals = decimalsOf(srcCurrencyCode);
  const processing = new Big(request.srcAmount)
    .times(profile.fees.rate)
    .plus(profile.fees.processing)
    .round(decimals, Big.roundUp);
  const network = new Big(profile.fees.network);
  const total = processing.plus(network);
  const rate = priceOf(srcCurrencyCode).div(priceOf(destCurrencyCode));
  const dest = new Big(request.srcAmount)
    .minus(total)
    .times(rate)
    .round(decimalsOf(destCurrencyCode), Big.roundDown);
  if (dest.lte(0)) return null;
  return {
    rail: pair.rail,
    hasIndicativePrice: true,
    destAmount: dest.toFixed(decimalsOf(destCurrencyCode)),
    exchangeRate: rate.toFixed(8),
    fees: {
      currencyCode: srcCurrencyCode,
      totalFee: total.toFixed(decimals),
      networkFee: network.toFixed(decimals),
      processingFee: processing.toFixed(decimals),
      partnerFee: new Big(0).toFixed(decimals),
    },
  };
}
