/** The prices of the simulation's provider: held or not, moved and ended by chance, with numbers of their own. */
import Big from "big.js";
import type { Onboarding, ProviderQuote } from "../../../runtime/ramp/providers/protocol.js";
import type { Price } from "../../../runtime/ramp/providers/quotes.js";
import type { NoAnswer } from "../../../runtime/ramp/providers/provider.js";
import { FEES } from "../support/card-provider.js";
import type { Random } from "./random.js";

/** What the destination receives for 100.00, at first. */
export const PRICE = "99.000000";

const COSTS = ["0.50", "1.00", "1.50", "3.00"] as const;
const ENDED = "2000-01-01T00:00:00.000Z";

export class Market {
  readonly #random: Random;
  readonly #now: () => Date;
  /** Whether the provider holds prices, and ends them. */
  readonly holds: boolean;
  /** Whether answers about onboardings say that a price has ended. */
  readonly #tells: boolean;
  /** What the destination receives by each quote. */
  readonly #quotes = new Map<string, string>();
  /** Quotes that are held no longer: none is held again. */
  readonly #ended = new Set<string>();
  #cost = "1.00";

  constructor(random: Random, now: () => Date) {
    this.#random = random;
    this.#now = now;
    this.holds = random.chance(0.5);
    this.#tells = random.chance(0.5);
  }

  /** The price that an intent is made at. */
  first(): Pick<Price, "providerQuoteId"> {
    if (!this.holds) return {};
    this.#quotes.set("first", PRICE);
    // It can have ended before it is ordered.
    if (this.#random.chance(0.5)) this.act();
    return { providerQuoteId: "first" };
  }

  quote(): ProviderQuote {
    const fees = { ...FEES, totalFee: this.#cost, processingFee: this.#cost };
    const destAmount = new Big(100).minus(this.#cost).toFixed(6);
    const common = { rail: "CARD", destAmount, exchangeRate: "1", fees } as const;
    if (!this.holds) return { ...common, hasIndicativePrice: true };
    const quoteId = `quote-${String(this.#quotes.size)}`;
    this.#quotes.set(quoteId, destAmount);
    const expiresAt = new Date(this.#now().getTime() + 600_000).toISOString();
    return { ...common, hasIndicativePrice: false, quoteId, expiresAt };
  }

  /** A refusal of an order that names a price that has ended; null: it is taken. */
  refusal(quoteId: string | undefined): NoAnswer | null {
    if (quoteId === undefined || !this.#ended.has(quoteId)) return null;
    return { kind: "refused", code: "QUOTE_EXPIRED", message: "expired" };
  }

  /** What answers about the onboarding say of its price. */
  told(quoteId: string | undefined): Pick<Onboarding, "priceExpiresAt"> {
    const isTold = this.#tells && quoteId !== undefined && this.#ended.has(quoteId);
    return isTold ? { priceExpiresAt: ENDED } : {};
  }

  destAmountOf(quoteId: string | undefined): string {
    return this.#quotes.get(quoteId ?? "") ?? PRICE;
  }

  /** The price moves, and, mostly, those before are held no longer. */
  act(): string {
    if (!this.holds) return "prices stay";
    this.#cost = this.#random.pick(COSTS);
    const isEnded = this.#random.chance(0.7);
    if (isEnded) for (const quoteId of this.#quotes.keys()) this.#ended.add(quoteId);
    return `a price costs ${this.#cost}${isEnded ? ", the others have ended" : ""}`;
  }
}
