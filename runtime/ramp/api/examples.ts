import { type Schema, text } from "@routewright/runtime/internal/core/model/schema.js";
import * as schemas from "./response-schemas.js";

const id = (number: number): string => `01997f3a-0001-7000-8000-${String(number).padStart(12, "0")}`;
const [CREATED, LATER] = ["2026-03-02T09:30:00.000Z", "2026-03-07T09:30:00.000Z"];
const TOKEN = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiI2ZjFjMmIxZSJ9.c2lnbmF0dXJl";
const BANK = { countryCode: "US", rail: "ACH", routingNumber: "021000021", accountNumber: "123456789" };

/** Values of the OpenAPI document's examples by the name of the field or parameter: one on-ramp, from the quote to the webhook. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  id: id(5),
  customerId: "6f1c2b1e-52d4-4a39-9d0e-0a5c3f7e8b21",
  externalId: "user-42",
  organizationId: id(1),
  projectId: id(2),
  providerId: id(3),
  quoteId: id(4),
  intentId: id(5),
  onboardingId: id(5),
  refundId: id(7),
  depositAccountId: id(10),
  webhookId: id(8),
  eventId: id(9),
  starting_after: id(5),
  afterSequence: "1772443872000000",
  connectionId: id(3),
  type: "intent.status_changed",
  createdSince: CREATED,
  createdUntil: LATER,
  updatedSince: CREATED,
  "Idempotency-Key": "order-A-1001",
  limit: "20",
  updatedAt: "2026-03-02T09:31:12.000Z",
  timestamp: "2026-03-02T09:31:12.000Z",
  expiredAt: LATER,
  paymentDueAt: LATER,
  expiresAt: "2026-03-02T09:41:00.000Z",
  nextAttemptAt: "2026-03-02T09:32:12.000Z",
  sequence: 1_772_443_872_000_000,
  accessToken: TOKEN,
  token: TOKEN,
  subject_token: TOKEN,
  ticker: "USD",
  name: "US Dollar",
  code: "USD",
  decimals: 2,
  currencyCode: "USD",
  srcCurrencyCode: "USD",
  destCurrencyCode: "USDC_POLYGON",
  from: "USD",
  to: "USDC_POLYGON",
  src: "USD",
  dest: "USDC_POLYGON",
  countryCode: "US",
  countries: "US",
  rail: "ACH",
  provider: "Example Payments",
  providerCode: "example-payments",
  srcAmount: "100.00",
  amount: "100.00",
  minimum: "10.00",
  maximum: "50000.00",
  destAmount: "98.500000",
  previousDestAmount: "99.000000",
  maxSlippage: "0.5",
  amountSent: "100.00",
  amountReceived: "98.500000",
  exchangeRate: "1",
  totalFee: "1.50",
  networkFee: "0.25",
  processingFee: "1.00",
  partnerFee: "0.25",
  details: BANK,
  source: BANK,
  destination: { address: "0x52908400098527886E0F7030069857D2E4169EE7" },
  metadata: { order: "A-1001" },
  label: "USD …6789",
  schema: { type: "object", properties: { iban: { type: "string" } }, required: ["iban"] },
  attention: { AMOUNT_MISMATCH: "delivery 59 USDC_POLYGON (expected 98.5), payment 60 USD (expected 100)" },
  onboardingUrl: "https://ramp.example/onboarding/b25ib2FyZGluZw.c2lnbmF0dXJl",
  checkoutUrl: "https://ramp.example/onboarding/b25ib2FyZGluZw.c2lnbmF0dXJl",
  onboardingRedirectUrl: "https://shop.example/onboarded",
  checkoutRedirectUrl: "https://shop.example/paid",
  providerReference: "order-4711",
  reference: "order-4711",
  requirementCode: "KYC_VERIFICATION",
  currentRequirementCode: "KYC_VERIFICATION",
  reasons: "PROVIDER_FAILS",
  note: "agreed with the customer",
  reason: "returned goods",
  url: "https://shop.example/events",
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  lastResult: "503",
  message: "shop.example wants you to sign in with your Ethereum account: …",
  signature: `0x${"1b".repeat(65)}`,
  clientId: "ramp_0f6c2a",
  nonce: "k3v9x2m1p8q7",
};

/** Optional fields that most requests and answers do not have. */
const RARE: ReadonlySet<string> = new Set([
  "attention",
  "quoteId",
  "deposit",
  "travelRule",
  "externalAccountId",
  "refunds",
  "reason",
  "receipt",
  "refusal",
]);

/** An example of a schema, by name, format or type. A text without one is an error that the tests see. */
export function exampleOf(schema: Schema, name = ""): unknown {
  const { $ref, anyOf, items, properties, enum: values, examples, format } = schema as ReadKeywords;
  const types = [(schema as ReadKeywords).type ?? []].flat();
  const type = types[0];
  if (examples !== undefined) return examples[0];
  if (!(name in BY_NAME) && (types.includes("null") || anyOf?.some((choice) => choice["type"] === "null")))
    return null;
  if ($ref !== undefined) return exampleOf(COMPONENTS.get($ref.split("/").at(-1) ?? "") ?? NOTHING, name);
  if ("const" in schema) return schema["const"];
  if (values !== undefined) return values[0];
  if (properties !== undefined) return objectOf(schema as ReadKeywords);
  if (items !== undefined) return [exampleOf(items, name)];
  if (anyOf?.[0] !== undefined) return exampleOf(anyOf[0], name);
  if (name in BY_NAME && fits(BY_NAME[name], type)) return BY_NAME[name];
  const example = BY_FORMAT[format ?? ""] ?? BY_TYPE[type ?? ""];
  if (example === undefined) throw new Error(`The field ${name} has no example.`);
  return example;
}

/** Of these formats the document needs one value. */
const BY_FORMAT: Readonly<Record<string, string>> = {
  uuid: id(6),
  "date-time": CREATED,
  uri: "https://provider.example/logo.svg",
};
const BY_TYPE: Readonly<Record<string, unknown>> = { integer: 1, boolean: true, object: {} };

interface ReadKeywords {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly type?: string | readonly string[];
}

/** Required fields, and the optional ones that have a value here. */
function objectOf({ properties = {}, required = [] }: ReadKeywords): object {
  const shown = Object.keys(properties).filter(
    (name) => required.includes(name) || (name in BY_NAME && !RARE.has(name)),
  );
  return Object.fromEntries(shown.map((name) => [name, exampleOf(properties[name] ?? NOTHING, name)]));
}

/** A name stands for values of one kind. */
function fits(value: unknown, type = ""): boolean {
  return type === "integer" ? typeof value === "number" : typeof value === type;
}

const NOTHING: Schema = { type: "object" };

const COMPONENTS: ReadonlyMap<string, Schema> = new Map(
  Object.values(schemas as Readonly<Record<string, Schema>>).map((schema) => [String(schema["$id"]), schema]),
);

/** Example of a parameter, by its name. */
export function parameterExample(name: string): unknown {
  return exampleOf(text, name);
}
