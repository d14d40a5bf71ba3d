/** What happens to the price of the simulation's intent, and what must be true of it. */
import Big from "big.js";
import { isRampError } from "../../../runtime/ramp/core/ramp-errors.js";
import { JsonText } from "../../../runtime/ramp/core/exact-json.js";
import { newId } from "../../../runtime/ramp/database/id.js";
import type { RampDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import { type Intent, isTerminal } from "../../../runtime/ramp/intents/intent.js";
import {
  lockIntent,
  type NewIntent,
  NO_DEPOSIT,
  readIntent,
} from "../../../runtime/ramp/intents/intent-rows.js";
import { type IntentContext, pollNow } from "../../../runtime/ramp/intents/lease.js";
import { acceptPrice } from "../../../runtime/ramp/intents/new-price.js";
import { isPayable, makePayment, termsOf } from "../../../runtime/ramp/intents/payment.js";
import { Market, PRICE } from "./market.js";
import type { Random } from "./random.js";
import { Crash, FEES, SRC_AMOUNT } from "./sim-provider.js";
import type { Stage } from "./stage.js";

/** What must be nowhere after an erasure. */
export const PERSON = "Grace Hopper";

export class PriceActs {
  readonly market: Market;
  readonly #random: Random;
  readonly #stage: Stage;
  readonly #maxSlippage: string | null;
  /** What the destination is to receive by the price that was accepted last. */
  #agreed = PRICE;
  #isRestored = false;

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
    this.market = new Market(random, () => stage.ramp.now());
    this.#maxSlippage = random.pick([null, "1"]);
  }

  intent(
    ids: Pick<NewIntent, "id" | "customerId" | "connectionId">,
    drawn: {
      readonly isPriced: boolean;
      readonly hasIndicativePrice: boolean;
      readonly autoExecute: boolean;
    },
  ): NewIntent {
    const { holds } = this.market;
    const hasIndicativePrice = !holds && drawn.hasIndicativePrice;
    const price = { destAmount: PRICE, exchangeRate: "1", fees: FEES, hasIndicativePrice };
    return {
      ...ids,
      connectionVersion: 1,
      provider: "Sim",
      providerCode: "sim",
      type: "ONRAMP",
      src: { currencyCode: "USD", details: { countryCode: "US", accountHolderName: PERSON } },
      dest: { currencyCode: "USDC_POLYGON", details: {} },
      srcAmount: SRC_AMOUNT,
      rail: "CARD",
      price: drawn.isPriced || holds ? { ...price, ...this.market.first() } : null,
      autoExecute: drawn.autoExecute,
      onboardingRedirectUrl: null,
      checkoutRedirectUrl: null,
      metadata: new JsonText(JSON.stringify({ name: PERSON })),
      sandbox: false,
      leaseOwner: newId(),
      isProviderNamed: true,
      maxSlippage: this.#maxSlippage,
      ...NO_DEPOSIT,
      callbackUrl: "https://sim.example",
    };
  }

  /** Before anything else: prices move, or an offer is accepted; null: neither. */
  async happen(database: RampDatabase, id: string): Promise<string | null> {
    if (!this.market.holds || !this.#random.chance(0.7)) return null;
    return this.#random.chance(0.4) ? this.market.act() : this.#accept(database, id);
  }

  /** As the customer does, or the project: the server loses its lease. */
  async #accept(database: RampDatabase, id: string): Promise<string> {
    const accepted = await database
      .inProject(this.#stage.projectId, async (tx) => {
        const intent = await lockIntent(tx, id);
        const { newPrice } = intent;
        if (newPrice === null) return null;
        const after = acceptPrice(tx, intent, newPrice.quoteId);
        if (isRampError(after)) return null;
        pollNow(tx, id);
        return newPrice.order.price.destAmount;
      })
      .catch((error: unknown) => {
        if (!(error instanceof Crash)) throw error;
        return null;
      });
    this.#agreed = accepted ?? this.#agreed;
    return `accepted ${String(accepted)}`;
  }

  /** A request makes the payment. */
  async execute(ramp: IntentContext, id: string): Promise<string> {
    const { projectId, database } = this.#stage;
    const intent = await database.inProject(projectId, (tx) => readIntent(tx, id));
    if (intent === null || intent.price === null) return "not executed";
    const terms = await termsOf(ramp, intent);
    return database.inProject(projectId, async (tx) => {
      const current = await lockIntent(tx, id);
      if (!isPayable(current) || current.leaseOwner !== null) return "not executed";
      const made = makePayment(tx, current, terms);
      return made === null ? "no price" : made.transaction === null ? "offered" : "executed";
    });
  }

  /** Whether prices are held, so that what was accepted can be lost. */
  restored(): boolean {
    this.#isRestored = true;
    return this.market.holds;
  }

  /** @param ordered what the destination is to receive by the provider's order */
  problems(intent: Intent, ordered: string | undefined): readonly string[] {
    const { newPrice, price, status, transaction } = intent;
    const isOver = isTerminal(status) || (transaction !== null && transaction.status !== "PENDING");
    const offered = newPrice !== null && isOver ? ["an offer outlives its order"] : [];
    if (ordered === undefined || this.#isRestored || !this.market.holds) return offered;
    const least = new Big(this.#agreed).times(100 - Number(this.#maxSlippage ?? 0)).div(100);
    return [
      ...offered,
      ...(new Big(ordered).lt(least) ? [`ordered at ${ordered}, accepted ${this.#agreed}`] : []),
      ...(transaction !== null && price !== null && !new Big(price.destAmount).eq(ordered)
        ? [`ordered at ${ordered}, recorded ${price.destAmount}`]
        : []),
    ];
  }
}
