import { Amount, type AmountText } from "../accounts/amount.js";
import { randomUUID } from "node:crypto";
import type { Movement, ProviderQuote, QuoteRequest } from "../providers/protocol.js";
import type { SandboxClock } from "./clock.js";
import { refused, type Rejection } from "./provider-state.js";

interface SandboxQuote {
  readonly quote: ProviderQuote;
  readonly path: Pick<QuoteRequest, "srcCurrencyCode" | "destCurrencyCode">;
  readonly srcAmount: AmountText;
  /** In milliseconds since 1970. */
  readonly until: number;
}

export const QUOTE_EXPIRED = refused("QUOTE_EXPIRED", "The quote has expired.", "PRICE");

/** Quotes that are kept: past this the oldest give way, as if they had expired. */
const MAX_HELD = 10_000;

/** Prices that one sandbox provider holds, by the id of the quote. */
export class HeldQuotes {
  readonly #clock: SandboxClock;
  /** Bounded by `MAX_HELD`: everybody may ask for quotes. */
  readonly #held = new Map<string, SandboxQuote>();

  constructor(clock: SandboxClock) {
    this.#clock = clock;
  }

  hold(
    quote: ProviderQuote,
    path: SandboxQuote["path"],
    srcAmount: AmountText,
    holdMs: number,
  ): ProviderQuote {
    const until = this.#clock.now().getTime() + holdMs;
    const quoteId = randomUUID();
    this.#held.set(quoteId, { quote, path, srcAmount, until });
    for (const oldest of this.#held.keys())
      if (this.#held.size > MAX_HELD) this.#held.delete(oldest);
      else break;
    return { ...quote, hasIndicativePrice: false, quoteId, expiresAt: new Date(until).toISOString() };
  }

  quoteOf({ quoteId = "" }: Movement): ProviderQuote | undefined {
    return this.#held.get(quoteId)?.quote;
  }

  /** What is wrong with the quote that an order names; a price that an onboarding has named in time is kept. */
  problem(movement: Movement, isNew: boolean): Rejection | null {
    const { quoteId, src, dest, srcAmount, rail } = movement;
    if (quoteId === undefined) return null;
    const held = this.#held.get(quoteId);
    if (held === undefined || (isNew && held.until <= this.#clock.now().getTime())) return QUOTE_EXPIRED;
    const isSame =
      held.path.srcCurrencyCode === src.currencyCode &&
      held.path.destCurrencyCode === dest.currencyCode &&
      held.quote.rail === rail &&
      Amount.of(held.srcAmount).equals(srcAmount);
    return isSame ? null : refused("QUOTE_MISMATCH", "The quote is for another movement.");
  }
}
