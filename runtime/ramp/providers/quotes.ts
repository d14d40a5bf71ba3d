import type { CoreContext } from "../core/context.js";
import { type Currency, byLargest, isWithin } from "../accounts/currency.js";
import { type RequestedMovement, quoteProblem, reporter } from "./check-reply.js";
import type { ProviderConnection } from "./provider-connections.js";
import type { Fees, Pair, ProviderQuote, QuoteRequest, Rail, RailDescription } from "./protocol.js";
import { reasonOf } from "./provider.js";
import { newId } from "../database/id.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/ramp-database.js";
import type { AccountSide } from "../accounts/account-details.js";

/** A provider that is slower is left out. */
const TIMEOUT_MS = 3_000;

export interface Quote extends Omit<ProviderQuote, "quoteId" | "expiresAt"> {
  readonly connection: ProviderConnection;
  /** The provider's id of the quote and until when it holds the price; null: it does not. */
  readonly held: { readonly quoteId: string; readonly expiresAt: string } | null;
}

/** Requests a quote of each candidate at once, best first. Failures, slow answers and invalid quotes are left out and logged. */
export async function fetchQuotes(
  ramp: Pick<CoreContext, "log" | "metrics">,
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
  /** The quote that the caller named. */
  readonly quoteId?: string;
  /** The provider's quote, which orders name. */
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
  ramp: Pick<CoreContext, "currencies" | "log" | "metrics">,
  connection: ProviderConnection,
  { src, dest, srcAmount, rail }: PricedPayment,
): Promise<Price | null> {
  const { countryCode = null } = { ...src.details, ...dest.details } as { countryCode?: string };
  const [srcCurrencyCode, destCurrencyCode] = [src.currencyCode, dest.currencyCode];
  const [from, to] = [ramp.currencies.get(srcCurrencyCode), ramp.currencies.get(destCurrencyCode)];
  const request = { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail };
  const requested = { src: from, dest: to, srcAmount, rails: [rail] };
  const quote = await fetchQuote(ramp, connection, request, requested);
  return quote && priceOf({ ...quote, held: null, hasIndicativePrice: true }, null);
}

async function fetchQuote(
  ramp: Pick<CoreContext, "log" | "metrics">,
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
  return { ...quote, connection, held: isHeld ? { quoteId, expiresAt } : null };
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

/** A quote that the provider holds, with the id under which an intent names it (runtime/ramp/docs/intents.md, Quotes). */
export interface HeldQuote {
  readonly connectionId: string;
  readonly connectionVersion: number;
  readonly rail: string;
  readonly price: Price;
  readonly isExpired: boolean;
}

/** What an intent keeps of a quote. */
export function priceOf(quote: Quote, quoteId: string | null): Price {
  const { destAmount, exchangeRate, fees, hasIndicativePrice, held } = quote;
  return {
    destAmount,
    exchangeRate,
    fees,
    hasIndicativePrice,
    ...(quoteId === null ? {} : { quoteId }),
    ...(held === null ? {} : { providerQuoteId: held.quoteId }),
  };
}

/** Records the quotes that are held; returns their ids in the order of the quotes, null for one that is not held. */
export function recordQuotes(
  tx: ProjectTransaction,
  quotes: readonly Quote[],
  { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode }: PaymentPath,
): readonly (string | null)[] {
  return quotes.map((quote) => {
    if (quote.held === null) return null;
    const id = newId();
    const { connection, rail, held } = quote;
    tx.write(
      `INSERT INTO ramp.quotes (id, connection_id, connection_version, src_currency, dest_currency, src_amount, country_code, rail, price, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        id,
        connection.id,
        connection.version,
        srcCurrencyCode,
        destCurrencyCode,
        srcAmount,
        countryCode,
        rail,
        JSON.stringify(priceOf(quote, id)),
        held.expiresAt,
      ],
    );
    return id;
  });
}

/** Marks a quote as used by an intent; false when another intent has used it. */
export async function useQuote(tx: ProjectTransaction, id: string, intentId: string): Promise<boolean> {
  const used = await tx.row(
    `UPDATE ramp.quotes SET intent_id = $2 WHERE ${OF_PROJECT} AND id = $1 AND intent_id IS NULL RETURNING id`,
    [id, intentId],
  );
  return used !== null;
}

/** The quote of this id if it is for this payment; null otherwise. */
export function findQuote(
  tx: ProjectTransaction,
  id: string,
  { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail }: PaymentPath,
): Promise<HeldQuote | null> {
  return tx.row<HeldQuote>(
    `SELECT connection_id AS "connectionId", connection_version AS "connectionVersion", rail, price, expires_at <= now() AS "isExpired"
     FROM ramp.quotes WHERE ${OF_PROJECT} AND id = $1 AND src_currency = $2 AND dest_currency = $3 AND src_amount = $4 AND country_code = $5
       AND ($6::text IS NULL OR rail = $6)`,
    [id, srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail],
  );
}
