import type { RampContext } from "../context.js";
import type { Currency } from "../accounts/currency.js";
import { type RequestedMovement, quoteProblem, reporter } from "./check-reply.js";
import { byLargest, isWithin } from "../accounts/currency.js";
import type { ProviderConnection } from "./provider-connections.js";
import type { Pair, ProviderQuote, QuoteRequest, Rail, RailDescription } from "./protocol.js";
import { reasonOf } from "./provider.js";

/** A provider that is slower is left out. */
const TIMEOUT_MS = 3_000;

export interface Quote extends Omit<ProviderQuote, "quoteId" | "expiresAt"> {
  readonly connection: ProviderConnection;
  /** The provider's id of the quote and until when it holds the price; null: it does not. */
  readonly held: { readonly quoteId: string; readonly expiresAt: string } | null;
}

/** Asks all candidates at once. One that fails, is slow, gives no quote or an invalid one is left out and logged. Best first. */
export async function fetchQuotes(
  ramp: Pick<RampContext, "log" | "metrics">,
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

async function fetchQuote(
  ramp: Pick<RampContext, "log" | "metrics">,
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

function offers(
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
