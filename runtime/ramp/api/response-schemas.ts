import { type Static, Type } from "@sinclair/typebox";
import type { JsonText } from "../core/exact-json.js";
import { literals, Nullable } from "../core/json-schema.js";
import { INTENT_STATUSES, REQUIREMENT_STATUSES, TRANSACTION_STATUSES } from "../intents/intent.js";
import { UNAVAILABLE_REASONS } from "../providers/quotes.js";
import { EVENT_TYPES } from "../webhooks/events.js";
import { Fees, Instruction, Receipt, Refund } from "../providers/protocol.js";

/** Schemas of all answers: they type the views, and they are the OpenAPI document's. */

const Uuid = Type.String({ format: "uuid" });
const ProviderCode = Type.String({ description: "The provider's code, such as `sandbox-south`." });
const Json = Type.Record(Type.String(), Type.Unknown());
const Metadata = Type.Unsafe<JsonText>(Json);
/** Views hold the dates of the records, which JSON writes in ISO 8601. */
const DateTime = Type.Unsafe<Date>(Type.String({ format: "date-time" }));

export const CustomerView = Type.Object(
  {
    id: Uuid,
    externalId: Type.String({ description: "The caller's own id of the customer." }),
    createdAt: DateTime,
    updatedAt: DateTime,
    organizationId: Uuid,
    projectId: Uuid,
    metadata: Type.Optional(Metadata),
    accessToken: Type.Optional(
      Nullable(Type.String({ description: "Customer JWT; only in the answer to a creation." })),
    ),
  },
  { $id: "Customer" },
);

const AccountView = Type.Object({
  type: literals(["BANK_ACCOUNT", "CRYPTO_ADDRESS"]),
  currency: Type.Object({
    ticker: Type.String(),
    name: Type.String(),
    code: Type.String(),
    type: literals(["FIAT", "CRYPTO"]),
  }),
  details: Json,
});

const PRICE = {
  destAmount: Type.String(),
  exchangeRate: Type.String(),
  fees: Fees,
  hasIndicativePrice: Type.Boolean(),
};

const PaymentDueAt = Type.Optional(
  Type.Unsafe<Date>(
    Type.String({ format: "date-time", description: "Until when the provider waits for the payment." }),
  ),
);

const RequirementView = Type.Object(
  {
    code: Type.String(),
    title: Type.String({ description: "Name for people." }),
    status: literals(REQUIREMENT_STATUSES),
    reason: Type.Optional(Type.String({ description: "Why it failed, or what more the provider needs." })),
    url: Type.Optional(
      Type.String({
        format: "uri",
        description: "The provider's own page, for the customer; it returns to the intent's hosted page.",
      }),
    ),
  },
  { examples: [{ code: "KYC_VERIFICATION", title: "Identity check", status: "PENDING" }] },
);

export const IntentView = Type.Object(
  {
    id: Uuid,
    src: AccountView,
    dest: Type.Object(AccountView.properties, {
      examples: [
        {
          type: "CRYPTO_ADDRESS",
          currency: { ticker: "USDC", name: "USD Coin", code: "USDC_POLYGON", type: "CRYPTO" },
          details: { address: "0x52908400098527886E0F7030069857D2E4169EE7" },
        },
      ],
    }),
    status: literals(INTENT_STATUSES),
    createdAt: DateTime,
    updatedAt: DateTime,
    srcAmount: Type.String(),
    currentRequirementCode: Type.Optional(Type.String()),
    requirements: Type.Array(RequirementView, { description: "Checks of the provider, in their order." }),
    expiredAt: DateTime,
    paymentDueAt: PaymentDueAt,
    type: literals(["ONRAMP", "OFFRAMP"]),
    provider: Type.String(),
    providerId: Uuid,
    providerCode: ProviderCode,
    price: Type.Optional(
      Type.Object(
        {
          quoteId: Type.Optional(
            Type.String({ format: "uuid", description: "The quote that the intent named." }),
          ),
          ...PRICE,
        },
        { description: "The price that the intent was made at, once it is known." },
      ),
    ),
    onboardingRedirectUrl: Type.Optional(Type.String()),
    checkoutRedirectUrl: Type.Optional(Type.String()),
    failureReason: Type.Optional(Type.String()),
    metadata: Type.Optional(Metadata),
    sandbox: Type.Optional(Type.Boolean({ description: "true: the provider moves no real money." })),
  },
  { $id: "Intent" },
);

export const TransactionView = Type.Object(
  {
    id: Uuid,
    status: literals(TRANSACTION_STATUSES),
    createdAt: DateTime,
    updatedAt: DateTime,
    context: Type.Object({
      instructions: Type.Array(Instruction),
      providerReference: Type.Optional(Type.String()),
      failureReason: Type.Optional(Type.String()),
      paymentDueAt: PaymentDueAt,
      receipt: Type.Optional(Receipt),
      refunds: Type.Optional(Type.Array(Refund)),
    }),
  },
  { $id: "Transaction" },
);

export const IntentEnvelope = Type.Object(
  {
    intent: Type.Unsafe<Static<typeof IntentView>>(Type.Ref("Intent")),
    onboardingUrl: Nullable(Type.String({ format: "uri" })),
    checkoutUrl: Type.Optional(
      Type.String({ format: "uri", description: "The hosted page of the payment, while there is one." }),
    ),
    transaction: Type.Optional(Type.Unsafe<Static<typeof TransactionView>>(Type.Ref("Transaction"))),
  },
  { $id: "IntentEnvelope" },
);

