import Big from "big.js";
import countries from "i18n-iso-countries";
import { detailsSchema } from "../accounts/account-details.js";
import type { Currency } from "../accounts/currency.js";
import type { CoreContext } from "../core/context.js";
import { errorAt, isRampError, rampError, type RampError } from "../core/ramp-errors.js";
import { exactQuote, quoteProblem, reporter } from "./check-reply.js";
import type { Movement, Pair, ProviderQuote, QuoteRequest, Rail, RailDescription } from "./protocol.js";
import type { ProviderConnection, ProviderContext } from "./provider-connections.js";
import { reasonOf } from "./provider.js";

/** The two currencies of a path, in our own spelling, and the kind of movement between them. */
export interface CurrencyPair {
  readonly src: Currency;
  readonly dest: Currency;
  readonly type: "ONRAMP" | "OFFRAMP";
}

/** Reads the codes of a path. A path between two bank currencies or two assets is not a ramp. */
export function readPair(
  { currencies }: CoreContext,
  srcCode: string,
  destCode: string,
  paths: readonly [string, string],
): CurrencyPair | RampError {
  const src = currencies.find(srcCode);
  const dest = currencies.find(destCode);
  if (src === null || dest === null) {
    const unknown = paths.filter((_path, at) => [src, dest][at] === null);
    return rampError("UNKNOWN_CURRENCY", {
      details: unknown.map((path) => ({ path, message: "is not a known currency code" })),
    });
  }
  if (src.type === dest.type) return rampError("UNSUPPORTED_PATH");
  return { src, dest, type: src.type === "FIAT" ? "ONRAMP" : "OFFRAMP" };
}

/** Whether a code is a country of ISO 3166-1, in any letter case; then in upper case. */
export function readCountry(code: string, path: string): string | RampError {
  const upper = code.toUpperCase();
  return countries.isValid(upper)
    ? upper
    : errorAt("UNKNOWN_COUNTRY", path, "is not a country code of ISO 3166-1 alpha-2");
}

/** A requested movement; null: any. */
export interface PaymentPath extends CurrencyPair {
  readonly srcAmount: string | null;
  readonly countryCode: string | null;
  readonly rail: Rail | null;
}

/** One of a known amount, which can be priced. */
export type PricedPath = PaymentPath & { readonly srcAmount: string };

/** A provider that offers the path, with the rails for it. */
export interface Candidate {
  readonly connection: ProviderConnection;
  readonly rails: readonly [RailDescription, ...RailDescription[]];
}

export function candidatesFor(
  connections: readonly ProviderConnection[],
  { src, dest, ...path }: PaymentPath,
): readonly Candidate[] {
  const wanted = { ...path, srcCurrencyCode: src.code, destCurrencyCode: dest.code };
  return connections.flatMap((connection) => {
    const { pairs, rails } = connection.capabilities;
    const offered = pairs.filter((pair) => offers(pair, wanted)).map(({ rail }) => rail);
    const [first, ...others] = rails.filter(({ code }) => offered.includes(code));
    return first ? [{ connection, rails: [first, ...others] as const }] : [];
  });
}

export function offers(
  pair: Pair,
  wanted: Omit<QuoteRequest, "srcAmount"> & { readonly srcAmount: string | null },
): boolean {
  const { srcAmount, countryCode, rail } = wanted;
  return (
    pair.srcCurrencyCode === wanted.srcCurrencyCode &&
    pair.destCurrencyCode === wanted.destCurrencyCode &&
    (rail === null || pair.rail === rail) &&
    (countryCode === null || pair.countries.includes(countryCode)) &&
    (srcAmount === null ||
      (new Big(srcAmount).gte(pair.minSrcAmount) && new Big(srcAmount).lte(pair.maxSrcAmount)))
  );
}

/** The candidates that the caller accepts, each named by its id in the project or by its code. */
export function acceptedCandidates(
  connections: readonly ProviderConnection[],
  path: PaymentPath,
  names: readonly string[],
): readonly Candidate[] | RampError {
  const candidates = candidatesFor(connections, path);
  if (candidates.length === 0) return rampError("UNSUPPORTED_PATH");
  const accepted = candidates.filter(({ connection: { id, code } }) =>
    names.every((name) => name === id || name.toLowerCase() === code),
  );
  return accepted.length === 0 ? rampError("PROVIDER_NOT_AVAILABLE") : accepted;
}

