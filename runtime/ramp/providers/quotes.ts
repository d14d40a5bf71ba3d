import type { Logger } from "../../http/logger.js";
import { byLargest, isWithin } from "../accounts/currency.js";
import type { ProviderConnection } from "./provider-connections.js";
import type { ProviderQuote, QuoteRequest, Pair, Rail } from "./protocol.js";
/** A provider that is slower is left out. */
const TIMEOUT_MS = 3_000;

export interface Quote extends ProviderQuote {
  readonly connection: ProviderConnection;
}

/** Asks all candidates side by side; one that fails, is slow or does not quote is left out and logged. Best first. */
export async function fetchQuotes(
  log: Logger,
  candidates: readonly Candidate[],
  path: PaymentPath & { readonly srcAmount: string },
): Promise<readonly Quote[]> {
  const { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail } = path;
  const request: QuoteRequest = { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail };
  const quotes = await Promise.all(candidates.map(({ connection }) => fetchQuote(log, connection, request)));
  return quotes
    .filter((quote) => quote !== null)
    .sort((left, right) => byLargest(left.destAmount, right.destAmount));
}

async function fetchQuote(
  log: Logger,
  connection: ProviderConnection,
  request: QuoteRequest,
): Promise<Quote | null> {
  const reply = await connection.provider.quote(request, { timeoutMs: TIMEOUT_MS });
  if (reply.kind === "answer") return reply.value && { ...reply.value, connection };
  const reason = reply.kind === "refused" ? reply.code : reply.reason;
  log.warn({ connection: connection.id, provider: connection.code, reason }, "no quote");
  return null;
}

/** What a caller wants moved; null where it does not matter. */
export interface PaymentPath {
  readonly srcCurrencyCode: string;
  readonly destCurrencyCode: string;
  readonly srcAmount: string | null;
  readonly countryCode: string | null;
  readonly rail: Rail | null;
}

/** A provider that offers the path, and over which rails. */
export interface Candidate {
  readonly connection: ProviderConnection;
  readonly pairs: readonly [Pair, ...Pair[]];
}

export function candidatesFor(
  connections: readonly ProviderConnection[],
  path: PaymentPath,
): readonly Candidate[] {
  return connections.flatMap((connection) => {
    const [first, ...others] = connection.capabilities.pairs.filter((pair) => offers(pair, path));
    return first ? [{ connection, pairs: [first, ...others] as const }] : [];
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
