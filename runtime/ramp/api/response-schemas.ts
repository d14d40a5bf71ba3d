import {
  anything,
  described,
  extended,
  flag,
  integer,
  listOf,
  mapOf,
  named,
  oneOf,
  openRecord,
  orNull,
  type Schema,
  text,
  textOf,
  time,
  type ValueOf,
} from "@routewright/runtime/internal/core/model/schema.js";
import { DepositView } from "./deposit-account-schemas.js";
import type { JsonText } from "../core/exact-json.js";
import { INTENT_STATUSES, TRANSACTION_STATUSES } from "../intents/intent.js";
import { REFUSAL_REASONS } from "../providers/refusal-reasons.js";
import { REQUIREMENT_STATUSES } from "../intents/requirement.js";
import { UNAVAILABLE_REASONS } from "../providers/quotes.js";
import { IntentPriceView, NewPriceView, PRICE } from "./price-schemas.js";
import { Instruction, Receipt, Refund } from "../providers/protocol.js";

export { DepositAccountView } from "./deposit-account-schemas.js";
export * from "./event-views.js";
export { RefundView } from "./refund-schema.js";

/** Schemas of all answers: they type the views, and they are the OpenAPI document's. */

const Uuid = textOf({ format: "uuid" });
const ProviderCode = described("The provider's code, such as `sandbox-south`.", text);
const Json = mapOf(anything);
const Metadata = Json as Schema as Schema<JsonText>;
/** Views hold the dates of the records, which JSON writes in ISO 8601. */
const DateTime = time as Schema as Schema<Date>;

export const CustomerView = openRecord(
  {
    id: Uuid,
    externalId: described("The caller's own id of the customer.", text),
    createdAt: DateTime,
    updatedAt: DateTime,
    organizationId: Uuid,
    projectId: Uuid,
  },
  {
    metadata: Metadata,
    accessToken: orNull(described("Customer JWT; only in the answer to a creation.", text)),
  },
  { $id: "Customer" },
);

const AccountView = openRecord({
  type: oneOf(["BANK_ACCOUNT", "CRYPTO_ADDRESS"]),
  currency: openRecord({ ticker: text, name: text, code: text, type: oneOf(["FIAT", "CRYPTO"]) }),
  details: Json,
});

const PaymentDueAt = described("Until when the provider waits for the payment.", DateTime);

const RequirementView = openRecord(
  { code: text, title: described("Name for people.", text), status: oneOf(REQUIREMENT_STATUSES) },
  {
    reason: described("Why it failed, or what more the provider needs.", text),
    url: textOf({
      format: "uri",
      description: "The provider's own page, for the customer; it returns to the intent's hosted page.",
    }),
  },
  { examples: [{ code: "KYC_VERIFICATION", title: "Identity check", status: "PENDING" }] },
);

export const IntentView = openRecord(
  {
    id: Uuid,
    src: AccountView,
    dest: {
      ...AccountView,
      examples: [
        {
          type: "CRYPTO_ADDRESS",
          currency: { ticker: "USDC", name: "USD Coin", code: "USDC_POLYGON", type: "CRYPTO" },
          details: { address: "0x52908400098527886E0F7030069857D2E4169EE7" },
        },
      ],
    },
    status: oneOf(INTENT_STATUSES),
    createdAt: DateTime,
    updatedAt: DateTime,
    srcAmount: text,
    requirements: described("Checks of the provider, in their order.", listOf(RequirementView)),
    expiredAt: DateTime,
    type: oneOf(["ONRAMP", "OFFRAMP"]),
    provider: text,
    providerId: Uuid,
    providerCode: ProviderCode,
  },
  {
    currentRequirementCode: text,
    paymentDueAt: PaymentDueAt,
    price: IntentPriceView,
    newPrice: NewPriceView,
    maxSlippage: described("How much less a renewed price may give, in percent.", text),
    onboardingRedirectUrl: text,
    checkoutRedirectUrl: text,
    failureReason: text,
    refusal: described(
      "The provider's last refusal, before the payment.",
      openRecord({ reason: oneOf(REFUSAL_REASONS), message: text }),
    ),
    metadata: Metadata,
    deposit: DepositView,
    sandbox: described("true: the provider moves no real money.", flag),
  },
  { $id: "Intent" },
);

