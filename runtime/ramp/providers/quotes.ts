import { Amount, type AmountText } from "../accounts/amount.js";
import type { CoreContext } from "../core/context.js";
import { exactAmount, exactQuote, quoteProblem, reporter } from "./check-reply.js";
import { type Candidate, limitsOf, type PricedPath } from "./payment-path.js";
import type { Movement, ProviderQuote, Rail } from "./protocol.js";
import type { ProviderConnection, ProviderContext } from "./provider-connections.js";
import { reasonOf } from "./provider.js";

/** A price that a provider offers. */
export interface Quote extends Pick<
  ProviderQuote,
  "rail" | "destAmount" | "exchangeRate" | "fees" | "hasIndicativePrice"
> {
  readonly connection: ProviderConnection;
  readonly srcAmount: AmountText;
  /** The provider's own quote while it holds the price; null: the price can change. */
  readonly held: { readonly providerQuoteId: string; readonly expiresAt: Date } | null;
}

/** Why a provider offers no price (runtime/ramp/docs/intents.md, Quotes). */
export const UNAVAILABLE_REASONS = [
  "PAIR_NOT_SUPPORTED",
  "COUNTRY_NOT_SUPPORTED",
  "AMOUNT_TOO_SMALL",
  "AMOUNT_TOO_LARGE",
  "DEST_AMOUNT_NOT_SUPPORTED",
  "NOT_OFFERED",
  "INVALID_OFFER",
  "PROVIDER_UNAVAILABLE",
] as const;
type UnavailableReason = (typeof UNAVAILABLE_REASONS)[number];

/** A provider without a price. */
export interface Unavailable {
  readonly connection: ProviderConnection;
  readonly reason: UnavailableReason;
  /** What the provider takes of the source currency, where the amount is the reason. */
  readonly minimum?: AmountText;
  readonly maximum?: AmountText;
}

/** Why a provider is no candidate for a path. */
export function whyUnavailable(connection: ProviderConnection, path: PricedPath): Unavailable {
  if (limitsOf(connection, { ...path, countryCode: null, rail: null }) === null)
    return { connection, reason: "PAIR_NOT_SUPPORTED" };
  const limits = limitsOf(connection, path);
  if (limits === null) return { connection, reason: "COUNTRY_NOT_SUPPORTED" };
  const isSmall = path.srcAmount !== null && Amount.of(path.srcAmount).isLess(limits.minimum);
  return { connection, reason: isSmall ? "AMOUNT_TOO_SMALL" : "AMOUNT_TOO_LARGE", ...limits };
}

/** What reads offers and notes what is wrong with them. */
type OfferContext = Pick<ProviderContext, "log" | "providers"> & Pick<CoreContext, "now">;

/** Requests a quote of each candidate at once, best first. Failures, slow answers and invalid quotes are logged. */
export async function fetchQuotes(
  ramp: OfferContext,
  candidates: readonly Candidate[],
  path: PricedPath,
): Promise<{ readonly quotes: readonly Quote[]; readonly unavailable: readonly Unavailable[] }> {
  const offers = await Promise.all(
    candidates.map(({ connection, rails: [only, ...others] }) =>
      fetchQuote(ramp, connection, { ...path, rail: others.length === 0 ? only.code : path.rail }, [
        only.code,
        ...others.map(({ code }) => code),
      ]),
    ),
  );
  const unavailable = offers.filter((offer) => "reason" in offer);
  return { quotes: offers.filter(isQuote).sort(compareQuotes), unavailable };
}

function isQuote(offer: Quote | Unavailable): offer is Quote {
  return !("reason" in offer);
}

/** The better one pays more for the same, or asks less for the same. */
function compareQuotes(left: Quote, right: Quote): number {
  return (
    Amount.of(right.destAmount).compare(left.destAmount) || Amount.of(left.srcAmount).compare(right.srcAmount)
  );
}

/** The price of a payment by a quote. */
export interface Price extends Pick<
  ProviderQuote,
  "destAmount" | "exchangeRate" | "fees" | "hasIndicativePrice"
> {
  /** The quote that the caller named (held-quotes.ts). */
  readonly quoteId?: string;
  /** The provider's quote, if it holds the price: orders name it. */
  readonly providerQuoteId?: string;
  /** Until when the provider holds the price that an order has named; without it, until the payment. */
  readonly expiresAt?: string;
}

/** The price of a movement at its provider now; null when it gives none. Not held: the onboarding did not name the quote. */
export async function fetchPrice(
  ramp: OfferContext & Pick<CoreContext, "currencies">,
  connection: ProviderConnection,
  movement: Pick<Movement, "type" | "src" | "dest" | "srcAmount" | "rail">,
): Promise<HeldPrice | null> {
  const offer = await fetchOffer(ramp, connection, movement);
  if (offer === null) return null;
  const { destAmount, exchangeRate, fees } = offer;
  return { price: { destAmount, exchangeRate, fees, hasIndicativePrice: true }, expiresAt: null };
}

