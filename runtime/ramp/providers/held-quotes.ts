import type { AmountText } from "../accounts/amount.js";
import { rampError, type RampError } from "../core/ramp-errors.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import { newId } from "../database/id.js";
import type { PaymentPath } from "./payment-path.js";
import type { Rail } from "./protocol.js";
import { type Price, priceOf, type Quote } from "./quotes.js";

/** Quotes that their providers hold, as intents name them (runtime/ramp/docs/intents.md, Quotes). */

/** A recorded quote. */
export interface HeldQuote {
  readonly connectionId: string;
  readonly connectionVersion: number;
  readonly srcCurrency: string;
  readonly destCurrency: string;
  readonly srcAmount: AmountText;
  readonly countryCode: string;
  readonly rail: Rail;
  readonly price: Price;
  readonly isExpired: boolean;
  /** Whether an intent was made with it. */
  readonly isUsed: boolean;
}

/** Records a quote that is held, for one customer or, by null, for any of the project; returns its id. Null: it is not held. */
export function recordQuote(
  tx: ProjectTransaction,
  quote: Quote,
  { src, dest, countryCode }: Pick<PaymentPath, "src" | "dest" | "countryCode">,
  customerId: string | null,
): string | null {
  const { connection, rail, srcAmount, held } = quote;
  if (held === null) return null;
  const id = newId();
  tx.insert("quotes", {
    id,
    customerId,
    connectionId: connection.id,
    connectionVersion: connection.version,
    srcCurrency: src.code,
    destCurrency: dest.code,
    srcAmount,
    countryCode,
    rail,
    price: { ...priceOf(quote), quoteId: id },
    expiresAt: held.expiresAt,
  });
  return id;
}

/** The quote of this id; null where it is another project's or customer's. */
export function readQuote(tx: ProjectTransaction, id: string, customerId: string): Promise<HeldQuote | null> {
  return tx.row<HeldQuote>(
    `SELECT connection_id AS "connectionId", connection_version AS "connectionVersion", src_currency AS "srcCurrency",
       dest_currency AS "destCurrency", src_amount AS "srcAmount", country_code AS "countryCode", rail, price,
       expires_at <= $3 AS "isExpired", intent_id IS NOT NULL AS "isUsed"
     FROM ramp.quotes WHERE ${OF_PROJECT} AND id = $1 AND COALESCE(customer_id, $2) = $2`,
    [id, customerId, tx.now],
  );
}

/** Gives a quote to an intent: one quote is for one intent. The error where it is another's, or has expired meanwhile. */
export async function useQuote(
  tx: ProjectTransaction,
  id: string,
  intentId: string,
): Promise<RampError | null> {
  const used = await tx.row(
    `UPDATE ramp.quotes SET intent_id = $2 WHERE ${OF_PROJECT} AND id = $1 AND intent_id IS NULL AND expires_at > $3 RETURNING id`,
    [id, intentId, tx.now],
  );
  if (used !== null) return null;
  const isUsed = await tx.row(
    `SELECT FROM ramp.quotes WHERE ${OF_PROJECT} AND id = $1 AND intent_id IS NOT NULL`,
    [id],
  );
  return rampError(isUsed === null ? "QUOTE_EXPIRED" : "QUOTE_USED");
}
