import { type Static, type TSchema, Type } from "@sinclair/typebox";

/**
 * What the ramp and a provider server say to each other: one schema per message, read by both sides, by the tests and by
 * the protocol's OpenAPI document. All names of orders are ours: a provider files an onboarding under the intent's id and
 * an execution under the transaction's, so that asking twice is asking once.
 */

const Id = Type.String({ minLength: 1, maxLength: 128 });
const Code = Type.String({ pattern: "^[A-Za-z0-9_]{2,40}$" });
const DECIMAL = "^[0-9]{1,40}(\\.[0-9]{1,18})?$";
const Decimal = Type.String({ pattern: DECIMAL });
const Text = Type.String({ maxLength: 500 });
const CallbackUrl = Type.String({
  format: "uri",
  description: "Where the provider tells of news about the order.",
});

/** JSON Schema of the fields that a requirement asks for, as the hosted page shows them. */
const Form = Type.Record(Type.String(), Type.Unknown());

/** Code of a payment rail, such as ACH or CARD. Providers name their rails; the ramp knows none by itself. */
export const Rail = Type.String({ pattern: "^[A-Z0-9_]{2,20}$" });
export type Rail = Static<typeof Rail>;

/** A rail and what identifies an account on it (runtime/ramp/README.md, Rails). */
export const RailDescription = Type.Object({
  code: Rail,
  title: Type.String({ minLength: 1, maxLength: 100, description: "Name for people." }),
  properties: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
    description:
      "JSON Schema (draft 2020-12) of each field of an account. The formats `iban` and `aba-routing-number` check the check digits.",
  }),
  required: Type.Array(Type.String(), { description: "Fields that an external account needs." }),
});
export type RailDescription = Static<typeof RailDescription>;

export const Pair = Type.Object({
  srcCurrencyCode: Code,
  destCurrencyCode: Code,
  rail: Rail,
  countries: Type.Array(Type.String({ pattern: "^[A-Z]{2}$" }), { description: "ISO 3166-1 alpha-2." }),
  minSrcAmount: Decimal,
  maxSrcAmount: Decimal,
});
export type Pair = Static<typeof Pair>;

export const Capabilities = Type.Object({
  code: Type.String({ pattern: "^[a-z0-9-]{2,40}$" }),
  name: Type.String({ minLength: 1, maxLength: 100 }),
  logo: Type.Union([Type.String({ format: "uri" }), Type.Null()]),
  rails: Type.Array(RailDescription, { maxItems: 50, description: "Every rail of the pairs." }),
  pairs: Type.Array(Pair),
  requirements: Type.Array(Type.Object({ code: Code, title: Text })),
});
export type Capabilities = Static<typeof Capabilities>;

export const QuoteRequest = Type.Object({
  srcCurrencyCode: Code,
  destCurrencyCode: Code,
  srcAmount: Decimal,
  countryCode: Type.Union([Type.String({ pattern: "^[A-Z]{2}$" }), Type.Null()]),
  rail: Type.Union([Rail, Type.Null()]),
});
export type QuoteRequest = Static<typeof QuoteRequest>;

export const Fees = Type.Object({
  currencyCode: Code,
  totalFee: Decimal,
  networkFee: Decimal,
  processingFee: Decimal,
  partnerFee: Decimal,
});
export type Fees = Static<typeof Fees>;

export const ProviderQuote = Type.Object({
  rail: Rail,
  hasIndicativePrice: Type.Boolean(),
  destAmount: Decimal,
  exchangeRate: Decimal,
  fees: Fees,
  quoteId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: "With `expiresAt`: orders that name it until then are carried out at this price.",
    }),
  ),
  expiresAt: Type.Optional(Type.String({ format: "date-time" })),
});
export type ProviderQuote = Static<typeof ProviderQuote>;

export const QuoteAnswer = Type.Object({
  quote: Type.Union([ProviderQuote, Type.Null()], {
    description: "Null when the provider does not offer the path.",
  }),
});