/** The schemas of both sides, merged over the candidates (runtime/ramp/docs/intents.md, Rails). */
export function requirementsOf(
  connections: readonly ProviderConnection[],
  pair: CurrencyPair,
  { rail = null, providerId }: { readonly rail?: string | null; readonly providerId?: string },
) {
  const path = { ...pair, srcAmount: null, countryCode: null, rail };
  const candidates = acceptedCandidates(connections, path, providerId === undefined ? [] : [providerId]);
  if (isRampError(candidates)) return candidates;
  const rails = candidates
    .flatMap((candidate) => candidate.rails)
    .sort((left, right) => (left.code < right.code ? -1 : 1));
  const side = (currency: Currency) => ({
    currencyCode: currency.code,
    schema: detailsSchema(currency, rails),
  });
  return { src: side(pair.src), dest: side(pair.dest) };
}

/** A provider that is slower is left out. */
const TIMEOUT_MS = 3_000;

/** With the provider's id of the quote while it holds the price. */
export interface Quote extends Omit<ProviderQuote, "expiresAt"> {
  readonly connection: ProviderConnection;
}

/** What reads offers and notes what is wrong with them. */
type OfferContext = Pick<ProviderContext, "log" | "providers">;

/** Requests a quote of each candidate at once, best first. Failures, slow answers and invalid quotes are left out and logged. */
export async function fetchQuotes(
  ramp: OfferContext,
  candidates: readonly Candidate[],
  path: PricedPath,
): Promise<readonly Quote[]> {
  const quotes = await Promise.all(
    candidates.map(({ connection, rails: [only, ...others] }) =>
      fetchQuote(ramp, connection, { ...path, rail: others.length === 0 ? only.code : path.rail }, [
        only.code,
        ...others.map(({ code }) => code),
      ]),
    ),
  );
  return quotes
    .filter((quote) => quote !== null)
    .sort((left, right) => new Big(right.destAmount).cmp(left.destAmount));
}

/** The price of a payment by a quote. */
export interface Price extends Pick<
  ProviderQuote,
  "destAmount" | "exchangeRate" | "fees" | "hasIndicativePrice"
> {
  /** The provider's quote, if it holds the price: orders name it. */
  readonly providerQuoteId?: string;
}

/** The price of a movement at its provider now; null when it gives none. Not held: the onboarding did not name the quote. */
export async function fetchPrice(
  ramp: OfferContext & Pick<CoreContext, "currencies">,
  connection: ProviderConnection,
  { src, dest, srcAmount, rail }: Pick<Movement, "src" | "dest" | "srcAmount" | "rail">,
): Promise<Price | null> {
  const { countryCode = null } = { ...src.details, ...dest.details } as { countryCode?: string };
  const [from, to] = [ramp.currencies.get(src.currencyCode), ramp.currencies.get(dest.currencyCode)];
  const quote = await fetchQuote(ramp, connection, { src: from, dest: to, srcAmount, countryCode, rail }, [
    rail,
  ]);
  if (quote === null) return null;
  const { destAmount, exchangeRate, fees } = quote;
  return { destAmount, exchangeRate, fees, hasIndicativePrice: true };
}

async function fetchQuote(
  ramp: OfferContext,
  connection: ProviderConnection,
  { src, dest, srcAmount, countryCode, rail }: Omit<PricedPath, "type">,
  rails: readonly Rail[],
): Promise<Quote | null> {
  const about = { connection: connection.id, provider: connection.code };
  const request = { srcCurrencyCode: src.code, destCurrencyCode: dest.code, srcAmount, countryCode, rail };
  const reply = await connection.provider.quote(request, { timeoutMs: TIMEOUT_MS });
  if (reply.kind !== "answer") {
    ramp.log.warn({ ...about, reason: reasonOf(reply) }, "no quote");
    return null;
  }
  if (reply.value === null) return null;
  const problem = quoteProblem(reply.value, { src, dest, srcAmount, rails });
  await ramp.providers.noteOffer(connection, problem);
  if (problem === null) return quoteOf(exactQuote(reply.value, { src, dest }), connection);
  reporter(ramp, about)("quote", problem);
  return null;
}

function quoteOf({ quoteId, expiresAt, ...quote }: ProviderQuote, connection: ProviderConnection): Quote {
  const isHeld = quoteId !== undefined && expiresAt !== undefined && Date.parse(expiresAt) > Date.now();
  return { ...quote, connection, ...(isHeld ? { quoteId } : {}) };
}

/** What an intent keeps of a quote. */
export function priceOf({ destAmount, exchangeRate, fees, hasIndicativePrice, quoteId }: Quote): Price {
  const price = { destAmount, exchangeRate, fees, hasIndicativePrice };
  return quoteId === undefined ? price : { ...price, providerQuoteId: quoteId };
}
