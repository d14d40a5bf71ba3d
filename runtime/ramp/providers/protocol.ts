import { type Static, type TSchema, Type } from "@sinclair/typebox";

/**
 * The wire protocol between the ramp and a provider server: one schema per message, read by both sides, by the tests, by the
 * protocol's OpenAPI document and, through a test, by the reference (runtime/ramp/docs/provider-protocol.md, Messages). Ids of orders are the
 * ramp's: an onboarding carries the intent's id and an execution the transaction's, so that a repeated order changes nothing.
 */

const Id = (description: string) => Type.String({ minLength: 1, maxLength: 128, description });
const Code = (description: string) => Type.String({ pattern: "^[A-Za-z0-9_]{2,40}$", description });
const Decimal = (description: string) =>
  Type.String({ pattern: "^[0-9]{1,40}(\\.[0-9]{1,18})?$", description });
const Text = (description: string) => Type.String({ maxLength: 500, description });
const CountryCode = Type.String({ pattern: "^[A-Z]{2}$" });
const Json = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description });
const orNull = <S extends TSchema>(schema: S) =>
  Type.Union([schema, Type.Null()], { description: `${schema.description ?? ""}, or null` });
const statuses = <const T extends readonly string[]>(values: T, description: string) =>
  Type.Union(
    values.map((value) => Type.Literal(value as T[number])),
    { description },
  );

const CallbackUrl = Type.String({
  format: "uri",
  description: "address that callbacks about the order go to",
});

/** Code of a payment rail, such as ACH or CARD. Providers name their rails; the ramp has no list of its own. */
export const Rail = Type.String({
  pattern: "^[A-Z0-9_]{2,20}$",
  description: "code of a rail, such as `ACH`",
});
export type Rail = Static<typeof Rail>;

/** A rail and what identifies an account on it (runtime/ramp/docs/intents.md, Rails). */
export const RailDescription = Type.Object({
  code: Rail,
  title: Type.String({ minLength: 1, maxLength: 100, description: "name for people" }),
  properties: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
    description:
      "JSON Schema (draft 2020-12) of each account field; the formats `iban` and `aba-routing-number` check the check digits",
  }),
  required: Type.Array(Type.String(), { description: "fields that an external account needs" }),
});
export type RailDescription = Static<typeof RailDescription>;

export const Pair = Type.Object({
  srcCurrencyCode: Code("source currency"),
  destCurrencyCode: Code("destination currency"),
  rail: Rail,
  countries: Type.Array(CountryCode, { description: "ISO 3166-1 alpha-2 codes" }),
  minSrcAmount: Decimal("smallest amount of the source currency"),
  maxSrcAmount: Decimal("largest amount of the source currency"),
});
export type Pair = Static<typeof Pair>;

export const Capabilities = Type.Object({
  code: Type.String({ pattern: "^[a-z0-9-]{2,40}$", description: "code of the provider" }),
  name: Type.String({ minLength: 1, maxLength: 100, description: "name for people" }),
  logo: orNull(Type.String({ format: "uri", description: "address of an image" })),
  sandbox: Type.Optional(Type.Boolean({ description: "true: moves no real money" })),
  refunds: Type.Optional(Type.Boolean({ description: "true: `POST /executions/{id}/refunds` is offered" })),
  destAmounts: Type.Optional(Type.Boolean({ description: "true: `POST /quotes` takes `destAmount`" })),
  rails: Type.Array(RailDescription, { maxItems: 50, description: "every rail of the pairs" }),
  pairs: Type.Array(Pair, { description: "what can be moved, on which rail" }),
  requirements: Type.Array(
    Type.Object({ code: Code("code of a requirement"), title: Text("name for people") }),
    { description: "checks that an onboarding can ask for" },
  ),
});
export type Capabilities = Static<typeof Capabilities>;

export const QuoteRequest = Type.Object({
  srcCurrencyCode: Code("source currency"),
  destCurrencyCode: Code("destination currency"),
  srcAmount: Type.Optional(Decimal("amount of the source currency")),
  destAmount: Type.Optional(
    Decimal(
      "in place of `srcAmount`: what the destination is to receive; only where the capabilities say `destAmounts`",
    ),
  ),
  countryCode: orNull(Type.String({ pattern: "^[A-Z]{2}$", description: "country of the bank account" })),
  rail: orNull(Rail),
});
export type QuoteRequest = Static<typeof QuoteRequest>;

