import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { INTENT_STATUSES, TRANSACTION_STATUSES } from "../intents/intent.js";
import { EVENT_TYPES } from "../webhooks/events.js";
import { Fees, Instruction, Rail, Receipt, Refund } from "../providers/protocol.js";

/** Schemas of all bodies and queries (ramp-api.md §2 and §4): they check, they type, and they are the OpenAPI document's. */

const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const Uuid = Type.String({ format: "uuid" });
const DateTime = Type.String({ format: "date-time" });
const literals = <const T extends string>(values: readonly T[]) =>
  Type.Unsafe<T>(Type.String({ enum: [...values] }));

const CurrencyCode = Type.String({ minLength: 2, maxLength: 20, pattern: "^[A-Za-z0-9_]+$" });
/** Longer ones are no amount of anything; the pattern is the specification's. */
const DecimalAmount = Type.String({
  maxLength: 80,
  pattern: "^[0-9]+(\\.[0-9]+)?$",
  description: "Decimal string.",
});
const CountryCode = Type.String({
  minLength: 2,
  maxLength: 2,
  pattern: "^[A-Za-z]{2}$",
  description: "ISO 3166-1 alpha-2.",
});
const RedirectUrl = Nullable(
  Type.String({
    format: "redirect-url",
    maxLength: 2048,
    description: "http or https, without credentials.",
  }),
);

export const CreateCustomerBody = Type.Object(
  {
    id: Type.String({
      minLength: 1,
      maxLength: 256,
      pattern: "\\S",
      description: "The caller's own id of the customer.",
    }),
    subject_token: Type.Optional(
      Type.String({ minLength: 1, maxLength: 16_384, description: "OIDC ID token, or a wallet token." }),
    ),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { maxProperties: 100 })),
  },
  { additionalProperties: false },
);
export type CreateCustomerBody = Static<typeof CreateCustomerBody>;

export const CustomerView = Type.Object(
  {
    id: Uuid,
    externalId: Type.String({ description: "The caller's own id of the customer." }),
    createdAt: DateTime,
    updatedAt: DateTime,
    organizationId: Uuid,
    projectId: Uuid,
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    accessToken: Type.Optional(
      Nullable(Type.String({ description: "Customer JWT; only in the answer to a creation." })),
    ),
  },
  { $id: "Customer" },
);

export const PageQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.String({ pattern: "^([1-9][0-9]?|100)$", description: "1 to 100; 50 when left out." }),
    ),
    starting_after: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: "Id of the last item seen." }),
    ),
  },
  { additionalProperties: false },
);
export type PageQuery = Static<typeof PageQuery>;

export const CustomersQuery = Type.Object(
  {
    externalId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: "The customer with this id of the caller's.",
      }),
    ),
    ...PageQuery.properties,
  },
  { additionalProperties: false },
);

const AccountBody = Type.Object(
  {
    currencyCode: CurrencyCode,
    details: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        maxProperties: 30,
        description:
          "countryCode, rail, provider, and what GET /v1/intent/requirements asks for. Required without externalAccountId.",
      }),
    ),
    externalAccountId: Type.Optional(
      Type.String({
        format: "uuid",
        description: "An external account of the customer, whose details are used; `details` add to them.",
      }),
    ),
  },
  { additionalProperties: false },
);

export const CreateIntentBody = Type.Object(
  {
    src: AccountBody,
    dest: AccountBody,
    srcAmount: DecimalAmount,
    onboardingRedirectUrl: Type.Optional(RedirectUrl),
    checkoutRedirectUrl: Type.Optional(RedirectUrl),
    autoExecute: Type.Optional(
      Type.Boolean({ default: false, description: "Execute once compliance is complete." }),
    ),
    providerId: Type.Optional(
      Nullable(Type.String({ minLength: 1, maxLength: 64, description: "Preferred provider." })),
    ),
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        maxProperties: 50,
        description: "Your own data; returned with the intent.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type CreateIntentBody = Static<typeof CreateIntentBody>;

const AccountView = Type.Object({
  type: literals(["BANK_ACCOUNT", "CRYPTO_ADDRESS"]),
  currency: Type.Object({
    ticker: Type.String(),
    name: Type.String(),
    code: Type.String(),
    type: literals(["FIAT", "CRYPTO"]),
  }),
  details: Type.Record(Type.String(), Type.Unknown()),
});

export const IntentView = Type.Object(
  {
    id: Uuid,
    src: AccountView,
    dest: AccountView,
    status: literals(INTENT_STATUSES),
    createdAt: DateTime,
    updatedAt: DateTime,
    srcAmount: Type.String(),
    currentRequirementCode: Type.Optional(Type.String()),
    expiredAt: DateTime,
    type: literals(["ONRAMP", "OFFRAMP"]),
    provider: Type.String(),
    onboardingRedirectUrl: Type.Optional(Type.String()),
    checkoutRedirectUrl: Type.Optional(Type.String()),
    failureReason: Type.Optional(Type.String()),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
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
      receipt: Type.Optional(Receipt),
      refund: Type.Optional(Refund),
    }),
  },
  { $id: "Transaction" },
);

