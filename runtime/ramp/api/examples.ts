import type { Static } from "@sinclair/typebox";
import type { EVENTS, EventType } from "../webhooks/record-event.js";
import type {
  CustomerView,
  DeliveryView,
  EventView,
  ExternalAccountView,
  IntentEnvelope,
  ProjectIntentView,
  QuoteView,
  TransactionView,
} from "./response-schemas.js";

/** Examples of the OpenAPI document: one on-ramp of a customer, from the quote to the webhook. */

const id = (number: number): string => `01997f3a-0001-7000-8000-${String(number).padStart(12, "0")}`;
const ORGANIZATION = id(1);
const PROJECT = id(2);
const PROVIDER = id(3);
const QUOTE = id(4);
const INTENT = id(5);
const TRANSACTION = id(6);
const CUSTOMER = "6f1c2b1e-52d4-4a39-9d0e-0a5c3f7e8b21";
const CREATED = "2026-03-02T09:30:00.000Z";
const UPDATED = "2026-03-02T09:31:12.000Z";
const TIMES = { createdAt: CREATED, updatedAt: CREATED };
const TOKEN = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiI2ZjFjMmIxZSJ9.c2lnbmF0dXJl";
const ADDRESS = "0x52908400098527886E0F7030069857D2E4169EE7";
const BANK = { countryCode: "US", rail: "ACH", routingNumber: "021000021", accountNumber: "123456789" };
const FEES = {
  currencyCode: "USD",
  totalFee: "1.50",
  networkFee: "0.25",
  processingFee: "1.00",
  partnerFee: "0.25",
};
const PRICE = { destAmount: "98.500000", exchangeRate: "1", fees: FEES, hasIndicativePrice: false };

const customer: CustomerView = {
  id: CUSTOMER,
  externalId: CUSTOMER,
  ...TIMES,
  organizationId: ORGANIZATION,
  projectId: PROJECT,
  metadata: { plan: "premium" },
};

const quote: QuoteView = {
  providerId: PROVIDER,
  type: "ONRAMP",
  rail: "ACH",
  ...PRICE,
  quoteId: QUOTE,
  expiresAt: "2026-03-02T09:35:00.000Z",
};

const transaction: TransactionView = {
  id: TRANSACTION,
  status: "IN_PROGRESS",
  createdAt: UPDATED,
  updatedAt: UPDATED,
  context: {
    instructions: [
      {
        encoding: "DISPLAY",
        type: "BANK",
        details: {
          beneficiary: "Example Payments",
          bankName: "Example Bank",
          routingNumber: "021000021",
          accountNumber: "987654321",
          reference: "R-7F3A",
          rail: "ACH",
        },
      },
    ],
    providerReference: "order-4711",
  },
};

/** Once its requirements are met. */
const intent: IntentEnvelope["intent"] = {
  id: INTENT,
  src: {
    type: "BANK_ACCOUNT",
    currency: { ticker: "USD", name: "US Dollar", code: "USD", type: "FIAT" },
    details: { countryCode: "US", rail: "ACH" },
  },
  dest: {
    type: "CRYPTO_ADDRESS",
    currency: { ticker: "USDC", name: "USD Coin", code: "USDC_POLYGON", type: "CRYPTO" },
    details: { address: ADDRESS },
  },
  status: "TRANSACTION_IN_PROGRESS",
  createdAt: CREATED,
  updatedAt: UPDATED,
  srcAmount: "100.00",
  expiredAt: "2026-03-03T09:30:00.000Z",
  type: "ONRAMP",
  provider: "Example Payments",
  price: { quoteId: QUOTE, ...PRICE },
  onboardingRedirectUrl: "https://shop.example/onboarded",
  metadata: { order: "A-1001" },
};

const created: IntentEnvelope = {
  intent: { ...intent, status: "COMPLIANCE_IN_PROGRESS", currentRequirementCode: "KYC_VERIFICATION" },
  onboardingUrl: "https://ramp.example/onboarding/v1.AZl_OgAC.c2lnbmF0dXJl",
};
const executed: IntentEnvelope = { intent, onboardingUrl: null, transaction };
const projectIntent: ProjectIntentView = { ...executed, customerId: CUSTOMER };