export const Fees = Type.Object(
  {
    currencyCode: Code("source or destination currency"),
    totalFee: Decimal("sum of the three other fees"),
    networkFee: Decimal("fee of the network"),
    processingFee: Decimal("fee of the provider"),
    partnerFee: Decimal("fee of the partner"),
  },
  { description: "what the movement costs" },
);
export type Fees = Static<typeof Fees>;

export const ProviderQuote = Type.Object({
  rail: Rail,
  hasIndicativePrice: Type.Boolean({ description: "whether the price can still change" }),
  srcAmount: Type.Optional(Decimal("what the source sends; required where `destAmount` was requested")),
  destAmount: Decimal("what the destination receives"),
  exchangeRate: Decimal("destination currency per unit of the source currency"),
  fees: Fees,
  quoteId: Type.Optional(
    Id("with `expiresAt`: orders that name it until then are carried out at this price"),
  ),
  expiresAt: Type.Optional(Type.String({ format: "date-time", description: "until when the price is held" })),
});
export type ProviderQuote = Static<typeof ProviderQuote>;

export const QuoteAnswer = Type.Object({
  quote: Type.Union([ProviderQuote, Type.Null()], {
    description: "null when the provider does not offer the path",
  }),
});

const Account = Type.Object(
  {
    currencyCode: Code("currency of the account"),
    details: Json("account fields of the rail, or the address on the chain"),
  },
  { description: "account of this side" },
);

/** The movement of money that an order is about. */
export const Movement = Type.Object(
  {
    type: statuses(["ONRAMP", "OFFRAMP"], "direction"),
    src: Account,
    dest: Account,
    srcAmount: Decimal("amount of the source currency"),
    rail: Rail,
    quoteId: Type.Optional(
      Id("the provider's quote; an onboarding whose quote has expired is refused, later the price holds"),
    ),
  },
  { description: "movement of money that the order is about" },
);
export type Movement = Static<typeof Movement>;

export const OnboardingOrder = Type.Object({
  id: Id("id of the intent"),
  customerReference: Id("the ramp's name of the customer towards providers"),
  wallets: Type.Array(Type.String({ maxLength: 200 }), {
    description:
      "wallets that the customer has proven to hold; identity checks of a wallet hold for the customer",
  }),
  movement: Movement,
  callbackUrl: CallbackUrl,
});
export type OnboardingOrder = Static<typeof OnboardingOrder>;

/** An address that customers can be sent to: HTTPS, or this machine's own, for a sandbox. Without a user name, which can imitate a host. */
const PAGE_ADDRESS =
  "^(https://[A-Za-z0-9.-]{1,255}(:[0-9]{1,5})?|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])(:[0-9]{1,5})?)([/?#][!-~]*)?$";
const MAX_ADDRESS_LENGTH = 2_000;

export function isPageAddress(url: string): boolean {
  return url.length <= MAX_ADDRESS_LENGTH && new RegExp(PAGE_ADDRESS).test(url) && URL.canParse(url);
}

export const ProviderRequirement = Type.Object({
  code: Code("code of the requirement"),
  title: Text("name for people"),
  status: statuses(["PENDING", "IN_PROGRESS", "COMPLETED", "FAILED"], "state of the check"),
  failureReason: orNull(Text("why the check failed, or what more is needed")),
  form: orNull(Json("JSON Schema of the fields that the hosted page asks for")),
  url: Type.Optional(
    Type.String({
      format: "uri",
      pattern: PAGE_ADDRESS,
      maxLength: MAX_ADDRESS_LENGTH,
      description: "page of the provider's own, in place of the form",
    }),
  ),
  attempt: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: "grows from 1 whenever more is needed, which makes the check `PENDING` again",
    }),
  ),
});
export type ProviderRequirement = Static<typeof ProviderRequirement>;

export const Onboarding = Type.Object({
  id: Id("id of the intent"),
  requirements: Type.Array(ProviderRequirement, { maxItems: 20, description: "in the order of their steps" }),
});
export type Onboarding = Static<typeof Onboarding>;

