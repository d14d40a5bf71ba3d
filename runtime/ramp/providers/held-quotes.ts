import { newId } from "../database/id.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/ramp-database.js";
import type { Price } from "../intents/intent.js";
import type { PaymentPath, Quote } from "./quotes.js";

/** A quote that the provider holds, with the id under which an intent names it (runtime/ramp/README.md, Quotes). */
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