/** An intent as its project reads it. */
export const ProjectIntentView = Type.Object(
  {
    customerId: Uuid,
    ...IntentEnvelope.properties,
    attention: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: "Why the intent needs attention: what each reason is about.",
      }),
    ),
  },
  { $id: "ProjectIntent" },
);
export type ProjectIntentView = Static<typeof ProjectIntentView>;

export const RefundView = Type.Object({
  id: Uuid,
  intentId: Uuid,
  amount: Type.String(),
  status: literals(["REQUESTED", "ACCEPTED", "REFUSED"]),
});

export const QuoteView = Type.Object(
  {
    id: Type.Optional(
      Type.String({
        format: "uuid",
        description: "The provider holds this price: `quoteId` of POST /v1/intent.",
      }),
    ),
    expiresAt: Type.Optional(
      Type.Unsafe<Date>(Type.String({ format: "date-time", description: "Until when the price is held." })),
    ),
    providerId: Uuid,
    providerCode: ProviderCode,
    type: literals(["ONRAMP", "OFFRAMP"]),
    rail: Type.String(),
    srcAmount: Type.String(),
    ...PRICE,
  },
  { $id: "Quote" },
);

const UnavailableView = Type.Object({
  providerId: Uuid,
  providerCode: ProviderCode,
  reason: literals(UNAVAILABLE_REASONS),
  minimum: Type.Optional(Type.String({ description: "Least amount of the source currency." })),
  maximum: Type.Optional(Type.String({ description: "Largest amount of the source currency." })),
});
export type UnavailableView = Static<typeof UnavailableView>;

export const QuotesView = Type.Object({
  quotes: Type.Array(Type.Unsafe<Static<typeof QuoteView>>(Type.Ref("Quote"))),
  unavailable: Type.Array(UnavailableView, {
    description: "The project's other providers, and why they do not quote.",
  }),
});

const SideRequirements = Type.Object({
  currencyCode: Type.String(),
  schema: Type.Record(Type.String(), Type.Unknown(), { description: "JSON Schema, draft 2020-12." }),
});
export const RequirementsView = Type.Object({ src: SideRequirements, dest: SideRequirements });

export const SupportedPairView = Type.Object({
  from: Type.String(),
  to: Type.String(),
  providerIds: Type.Array(Uuid),
  offers: Type.Array(
    Type.Object({
      providerId: Uuid,
      providerCode: ProviderCode,
      rail: Type.String(),
      countries: Type.Array(Type.String({ description: "ISO 3166-1 alpha-2." })),
      minimum: Type.String({ description: "Least amount of `from`." }),
      maximum: Type.String({ description: "Largest amount of `from`." }),
    }),
    { description: "What each provider moves, by rail." },
  ),
});
export type SupportedPairView = Static<typeof SupportedPairView>;

export const ProviderView = Type.Object({
  id: Uuid,
  name: Type.String(),
  code: Type.String(),
  logo: Nullable(Type.String()),
});

const CurrencyView = Type.Object({
  id: Uuid,
  ticker: Type.String(),
  name: Type.String(),
  code: Type.String(),
  decimals: Type.Integer(),
  type: literals(["FIAT", "CRYPTO"]),
  createdAt: DateTime,
  updatedAt: DateTime,
  blockchainId: Type.Optional(Uuid),
  blockchain: Type.Optional(Type.Object({ id: Uuid, name: Type.String(), code: Type.String() })),
});

export const ExternalAccountView = Type.Object(
  {
    id: Uuid,
    type: literals(["BANK_ACCOUNT", "CRYPTO_ADDRESS"]),
    currencyId: Uuid,
    createdAt: DateTime,
    updatedAt: DateTime,
    metadata: Json,
    label: Type.String(),
    customerId: Uuid,
    currency: CurrencyView,
  },
  { $id: "ExternalAccount" },
);

const AccountRef = Type.Unsafe<Static<typeof ExternalAccountView>>(Type.Ref("ExternalAccount"));
export const ExternalAccountsView = Type.Object({ source: AccountRef, destination: AccountRef });

export const EventView = Type.Object(
  {
    id: Uuid,
    type: literals(EVENT_TYPES),
    timestamp: DateTime,
    sequence: Type.Integer({
      description: "Grows with each event of the project, in the order of the commits.",
    }),
    data: Type.Record(Type.String(), Type.Unknown()),
  },
  { $id: "Event" },
);

export const DeliveryView = Type.Object({
  id: Uuid,
  webhookId: Uuid,
  status: literals(["PENDING", "DELIVERED", "EXHAUSTED"]),
  attempts: Type.Integer(),
  nextAttemptAt: Type.Optional(DateTime),
  lastResult: Type.Optional(
    Type.String({ description: "HTTP status of the last attempt, or why there was none." }),
  ),
  createdAt: DateTime,
  updatedAt: DateTime,
});

export const WebhookView = Type.Object(
  {
    id: Uuid,
    url: Type.String(),
    eventTypes: Type.Optional(
      Type.Array(Type.String(), { description: "The events that it gets; absent: all." }),
    ),
    concurrency: Type.Integer(),
    enabled: Type.Boolean(),
    createdAt: DateTime,
    undeliverable: Type.Optional(Type.String({ description: "Why nothing can be delivered to it." })),
  },
  { $id: "Webhook" },
);

export const NewWebhookView = Type.Object({
  ...WebhookView.properties,
  secret: Type.String({ description: "Signs its deliveries; shown once." }),
});

export type IntentView = Static<typeof IntentView>;
export type TransactionView = Static<typeof TransactionView>;
export type IntentEnvelope = Static<typeof IntentEnvelope>;
export type QuoteView = Static<typeof QuoteView>;
export type CustomerView = Static<typeof CustomerView>;
export type ExternalAccountView = Static<typeof ExternalAccountView>;