export const Submission = Type.Object({ fields: Json("values of the form's fields") });
export type Submission = Static<typeof Submission>;

export const ExecutionOrder = Type.Object({
  id: Id("id of the transaction"),
  onboardingId: Id("id of the intent"),
  customerReference: Id("the ramp's name of the customer towards providers"),
  movement: Movement,
  callbackUrl: CallbackUrl,
});
export type ExecutionOrder = Static<typeof ExecutionOrder>;

/** What the customer does to pay. */
export const Instruction = Type.Object(
  {
    encoding: statuses(["DISPLAY", "REDIRECT"], "shown as text, or a page of the provider's own"),
    type: statuses(["BANK", "CRYPTO"], "where to pay"),
    url: Type.Optional(
      Type.String({
        maxLength: MAX_ADDRESS_LENGTH,
        description: "address of the page; with `REDIRECT` alone",
      }),
    ),
    details: Type.Record(Type.String(), Type.String({ maxLength: 500 }), {
      description:
        "bank: beneficiary, bankName, account identifiers, reference, rail; chain: address, chain, amount, currency",
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
export type Instruction = Static<typeof Instruction>;

const EXECUTION_STATUSES = [
  "AWAITING_FUNDS",
  "PROCESSING",
  "SUCCESS",
  "FAILED",
  "CANCELLED",
  "REFUNDED",
] as const;

/** Between years that every calendar knows. */
const OccurredAt = Type.String({
  format: "date-time",
  pattern: "^20",
  description: "the provider's own date of the movement",
});

/** What the customer keeps as proof of the payment; each part is optional and may come later than SUCCESS. */
export const Receipt = Type.Object(
  {
    amountSent: Type.Optional(
      Decimal("what the source sent, in its currency; needed where it is not the amount of the order"),
    ),
    amountReceived: Type.Optional(Decimal("what the destination received, in its currency")),
    fees: Type.Optional(Fees),
    exchangeRate: Type.Optional(Decimal("destination currency per unit of the source currency")),
    transactionHash: Type.Optional(Id("transaction on the destination chain")),
    bankReference: Type.Optional(Id("reference of the bank transfer")),
    occurredAt: Type.Optional(OccurredAt),
  },
  { description: "proof of the payment, as far as it is known" },
);
export type Receipt = Static<typeof Receipt>;

/** A return or refund after SUCCESS; a payment can come back in parts. */
export const Refund = Type.Object(
  {
    id: Id("id of the refund, the ramp's where it asked for it"),
    amount: Decimal("what went back to the source, in its currency"),
    reason: Text("why"),
    occurredAt: Type.Optional(OccurredAt),
  },
  { description: "return or refund after SUCCESS" },
);
export type Refund = Static<typeof Refund>;

/** A refund that the operator orders. */
export const RefundOrder = Type.Object({
  id: Id("id of the refund"),
  amount: Decimal("what goes back to the source, in its currency"),
  reason: Text("why"),
});
export type RefundOrder = Static<typeof RefundOrder>;

export const Execution = Type.Object({
  id: Id("id of the transaction"),
  reference: Id("the provider's own reference"),
  status: statuses(EXECUTION_STATUSES, "state of the payment"),
  failureReason: orNull(Text("why the payment failed")),
  instructions: Type.Array(Instruction, { maxItems: 10, description: "what the customer does to pay" }),
  paymentDueAt: Type.Optional(
    Type.String({
      format: "date-time",
      pattern: "^20",
      description: "until when the provider waits for the payment; the intent does not expire before",
    }),
  ),
  receipt: Type.Optional(Receipt),
  refunds: Type.Optional(
    Type.Array(Refund, { maxItems: 100, description: "all refunds so far; REFUNDED: nothing is left" }),
  ),
});
export type Execution = Static<typeof Execution>;

/** A hint: the state is fetched again, so neither order nor number of callbacks matters. */
export const Callback = Type.Object({
  type: statuses(["onboarding.updated", "execution.updated"], "what has changed"),
  onboardingId: Type.String({ format: "uuid", description: "id of the intent" }),
});
export type Callback = Static<typeof Callback>;

export const ProviderError = Type.Object({
  error: Code("code of the error; `UNKNOWN_ORDER`: there is no order of this id"),
  message: Text("for the log, and the failure reason of a refused order"),
});