export const IntentEnvelope = Type.Object(
  {
    intent: Type.Unsafe<Static<typeof IntentView>>(Type.Ref("Intent")),
    onboardingUrl: Nullable(Type.String({ format: "uri" })),
    transaction: Type.Optional(Type.Unsafe<Static<typeof TransactionView>>(Type.Ref("Transaction"))),
  },
  { $id: "IntentEnvelope" },
);

/** An intent as its project reads it. */
export const ProjectIntentView = Type.Object(
  {
    customerId: Uuid,
    intent: Type.Unsafe<Static<typeof IntentView>>(Type.Ref("Intent")),
    onboardingUrl: Nullable(Type.String({ format: "uri" })),
    transaction: Type.Optional(Type.Unsafe<Static<typeof TransactionView>>(Type.Ref("Transaction"))),
  },
  { $id: "ProjectIntent" },
);
export type ProjectIntentView = Static<typeof ProjectIntentView>;

export const ProjectIntentsQuery = Type.Object(
  {
    customerId: Type.Optional(Type.String({ format: "uuid", description: "Intents of this customer." })),
    status: Type.Optional(literals(INTENT_STATUSES)),
    updatedSince: Type.Optional(
      Type.String({ format: "date-time", description: "Intents that changed at or after this time." }),
    ),
    ...PageQuery.properties,
  },
  { additionalProperties: false },
);
export type ProjectIntentsQuery = Static<typeof ProjectIntentsQuery>;

export const QuoteQuery = Type.Object(
  {
    srcCurrencyCode: CurrencyCode,
    destCurrencyCode: CurrencyCode,
    srcAmount: DecimalAmount,
    countryCode: CountryCode,
  },
  { additionalProperties: false },
);
export type QuoteQuery = Static<typeof QuoteQuery>;

export const QuoteView = Type.Object(
  {
    providerId: Uuid,
    type: literals(["ONRAMP", "OFFRAMP"]),
    rail: Type.String(),
    hasIndicativePrice: Type.Boolean(),
    destAmount: Type.String(),
    exchangeRate: Type.String(),
    fees: Fees,
  },
  { $id: "Quote" },
);

export const QuotesView = Type.Object({
  quotes: Type.Array(Type.Unsafe<Static<typeof QuoteView>>(Type.Ref("Quote"))),
});

export const RequirementsQuery = Type.Object(
  {
    srcCurrencyCode: CurrencyCode,
    destCurrencyCode: CurrencyCode,
    rail: Type.Optional(Rail),
    providerId: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  },
  { additionalProperties: false },
);
export type RequirementsQuery = Static<typeof RequirementsQuery>;

const SideRequirements = Type.Object({
  currencyCode: Type.String(),
  schema: Type.Record(Type.String(), Type.Unknown(), { description: "JSON Schema, draft 2020-12." }),
});
export const RequirementsView = Type.Object({ src: SideRequirements, dest: SideRequirements });

export const SupportedPairView = Type.Object({
  from: Type.String(),
  to: Type.String(),
  providerIds: Type.Array(Uuid),
});

export const ProviderView = Type.Object({
  id: Uuid,
  name: Type.String(),
  code: Type.String(),
  logo: Nullable(Type.String()),
});

export const ExternalAccountsBody = Type.Object(
  {
    src: CurrencyCode,
    dest: CurrencyCode,
    source: Type.Record(Type.String(), Type.Unknown(), { maxProperties: 30 }),
    destination: Type.Record(Type.String(), Type.Unknown(), { maxProperties: 30 }),
  },
  { additionalProperties: false },
);
export type ExternalAccountsBody = Static<typeof ExternalAccountsBody>;

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
    metadata: Type.Record(Type.String(), Type.Unknown()),
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
    sequence: Type.Integer({ description: "Grows with each event; numbers may be missing." }),
    data: Type.Record(Type.String(), Type.Unknown()),
  },
  { $id: "Event" },
);

export const DeliveryView = Type.Object({
  webhookId: Uuid,
  url: Type.String(),
  status: literals(["PENDING", "DELIVERED", "EXHAUSTED"]),
  attempts: Type.Integer(),
  lastResult: Type.Optional(
    Type.String({ description: "Status of the last answer, or why there was none." }),
  ),
  nextAttemptAt: Type.Optional(DateTime),
  updatedAt: DateTime,
});

/** The body of a request that has none. */
export const EmptyBody = Type.Object({}, { additionalProperties: false });

export type IntentView = Static<typeof IntentView>;
export type TransactionView = Static<typeof TransactionView>;
export type IntentEnvelope = Static<typeof IntentEnvelope>;
export type QuoteView = Static<typeof QuoteView>;
export type CustomerView = Static<typeof CustomerView>;
export type ExternalAccountView = Static<typeof ExternalAccountView>;