export const TransactionView = openRecord(
  {
    id: Uuid,
    status: oneOf(TRANSACTION_STATUSES),
    createdAt: DateTime,
    updatedAt: DateTime,
    context: openRecord(
      { instructions: listOf(Instruction) },
      {
        providerReference: text,
        failureReason: text,
        paymentDueAt: PaymentDueAt,
        receipt: Receipt,
        refunds: listOf(Refund),
      },
    ),
  },
  {},
  { $id: "Transaction" },
);

export const IntentEnvelope = openRecord(
  {
    intent: named<IntentView>("Intent"),
    onboardingUrl: orNull(textOf({ format: "uri" })),
  },
  {
    checkoutUrl: textOf({
      format: "uri",
      description: "The hosted page of the payment, while there is one.",
    }),
    transaction: named<TransactionView>("Transaction"),
  },
  { $id: "IntentEnvelope" },
);

/** An intent as its project reads it. */
export const ProjectIntentView = extended(
  IntentEnvelope,
  { customerId: Uuid },
  { attention: described("Why the intent needs attention: what each reason is about.", mapOf(text)) },
  { $id: "ProjectIntent" },
);
export type ProjectIntentView = ValueOf<typeof ProjectIntentView>;

export const QuoteView = openRecord(
  {
    providerId: Uuid,
    providerCode: ProviderCode,
    type: oneOf(["ONRAMP", "OFFRAMP"]),
    rail: text,
    srcAmount: text,
    ...PRICE,
  },
  {
    id: textOf({
      format: "uuid",
      description: "The provider holds this price: `quoteId` of POST /v1/intent.",
    }),
    expiresAt: described("Until when the price is held.", DateTime),
  },
  { $id: "Quote" },
);

const UnavailableView = openRecord(
  { providerId: Uuid, providerCode: ProviderCode, reason: oneOf(UNAVAILABLE_REASONS) },
  {
    minimum: described("Least amount of the source currency.", text),
    maximum: described("Largest amount of the source currency.", text),
  },
);
export type UnavailableView = ValueOf<typeof UnavailableView>;

export const QuotesView = openRecord({
  quotes: listOf(named<QuoteView>("Quote")),
  unavailable: described(
    "The project's other providers, and why they do not quote.",
    listOf(UnavailableView),
  ),
});

const SideRequirements = openRecord({
  currencyCode: text,
  schema: described("JSON Schema, draft 2020-12.", mapOf(anything)),
});
export const RequirementsView = openRecord({ src: SideRequirements, dest: SideRequirements });

export const SupportedPairView = openRecord({
  from: text,
  to: text,
  providerIds: listOf(Uuid),
  offers: described(
    "What each provider moves, by rail.",
    listOf(
      openRecord(
        {
          providerId: Uuid,
          providerCode: ProviderCode,
          rail: text,
          countries: listOf(described("ISO 3166-1 alpha-2.", text)),
          minimum: described("Least amount of `from`.", text),
          maximum: described("Largest amount of `from`.", text),
        },
        {
          travelRuleFrom: described(
            "Amount of `from` from which the provider needs originator and beneficiary.",
            text,
          ),
        },
      ),
    ),
  ),
});
export type SupportedPairView = ValueOf<typeof SupportedPairView>;

export const ProviderView = openRecord({ id: Uuid, name: text, code: text, logo: orNull(text) });

const CurrencyView = openRecord(
  {
    id: Uuid,
    ticker: text,
    name: text,
    code: text,
    decimals: integer,
    type: oneOf(["FIAT", "CRYPTO"]),
    createdAt: DateTime,
    updatedAt: DateTime,
  },
  { blockchainId: Uuid, blockchain: openRecord({ id: Uuid, name: text, code: text }) },
);

export const ExternalAccountView = openRecord(
  {
    id: Uuid,
    type: oneOf(["BANK_ACCOUNT", "CRYPTO_ADDRESS"]),
    currencyId: Uuid,
    createdAt: DateTime,
    updatedAt: DateTime,
    metadata: Json,
    label: text,
    customerId: Uuid,
    currency: CurrencyView,
  },
  {},
  { $id: "ExternalAccount" },
);

const AccountRef = named<ExternalAccountView>("ExternalAccount");
export const ExternalAccountsView = openRecord({ source: AccountRef, destination: AccountRef });

export type IntentView = ValueOf<typeof IntentView>;
export type TransactionView = ValueOf<typeof TransactionView>;
export type IntentEnvelope = ValueOf<typeof IntentEnvelope>;
export type QuoteView = ValueOf<typeof QuoteView>;
export type CustomerView = ValueOf<typeof CustomerView>;
export type ExternalAccountView = ValueOf<typeof ExternalAccountView>;