const Account = Type.Object({ currencyCode: Code, details: Type.Record(Type.String(), Type.Unknown()) });

/** The movement that is asked for. */
export const Movement = Type.Object({
  type: Type.Union([Type.Literal("ONRAMP"), Type.Literal("OFFRAMP")]),
  src: Account,
  dest: Account,
  srcAmount: Decimal,
  rail: Rail,
  quoteId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description:
        "The provider's quote. An onboarding whose quote has expired is refused; later the price holds for the order.",
    }),
  ),
});
export type Movement = Static<typeof Movement>;

export const OnboardingOrder = Type.Object({
  id: Id,
  customerReference: Id,
  wallets: Type.Array(Type.String({ maxLength: 200 }), {
    description:
      "Wallets that the customer has proven to hold; identity checks of a wallet hold for the customer.",
  }),
  movement: Movement,
  callbackUrl: CallbackUrl,
});
export type OnboardingOrder = Static<typeof OnboardingOrder>;

export const ProviderRequirement = Type.Object({
  code: Code,
  title: Text,
  status: Type.Union([
    Type.Literal("PENDING"),
    Type.Literal("IN_PROGRESS"),
    Type.Literal("COMPLETED"),
    Type.Literal("FAILED"),
  ]),
  failureReason: Type.Union([Text, Type.Null()]),
  form: Type.Union([Form, Type.Null()]),
});
export type ProviderRequirement = Static<typeof ProviderRequirement>;

export const Onboarding = Type.Object({
  id: Id,
  requirements: Type.Array(ProviderRequirement, { maxItems: 20 }),
});
export type Onboarding = Static<typeof Onboarding>;

export const Submission = Type.Object({ fields: Type.Record(Type.String(), Type.Unknown()) });
export type Submission = Static<typeof Submission>;

export const ExecutionOrder = Type.Object({
  id: Id,
  onboardingId: Id,
  customerReference: Id,
  movement: Movement,
  callbackUrl: CallbackUrl,
});
export type ExecutionOrder = Static<typeof ExecutionOrder>;

/** What the customer does to pay. */
export const Instruction = Type.Object({
  encoding: Type.Literal("DISPLAY"),
  type: Type.Union([Type.Literal("BANK"), Type.Literal("CRYPTO")]),
  details: Type.Record(Type.String(), Type.String({ maxLength: 500 })),
});
export type Instruction = Static<typeof Instruction>;

export const EXECUTION_STATUSES = [
  "AWAITING_FUNDS",
  "PROCESSING",
  "SUCCESS",
  "FAILED",
  "CANCELLED",
  "REFUNDED",
] as const;

/** What the customer keeps as proof of the payment; each part is optional and may come later than SUCCESS. */
export const Receipt = Type.Object({
  amountReceived: Type.Optional(
    Type.String({
      pattern: DECIMAL,
      description: "What the destination received, in the destination currency.",
    }),
  ),
  fees: Type.Optional(Fees),
  exchangeRate: Type.Optional(
    Type.String({
      pattern: DECIMAL,
      description: "Units of the destination currency per unit of the source currency.",
    }),
  ),
  transactionHash: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  bankReference: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
});
export type Receipt = Static<typeof Receipt>;

/** A return or refund after SUCCESS. */
export const Refund = Type.Object({
  amount: Type.Optional(
    Type.String({ pattern: DECIMAL, description: "What went back to the source, in the source currency." }),
  ),
  reason: Text,
});
export type Refund = Static<typeof Refund>;

export const Execution = Type.Object({
  id: Id,
  reference: Id,
  status: Type.Union(EXECUTION_STATUSES.map((status) => Type.Literal(status))),
  failureReason: Type.Union([Text, Type.Null()]),
  instructions: Type.Array(Instruction, { maxItems: 10 }),
  receipt: Type.Optional(Receipt),
  refund: Type.Optional(Refund),
});
export type Execution = Static<typeof Execution>;

