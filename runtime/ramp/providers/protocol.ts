import {
  anything,
  described,
  flag,
  listOf,
  mapOf,
  openRecord,
  text,
  textOf,
  time,
  wholeNumber,
  type ValueOf,
} from "@routewright/runtime/internal/core/model/schema.js";
import {
  Id,
  Code,
  AmountField,
  RateField,
  Text,
  CountryCode,
  Json,
  nullable,
  statuses,
  CallbackUrl,
  PAGE_ADDRESS,
  MAX_ADDRESS_LENGTH,
} from "./message-fields.js";
import { OccurredAt, Refund } from "./refund-messages.js";

export { Callback, ProviderError } from "./report-messages.js";
export { Refund, RefundOrder } from "./refund-messages.js";

/**
 * The wire protocol between the ramp and a provider server: one schema per message, read by both sides, by the tests, by the
 * protocol's OpenAPI document and, through a test, by the reference (runtime/ramp/docs/provider-protocol.md, Messages). Ids of orders are the
 * ramp's: an onboarding carries the intent's id and an execution the transaction's, so that a repeated order changes nothing.
 */

/** Code of a payment rail, such as ACH or CARD. Providers name their rails; the ramp has no list of its own. */
export const Rail = textOf({
  pattern: "^[A-Z0-9_]{2,20}$",
  description: "code of a rail, such as `ACH`",
});
export type Rail = ValueOf<typeof Rail>;

/** A rail and what identifies an account on it (runtime/ramp/docs/intents.md, Rails). */
export const RailDescription = openRecord({
  code: Rail,
  title: Text("name for people", { minLength: 1, maxLength: 100 }),
  properties: described(
    "JSON Schema (draft 2020-12) of each account field; the formats `iban` and `aba-routing-number` check the check digits",
    mapOf(mapOf(anything)),
  ),
  required: described("fields that an external account needs", listOf(text)),
});
export type RailDescription = ValueOf<typeof RailDescription>;

export const Pair = openRecord(
  {
    srcCurrencyCode: Code("source currency"),
    destCurrencyCode: Code("destination currency"),
    rail: Rail,
    countries: described("ISO 3166-1 alpha-2 codes", listOf(CountryCode)),
    minSrcAmount: AmountField("smallest amount of the source currency"),
    maxSrcAmount: AmountField("largest amount of the source currency"),
  },
  {
    travelRuleFrom: AmountField(
      "amount of the source currency from which onboardings list the check `TRAVEL_RULE`",
    ),
  },
);
export type Pair = ValueOf<typeof Pair>;

export const Capabilities = openRecord(
  {
    code: textOf({ pattern: "^[a-z0-9-]{2,40}$", description: "code of the provider" }),
    name: Text("name for people", { minLength: 1, maxLength: 100 }),
    logo: nullable(textOf({ format: "uri", description: "address of an image" })),
    rails: listOf(RailDescription, { maxItems: 50, description: "every rail of the pairs" }),
    pairs: described("what can be moved, on which rail", listOf(Pair)),
    requirements: described(
      "checks that an onboarding can ask for",
      listOf(openRecord({ code: Code("code of a requirement"), title: Text("name for people") })),
    ),
  },
  {
    sandbox: described("true: moves no real money", flag),
    refunds: described("true: `POST /executions/{id}/refunds` is offered", flag),
    refundCancels: described("true: `POST /executions/{id}/refunds/{refundId}/cancel` is offered", flag),
    destAmounts: described("true: `POST /quotes` takes `destAmount`", flag),
    depositAccounts: described("true: `POST /deposit-accounts` is offered", flag),
  },
);
export type Capabilities = ValueOf<typeof Capabilities>;

export const QuoteRequest = openRecord(
  {
    srcCurrencyCode: Code("source currency"),
    destCurrencyCode: Code("destination currency"),
    countryCode: nullable(textOf({ pattern: "^[A-Z]{2}$", description: "country of the bank account" })),
    rail: nullable(Rail),
  },
  {
    srcAmount: AmountField("amount of the source currency"),
    destAmount: AmountField(
      "in place of `srcAmount`: what the destination is to receive; only where the capabilities say `destAmounts`",
    ),
  },
);
export type QuoteRequest = ValueOf<typeof QuoteRequest>;

export const Fees = described(
  "what the movement costs",
  openRecord({
    currencyCode: Code("source or destination currency"),
    totalFee: AmountField("sum of the three other fees"),
    networkFee: AmountField("fee of the network"),
    processingFee: AmountField("fee of the provider"),
    partnerFee: AmountField(
      "what you owe the project of it by your contract, else 0; the ramp only adds it up",
    ),
  }),
);
export type Fees = ValueOf<typeof Fees>;

export const ProviderQuote = openRecord(
  {
    rail: Rail,
    hasIndicativePrice: described("whether the price can still change", flag),
    destAmount: AmountField("what the destination receives"),
    exchangeRate: RateField("destination currency per unit of the source currency"),
    fees: Fees,
  },
  {
    srcAmount: AmountField("what the source sends; required where `destAmount` was requested"),
    quoteId: Id("with `expiresAt`: orders that name it until then are carried out at this price"),
    expiresAt: described("until when the price is held", time),
  },
);
export type ProviderQuote = ValueOf<typeof ProviderQuote>;

export const QuoteAnswer = openRecord({
  quote: described("null when the provider does not offer the path", nullable(ProviderQuote)),
});

const Account = described(
  "account of this side",
  openRecord({
    currencyCode: Code("currency of the account"),
    details: Json("account fields of the rail, or the address on the chain"),
  }),
);

