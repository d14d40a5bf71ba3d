import type { CoreContext } from "../core/context.js";
import { type Currency, byLargest, isWithin } from "../accounts/currency.js";
import { type RequestedMovement, quoteProblem, reporter } from "./check-reply.js";
import type { ProviderConnection } from "./provider-connections.js";
import type { Fees, Pair, ProviderQuote, QuoteRequest, Rail, RailDescription } from "./protocol.js";
import { reasonOf } from "./provider.js";
import type { AccountSide } from "../accounts/account-details.js";

/** A provider that is slower is left out. */
const TIMEOUT_MS = 3_000;

/** With the provider's id of the quote while it holds the price. */
export interface Quote extends Omit<ProviderQuote, "expiresAt"> {
  readonly connection: ProviderConnection;
}

/** Requests a quote of each candidate at once, best first. Failures, slow answers and invalid quotes are left out and logged. */
export async function fetchQuotes(
  ramp: Pick<CoreContext, "log">,
  candidates: readonly Candidate[],
  path: PaymentPath & { readonly srcAmount: string },
  { src, dest }: { readonly src: Currency; readonly dest: Currency },
): Promise<readonly Quote[]> {
  const { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail } = path;
  const request: QuoteRequest = { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail };
  const quotes = await Promise.all(
    candidates.map(({ connection, rails: [only, ...others] }) =>
      fetchQuote(
        ramp,
        connection,
        { ...request, rail: others.length === 0 ? only.code : rail },
        { src, dest, srcAmount, rails: [only, ...others].map(({ code }) => code) },
      ),
    ),
  );
  return quotes
    .filter((quote) => quote !== null)
    .sort((left, right) => byLargest(left.destAmount, right.destAmount));
}

/** The price of a payment by a quote. */
export interface Price {
  readonly destAmount: string;
  readonly exchangeRate: string;
  readonly fees: Fees;
  readonly hasIndicativePrice: boolean;
  /** The provider's quote, if it holds the price: orders name it. */
  readonly providerQuoteId?: string;
}

/** A payment that is priced. */
interface PricedPayment {
  readonly src: AccountSide;
  readonly dest: AccountSide;
  readonly srcAmount: string;
  readonly rail: Rail;
}

/** The price of a movement at its provider now; null when it gives none. Not held: the onboarding did not name the quote. */
export async function fetchPrice(
  ramp: Pick<CoreContext, "currencies" | "log">,
  connection: ProviderConnection,
  { src, dest, srcAmount, rail }: PricedPayment,
): Promise<Price | null> {
  const { countryCode = null } = { ...src.details, ...dest.details } as { countryCode?: string };
  const [srcCurrencyCode, destCurrencyCode] = [src.currencyCode, dest.currencyCode];
  const [from, to] = [ramp.currencies.get(srcCurrencyCode), ramp.currencies.get(destCurrencyCode)];
  const request = { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail };
  const requested = { src: from, dest: to, srcAmount, rails: [rail] };
  const quote = await fetchQuote(ramp, connection, request, requested);
  if (quote === null) return null;
  const { destAmount, exchangeRate, fees } = quote;
  return { destAmount, exchangeRate, fees, hasIndicativePrice: true };
}

async function fetchQuote(
  ramp: Pick<CoreContext, "log">,
  connection: ProviderConnection,
  request: QuoteRequest,
  requested: RequestedMovement,
): Promise<Quote | null> {
  const about = { connection: connection.id, provider: connection.code };
  const reply = await connection.provider.quote(request, { timeoutMs: TIMEOUT_MS });
  if (reply.kind !== "answer") {
    ramp.log.warn({ ...about, reason: reasonOf(reply) }, "no quote");
    return null;
  }
  if (reply.value === null) return null;
  const problem = quoteProblem(reply.value, requested);
  if (problem === null) return quoteOf(reply.value, connection);
  reporter(ramp, about)("quote", problem);
  return null;
}

function quoteOf({ quoteId, expiresAt, ...quote }: ProviderQuote, connection: ProviderConnection): Quote {
  const isHeld = quoteId !== undefined && expiresAt !== undefined && Date.parse(expiresAt) > Date.now();
  return { ...quote, connection, ...(isHeld ? { quoteId } : {}) };
}

/** A requested movement; null: any. */
export interface PaymentPath {
  readonly srcCurrencyCode: string;
  readonly destCurrencyCode: string;
  readonly srcAmount: string | null;
  readonly countryCode: string | null;
  readonly rail: Rail | null;
}

/** A provider that offers the path, with the rails for it. */
export interface Candidate {
  readonly connection: ProviderConnection;
  readonly rails: readonly [RailDescription, ...RailDescription[]];
}

export function candidatesFor(
  connections: readonly ProviderConnection[],
  path: PaymentPath,
): readonly Candidate[] {
  return connections.flatMap((connection) => {
    const { pairs, rails } = connection.capabilities;
    const offered = pairs.filter((pair) => offers(pair, path)).map(({ rail }) => rail);
    const [first, ...others] = rails.filter(({ code }) => offered.includes(code));
    return first ? [{ connection, rails: [first, ...others] as const }] : [];
  });
}

export function offers(
  pair: Pair,
  { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail }: PaymentPath,
): boolean {
  return (
    pair.srcCurrencyCode === srcCurrencyCode &&
    pair.destCurrencyCode === destCurrencyCode &&
    (rail === null || pair.rail === rail) &&
    (countryCode === null || pair.countries.includes(countryCode)) &&
    (srcAmount === null || isWithin(srcAmount, pair.minSrcAmount, pair.maxSrcAmount))
  );
}

/** What an intent keeps of a quote. */
export function priceOf({ destAmount, exchangeRate, fees, hasIndicativePrice, quoteId }: Quote): Price {
  const price = { destAmount, exchangeRate, fees, hasIndicativePrice };
  return quoteId === undefined ? price : { ...price, providerQuoteId: quoteId };
}