/** A hint: the state is fetched again, so neither order nor number of callbacks matters. */
export const Callback = Type.Object({
  type: Type.Union([Type.Literal("onboarding.updated"), Type.Literal("execution.updated")]),
  onboardingId: Type.String({ format: "uuid", description: "The intent's id." }),
});
export type Callback = Static<typeof Callback>;

export const ProviderError = Type.Object({ error: Code, message: Text });

/** The operations: method, path, messages, and whether the request carries an `Idempotency-Key`. */
export const OPERATIONS = {
  capabilities: { method: "GET", path: "/capabilities", request: null, answer: Capabilities, keyed: false },
  quote: { method: "POST", path: "/quotes", request: QuoteRequest, answer: QuoteAnswer, keyed: false },
  startOnboarding: {
    method: "POST",
    path: "/onboardings",
    request: OnboardingOrder,
    answer: Onboarding,
    keyed: true,
  },
  onboarding: { method: "GET", path: "/onboardings/{id}", request: null, answer: Onboarding, keyed: false },
  submit: {
    method: "POST",
    path: "/onboardings/{id}/requirements/{code}",
    request: Submission,
    answer: Onboarding,
    keyed: false,
  },
  execute: { method: "POST", path: "/executions", request: ExecutionOrder, answer: Execution, keyed: true },
  execution: { method: "GET", path: "/executions/{id}", request: null, answer: Execution, keyed: false },
  cancel: { method: "POST", path: "/executions/{id}/cancel", request: null, answer: Execution, keyed: false },
} as const satisfies Readonly<Record<string, Operation>>;

interface Operation {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly request: TSchema | null;
  readonly answer: TSchema;
  readonly keyed: boolean;
}

export type OperationName = keyof typeof OPERATIONS;
export type ResponseOf<N extends OperationName> = Static<(typeof OPERATIONS)[N]["answer"]>;

/** The error code with which a provider says that it has no order of this id. */
export const UNKNOWN_ORDER = "UNKNOWN_ORDER";

/**
 * The outcome of a call. `refused`: the provider refuses the order itself. `unknown`: it has no such order. `unavailable`:
 * everything else; the order may or may not have been carried out.
 */
export type ProviderReply<T> =
  | { readonly kind: "answer"; readonly value: T }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | { readonly kind: "unknown" }
  | { readonly kind: "unavailable"; readonly reason: string };

/** Why a call brought no answer, for the log. */
export function reasonOf(reply: Exclude<ProviderReply<unknown>, { readonly kind: "answer" }>): string {
  switch (reply.kind) {
    case "refused":
      return `refused: ${reply.code}`;
    case "unknown":
      return "unknown order";
    case "unavailable":
      return reply.reason;
  }
}

/** Overrides the time limit of a call and turns retries off. */
export interface CallOptions {
  readonly timeoutMs: number;
}

/**
 * A provider that moves money. Orders carry our own ids and an idempotency key derived from them: repeating an order changes
 * nothing. Nothing here throws for what a provider does (runtime/ramp/README.md, Provider protocol).
 */
export interface Provider {
  capabilities(): Promise<ProviderReply<Capabilities>>;
  /** Null: the provider does not offer the path. */
  quote(request: QuoteRequest, limit?: CallOptions): Promise<ProviderReply<ProviderQuote | null>>;
  startOnboarding(order: OnboardingOrder): Promise<ProviderReply<Onboarding>>;
  onboarding(id: string): Promise<ProviderReply<Onboarding>>;
  /** Submits the form of a requirement. */
  submit(id: string, code: string, submission: Submission): Promise<ProviderReply<Onboarding>>;
  execute(order: ExecutionOrder): Promise<ProviderReply<Execution>>;
  execution(id: string): Promise<ProviderReply<Execution>>;
  /** Cancels an execution, also one that never arrived: it is refused from then on. */
  cancel(id: string): Promise<ProviderReply<Execution>>;
  /** The callback, or null when its signature is wrong or too old. */
  verifyCallback(headers: CallbackHeaders, body: string): Callback | null;
}

export interface CallbackHeaders {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}