const source: ExternalAccountView = {
  id: id(12),
  type: "BANK_ACCOUNT",
  currencyId: id(9),
  ...TIMES,
  metadata: BANK,
  label: "USD ••6789",
  customerId: CUSTOMER,
  currency: {
    ...{ id: id(9), ticker: "USD", name: "US Dollar", code: "USD", decimals: 2, type: "FIAT" },
    ...TIMES,
  },
};
const destination: ExternalAccountView = {
  ...source,
  id: id(13),
  type: "CRYPTO_ADDRESS",
  currencyId: id(10),
  metadata: { address: ADDRESS },
  label: "USDC 0x5290…9EE7",
  currency: {
    ...{ id: id(10), ticker: "USDC", name: "USD Coin", code: "USDC_POLYGON", decimals: 6, type: "CRYPTO" },
    ...TIMES,
    blockchainId: id(11),
    blockchain: { id: id(11), name: "Polygon", code: "POLYGON" },
  },
};

const ABOUT = {
  ...{ projectId: PROJECT, intentId: INTENT, customerId: CUSTOMER },
  intent: {
    ...{ type: "ONRAMP", status: "COMPLETED", srcAmount: "100.00", rail: "ACH", provider: "Sandbox South" },
    ...{ srcCurrencyCode: "USD", destCurrencyCode: "USDC_POLYGON", livemode: false },
  },
};

const EVENT_DATA: { readonly [T in EventType]: Static<(typeof EVENTS)[T]> } = {
  "intent.status_changed": {
    ...ABOUT,
    type: "ONRAMP",
    status: "COMPLETED",
    previousStatus: "TRANSACTION_IN_PROGRESS",
    failureReason: null,
  },
  "compliance.updated": { ...ABOUT, requirementCode: "KYC_VERIFICATION", status: "COMPLETED" },
  "transaction.updated": {
    ...ABOUT,
    transactionId: TRANSACTION,
    status: "REFUNDED",
    failureReason: null,
    refunds: [{ id: "refund-1", amount: "100.00", reason: "The bank returned the transfer." }],
  },
  "intent.attention": {
    ...ABOUT,
    reasons: ["PROVIDER_FAILS"],
  },
  "webhook.exhausted": { projectId: PROJECT, webhookId: id(8), eventId: id(7), lastResult: "503" },
  "webhook.test": { projectId: PROJECT, webhookId: id(8) },
};

/** The body of a webhook. */
export function eventExample(type: EventType): Omit<Static<typeof EventView>, "id"> {
  return { type, timestamp: UPDATED, sequence: 4711, data: EVENT_DATA[type] };
}

const delivery: Static<typeof DeliveryView> = {
  webhookId: id(8),
  url: "https://shop.example/events",
  status: "PENDING",
  attempts: 1,
  lastResult: "503",
  nextAttemptAt: "2026-03-02T09:32:12.000Z",
  updatedAt: UPDATED,
};