/** The price of an order that is sent again: it names the quote of a held one. */
export async function fetchHeldPrice(...asked: Parameters<typeof fetchPrice>): Promise<HeldPrice | null> {
  const offer = await fetchOffer(...asked);
  return offer && { price: priceOf(offer), expiresAt: offer.held?.expiresAt ?? null };
}

/** A price, and until when the provider holds it; null: it does not. */
export interface HeldPrice {
  readonly price: Price;
  readonly expiresAt: Date | null;
}

async function fetchOffer(
  ...[ramp, connection, movement]: Parameters<typeof fetchPrice>
): Promise<Quote | null> {
  const { type, src, dest, srcAmount, rail } = movement;
  const { countryCode = null } = (type === "ONRAMP" ? src : dest).details as { countryCode?: string };
  const [from, to] = [ramp.currencies.get(src.currencyCode), ramp.currencies.get(dest.currencyCode)];
  const path = { type, src: from, dest: to, srcAmount, destAmount: null, countryCode, rail };
  const offer = await fetchQuote(ramp, connection, path, [rail]);
  return "reason" in offer ? null : offer;
}

async function fetchQuote(
  ramp: OfferContext,
  connection: ProviderConnection,
  path: PricedPath,
  rails: readonly Rail[],
): Promise<Quote | Unavailable> {
  const { src, dest, srcAmount, destAmount, countryCode, rail } = path;
  if (srcAmount === null && connection.capabilities.destAmounts !== true)
    return { connection, reason: "DEST_AMOUNT_NOT_SUPPORTED" };
  const about = { connection: connection.id, provider: connection.code };
  const pair = { srcCurrencyCode: src.code, destCurrencyCode: dest.code };
  const request = { ...pair, ...(srcAmount === null ? { destAmount } : { srcAmount }), countryCode, rail };
  const reply = await connection.provider.quote(request);
  if (reply.kind !== "answer") {
    ramp.log.warn({ ...about, reason: reasonOf(reply) }, "no quote");
    if (reply.kind !== "invalid") return { connection, reason: "PROVIDER_UNAVAILABLE" };
    await ramp.providers.noteOffer(connection, reply.reason);
    return { connection, reason: "INVALID_OFFER" };
  }
  if (reply.value === null) return { connection, reason: "NOT_OFFERED" };
  const problem = quoteProblem(reply.value, { src, dest, srcAmount, destAmount, rails });
  await ramp.providers.noteOffer(connection, problem);
  if (problem === null) return withinLimits(quoteOf(ramp, connection, path, reply.value), path);
  reporter(ramp, about)("quote", problem);
  return { connection, reason: "INVALID_OFFER" };
}

function quoteOf(
  { now }: OfferContext,
  connection: ProviderConnection,
  { src, dest, srcAmount }: PricedPath,
  offered: ProviderQuote,
): Quote {
  const { quoteId, expiresAt = "", rail, exchangeRate } = offered;
  const until = new Date(expiresAt);
  const held = quoteId !== undefined && until > now() ? { providerQuoteId: quoteId, expiresAt: until } : null;
  const { destAmount, fees } = exactQuote(offered, { src, dest });
  return {
    connection,
    rail,
    srcAmount: exactAmount(srcAmount ?? offered.srcAmount ?? "", src),
    destAmount,
    exchangeRate,
    fees,
    hasIndicativePrice: held === null && offered.hasIndicativePrice,
    held,
  };
}

/** What a requested amount of the destination costs is known by the quote only. */
function withinLimits(quote: Quote, path: PricedPath): Quote | Unavailable {
  if (path.srcAmount !== null) return quote;
  const { connection, srcAmount, rail } = quote;
  const limits = limitsOf(connection, { ...path, rail });
  if (limits === null) return quote;
  if (Amount.of(srcAmount).isLess(limits.minimum))
    return { connection, reason: "AMOUNT_TOO_SMALL", ...limits };
  if (Amount.of(srcAmount).isMore(limits.maximum))
    return { connection, reason: "AMOUNT_TOO_LARGE", ...limits };
  return quote;
}

/** What an intent keeps of a quote. */
export function priceOf({ destAmount, exchangeRate, fees, hasIndicativePrice, held }: Quote): Price {
  const price = { destAmount, exchangeRate, fees, hasIndicativePrice };
  return held === null ? price : { ...price, providerQuoteId: held.providerQuoteId };
}
