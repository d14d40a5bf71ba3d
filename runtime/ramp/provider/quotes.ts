import type { Logger } from "../../http/logger.js";
import { byLargest } from "../currency/amount.js";
import type { Candidate, Path } from "./candidates.js";
import type { Connection } from "./connections.js";
import type { ProviderQuote, QuoteRequest } from "./protocol.js";

/** A provider that is slower is left out. */
const TIMEOUT_MS = 3_000;

export interface Quote extends ProviderQuote {
  readonly connection: Connection;
}

/** Asks all candidates side by side; one that fails, is slow or does not quote is left out and logged. Best first. */
export async function askQuotes(
  log: Logger,
  candidates: readonly Candidate[],
  path: Path & { readonly srcAmount: string },
): Promise<readonly Quote[]> {
  const { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail } = path;
  const request: QuoteRequest = { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail };
  const quotes = await Promise.all(candidates.map(({ connection }) => askOne(log, connection, request)));
  return quotes
    .filter((quote) => quote !== null)
    .sort((left, right) => byLargest(left.destAmount, right.destAmount));
}

async function askOne(log: Logger, connection: Connection, request: QuoteRequest): Promise<Quote | null> {
  const reply = await connection.provider.quote(request, { timeoutMs: TIMEOUT_MS });
  if (reply.kind === "answer") return reply.value && { ...reply.value, connection };
  const reason = reply.kind === "refused" ? reply.code : reply.reason;
  log.warn({ connection: connection.id, provider: connection.code, reason }, "no quote");
  return null;
}