/** The movement of money that an order is about. */
export const Movement = described(
  "movement of money that the order is about",
  openRecord(
    {
      type: statuses(["ONRAMP", "OFFRAMP"], "direction"),
      src: Account,
      dest: Account,
      srcAmount: AmountField("amount of the source currency"),
      rail: Rail,
    },
    {
      quoteId: Id(
        "the provider's quote; an onboarding that names it before its `expiresAt` accepts it; an execution can name a newer one",
      ),
    },
  ),
);
export type Movement = ValueOf<typeof Movement>;

export const OnboardingOrder = openRecord({
  id: Id("id of the intent"),
  customerReference: Id("the ramp's name of the customer towards providers"),
  wallets: described(
    "wallets that the customer has proven to hold; identity checks of a wallet hold for the customer",
    listOf(textOf({ maxLength: 200 })),
  ),
  movement: Movement,
  callbackUrl: CallbackUrl,
});
export type OnboardingOrder = ValueOf<typeof OnboardingOrder>;

export const ProviderRequirement = openRecord(
  {
    code: Code("code of the requirement"),
    title: Text("name for people"),
    status: statuses(["PENDING", "IN_PROGRESS", "COMPLETED", "FAILED"], "state of the check"),
    failureReason: nullable(Text("why the check failed, or what more is needed")),
    form: nullable(Json("JSON Schema of the fields that the hosted page asks for")),
  },
  {
    url: textOf({
      format: "uri",
      pattern: PAGE_ADDRESS,
      maxLength: MAX_ADDRESS_LENGTH,
      description: "page of the provider's own, in place of the form",
    }),
    attempt: described(
      "grows from 1 whenever more is needed, which makes the check `PENDING` again",
      wholeNumber(1, 1_000),
    ),
  },
);
export type ProviderRequirement = ValueOf<typeof ProviderRequirement>;

export const Onboarding = openRecord(
  {
    id: Id("id of the intent"),
    requirements: listOf(ProviderRequirement, {
      maxItems: 20,
      description: "all checks, in the order of their steps; one that is missing is withdrawn",
    }),
  },
  {
    complete: described("false: more checks may follow, and the payment waits", flag),
    priceExpiresAt: described(
      "until when an execution can name the accepted quote; without it, until the payment",
      time,
    ),
  },
);
export type Onboarding = ValueOf<typeof Onboarding>;

export const Submission = openRecord({ fields: Json("values of the form's fields") });
export type Submission = ValueOf<typeof Submission>;

export const ExecutionOrder = openRecord({
  id: Id("id of the transaction"),
  onboardingId: Id("id of the intent"),
  customerReference: Id("the ramp's name of the customer towards providers"),
  movement: Movement,
  callbackUrl: CallbackUrl,
});
export type ExecutionOrder = ValueOf<typeof ExecutionOrder>;

/** What the customer does to pay. */
export const Instruction = openRecord(
  {
    encoding: statuses(["DISPLAY", "REDIRECT"], "shown as text, or a page of the provider's own"),
    type: statuses(
      ["BANK", "CRYPTO"],
      "`BANK` where the source is fiat money, of a card page too; else `CRYPTO`",
    ),
    details: described(
      "bank: beneficiary, bankName, account identifiers, reference, rail; chain: address, chain, amount, currency",
      mapOf(textOf({ maxLength: 500 })),
    ),
  },
  {
    url: textOf({
      maxLength: MAX_ADDRESS_LENGTH,
      description: "address of the page; with `REDIRECT` alone",
    }),
  },
  {
    examples: [
      {
        encoding: "DISPLAY",
        type: "BANK",
        details: {
          beneficiary: "Example Payments",
          bankName: "Example Bank",
          ...{ routingNumber: "021000021", accountNumber: "123456789", reference: "order-4711", rail: "ACH" },
        },
      },
    ],
  },
);
export type Instruction = ValueOf<typeof Instruction>;

const EXECUTION_STATUSES = [
  "AWAITING_FUNDS",
  "PROCESSING",
  "SUCCESS",
  "FAILED",
  "CANCELLED",
  "REFUNDED",
] as const;

/** What the customer keeps as proof of the payment; each part is optional and may come later than SUCCESS. */
export const Receipt = described(
  "proof of the payment, as far as it is known",
  openRecord(
    {},
    {
      amountSent: AmountField(
        "what the source sent, in its currency; needed where it is not the amount of the order",
      ),
      amountReceived: AmountField("what the destination received, in its currency"),
      fees: Fees,
      exchangeRate: RateField("destination currency per unit of the source currency"),
      transactionHash: Id("transaction on the destination chain"),
      bankReference: Id("reference of the bank transfer"),
      occurredAt: OccurredAt,
    },
  ),
);
export type Receipt = ValueOf<typeof Receipt>;

export const Execution = openRecord(
  {
    id: Id("id of the transaction"),
    reference: Id("the provider's own reference"),
    status: statuses(EXECUTION_STATUSES, "state of the payment"),
    failureReason: nullable(Text("why the payment failed")),
    instructions: listOf(Instruction, { maxItems: 10, description: "what the customer does to pay" }),
  },
  {
    paymentDueAt: textOf({
      format: "date-time",
      pattern: "^20",
      description: "until when the provider waits for the payment; the intent does not expire before",
    }),
    receipt: Receipt,
    refunds: listOf(Refund, {
      maxItems: 100,
      description:
        "all refunds so far, but for those that you have taken and cannot list yet; REFUNDED: nothing is left",
    }),
  },
);
export type Execution = ValueOf<typeof Execution>;
