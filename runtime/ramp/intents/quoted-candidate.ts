import { Amount } from "../accounts/amount.js";
import type { Violation } from "../core/json-schema.js";
import { rampError, type RampError } from "../core/ramp-errors.js";
import type { ProjectId } from "../database/id.js";
import { type HeldQuote, readQuote } from "../providers/held-quotes.js";
import { type Candidate, isNamed, type PaymentPath } from "../providers/payment-path.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import type { Price } from "../providers/quotes.js";
import type { IntentContext } from "./lease.js";

/** A customer's payment that names a quote, and perhaps its provider. */
interface QuotedRequest {
  readonly projectId: ProjectId;
  readonly customerId: string;
  readonly quoteId: string;
  readonly names: readonly string[];
}

/** The provider, rail and price of the quote that a payment names, if it is for this payment and still held. */
export async function quotedCandidate(
  { database, providers }: IntentContext,
  { projectId, customerId, quoteId, names }: QuotedRequest,
  path: PaymentPath,
): Promise<{ readonly candidate: Candidate; readonly price: Price } | RampError> {
  const quote = await database.inProject(projectId, (tx) => readQuote(tx, quoteId, customerId));
  if (quote === null)
    return rampError("NOT_FOUND", {
      message: "There is no quote of this id. GET /v1/intent/quote gives one.",
      details: [
        { path: "/quoteId", message: "names no held quote of the project, or one of another customer" },
      ],
    });
  const connections = await providers.list(projectId);
  const connection = connections.find(({ id }) => id === quote.connectionId);
  const details = mismatches(quote, path, connection, names);
  if (details.length > 0) return rampError("QUOTE_MISMATCH", { details });
  if (quote.isUsed) return rampError("QUOTE_USED");
  const rail = connection?.capabilities.rails.find(({ code }) => code === quote.rail);
  // Other credentials can be those of another account, which does not know the quote.
  const isConnected = connection?.version === quote.connectionVersion && rail !== undefined;
  if (quote.isExpired || !isConnected) return rampError("QUOTE_EXPIRED");
  return { candidate: { connection, rails: [rail] }, price: quote.price };
}

/** In what a payment is another one than the quote is for. */
function mismatches(
  quote: HeldQuote,
  { type, src, dest, srcAmount, countryCode, rail }: PaymentPath,
  connection: ProviderConnection | undefined,
  names: readonly string[],
): readonly Violation[] {
  const bank = `/${type === "ONRAMP" ? "src" : "dest"}/details`;
  const wrong: readonly (readonly [path: string, isOther: boolean, quoted: string])[] = [
    ["/src/currencyCode", src.code !== quote.srcCurrency, quote.srcCurrency],
    ["/dest/currencyCode", dest.code !== quote.destCurrency, quote.destCurrency],
    ["/srcAmount", srcAmount === null || !Amount.of(srcAmount).equals(quote.srcAmount), quote.srcAmount],
    [`${bank}/countryCode`, countryCode !== quote.countryCode, quote.countryCode],
    [`${bank}/rail`, rail !== null && rail !== quote.rail, quote.rail],
    ["/providerId", connection !== undefined && !isNamed(connection, names), connection?.code ?? ""],
  ];
  return wrong.flatMap(([at, isOther, quoted]) =>
    isOther ? [{ path: at, message: `is not ${quoted}, which the quote is for` }] : [],
  );
}