const webhookSecret = { webhookId: id(8), secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD" };
const webhook = {
  ...{ webhookId: id(8), url: delivery.url, enabled: true, concurrency: 10, eventTypes: null },
  ...{ failures: 0, pending: 0, createdAt: CREATED },
};

interface Example {
  readonly body?: unknown;
  /** Of the good response; absent where it has no body. */
  readonly response?: unknown;
}

/** By method and path. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  "POST /v1/customers": {
    body: { id: CUSTOMER, metadata: { plan: "premium" } },
    response: { ...customer, accessToken: TOKEN },
  },
  "GET /v1/customers": { response: [customer] },
  "DELETE /v1/customers/{id}": {},
  "GET /v1/currencies/supported": {
    response: [{ from: "USD", to: "USDC_POLYGON", providerIds: [PROVIDER] }],
  },
  "GET /v1/providers": {
    response: [{ id: PROVIDER, name: "Example Payments", code: "example-payments", logo: null }],
  },
  "GET /v1/intent/requirements": {
    response: {
      src: {
        currencyCode: "USD",
        schema: {
          type: "object",
          properties: {
            countryCode: { type: "string" },
            rail: { const: "ACH" },
            routingNumber: { type: "string", format: "aba-routing-number" },
            accountNumber: { type: "string", pattern: "^[0-9]{4,17}$" },
          },
          required: ["countryCode", "rail", "routingNumber", "accountNumber"],
        },
      },
      dest: {
        currencyCode: "USDC_POLYGON",
        schema: {
          type: "object",
          properties: { address: { type: "string", pattern: "^0x[a-fA-F0-9]{40}$" } },
          required: ["address"],
        },
      },
    },
  },
  "GET /v1/intent/quote": { response: { quotes: [quote] } },
  "POST /v1/intent": {
    body: {
      src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } },
      dest: { currencyCode: "USDC_POLYGON", details: { address: ADDRESS } },
      srcAmount: "100.00",
      quoteId: QUOTE,
      onboardingRedirectUrl: "https://shop.example/onboarded",
      metadata: { order: "A-1001" },
    },
    response: created,
  },
  "GET /v1/intent": { response: [executed] },
  "GET /v1/intent/{id}": { response: executed },
  "POST /v1/intent/{id}/cancel": {
    body: {},
    response: { intent: { ...intent, status: "CANCELLED" }, onboardingUrl: null },
  },
  "POST /v1/intent/{id}/transaction": { body: {}, response: transaction },
  "GET /v1/intent/{id}/transaction": { response: transaction },
  "GET /v1/intents": { response: [projectIntent] },
  "GET /v1/intents/{id}": { response: projectIntent },
  "POST /v1/customers/external-accounts": {
    body: { src: "USD", dest: "USDC_POLYGON", source: BANK, destination: { address: ADDRESS } },
    response: { source, destination },
  },
  "GET /v1/customers/external-accounts": { response: [source, destination] },
  "DELETE /v1/customers/external-accounts/{id}": {},
  "GET /v1/auth/wallet/nonce": { response: "Xk3vR8pQ2mW7sT1z" },
  "POST /v1/auth/wallet/challenge": {
    body: {
      message: [
        `shop.example wants you to sign in with your Ethereum account:`,
        ADDRESS,
        "",
        "",
        "URI: https://shop.example/sign-in",
        "Version: 1",
        "Chain ID: 137",
        "Nonce: Xk3vR8pQ2mW7sT1z",
        `Issued At: ${CREATED}`,
      ].join("\n"),
      signature: `0x${"5c".repeat(65)}`,
      ttlInSeconds: 3600,
    },
    response: { token: TOKEN },
  },
  "GET /v1/events": { response: [{ id: id(7), ...eventExample("intent.status_changed") }] },
  "GET /v1/events/{id}/deliveries": { response: [delivery] },
  "POST /v1/webhooks": { body: { url: delivery.url, concurrency: 10 }, response: webhookSecret },
  "GET /v1/webhooks": { response: [webhook] },
  "DELETE /v1/webhooks/{id}": {},
  "POST /v1/webhooks/{id}/test": { body: {}, response: { webhookId: id(8) } },
  "POST /v1/webhooks/{id}/rotate-secret": { body: {}, response: webhookSecret },
  "POST /v1/provider-callbacks/{projectId}/{connectionId}": {
    body: { type: "execution.updated", onboardingId: INTENT },
    response: { received: true },
  },
};

const PARAMETERS: Readonly<Record<string, string>> = {
  ...{ limit: "20", starting_after: INTENT, externalId: "user-42", customerId: CUSTOMER },
  ...{ status: "PENDING_PAYMENT", createdSince: CREATED, createdBefore: UPDATED, updatedSince: CREATED },
  ...{
    type: "intent.status_changed",
    order: "asc",
    srcCurrencyCode: "USD",
    destCurrencyCode: "USDC_POLYGON",
  },
  srcAmount: "100.00",
  countryCode: "US",
  rail: "ACH",
  providerId: "example-payments",
  id: INTENT,
  projectId: PROJECT,
  connectionId: PROVIDER,
  "Idempotency-Key": "order-A-1001",
};

/** Example of a parameter by its name. */
export function parameterExample(name: string): string {
  const example = PARAMETERS[name];
  if (example === undefined) throw new Error(`The parameter ${name} has no example.`);
  return example;
}
