import {
  described,
  flag,
  openRecord,
  text,
  textOf,
  time,
} from "@routewright/runtime/internal/core/model/schema.js";
import { Fees } from "../providers/protocol.js";

/** Prices of quotes and intents, as answers and events have them. */

export const PRICE = {
  destAmount: text,
  exchangeRate: text,
  fees: Fees,
  hasIndicativePrice: flag,
};

export const IntentPriceView = described(
  "The price that the intent was made at, once it is known.",
  openRecord(
    { ...PRICE },
    {
      quoteId: textOf({ format: "uuid", description: "The quote that the intent named." }),
      expiresAt: described("Until when the provider holds it; without it, until the payment.", time),
    },
  ),
);

/** The price that waits to be accepted. */
export const NewPriceView = openRecord({
  quoteId: textOf({ format: "uuid", description: "Names it to `POST …/quote`, which accepts it." }),
  provider: text,
  providerId: textOf({ format: "uuid" }),
  providerCode: text,
  destAmount: text,
  previousDestAmount: described("What the destination receives by the price before.", text),
  exchangeRate: text,
  fees: Fees,
  hasIndicativePrice: flag,
  expiresAt: described("Until when it can be accepted.", time),
});
