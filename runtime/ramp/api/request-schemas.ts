import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { INTENT_STATUSES } from "../intents/intent.js";
import { EVENT_TYPES } from "../webhooks/events.js";
import { Rail } from "../providers/protocol.js";
import { type JsonText, memberText, storedLength } from "../core/exact-json.js";
import { errorAt, type RampError } from "../core/ramp-errors.js";
import { literals, Nullable } from "../core/json-schema.js";

/** Schemas of all bodies and queries: they check, they type, and they are the OpenAPI document's. */

/** @param example one for the OpenAPI document, where the names of the fields do not say enough */
export const closed = <P extends TProperties>(properties: P, example?: object) =>
  Type.Object(properties, { additionalProperties: false, ...(example && { examples: [example] }) });

const CurrencyCode = Type.String({ minLength: 2, maxLength: 20, pattern: "^[A-Za-z0-9_]+$" });
const text = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, ...(description !== undefined && { description }) });
/** Longer texts are not amounts; the pattern is the specification's. */
const decimalAmount = (description: string) =>
  Type.String({ maxLength: 80, pattern: "^[0-9]+(\\.[0-9]+)?$", description });
const DecimalAmount = decimalAmount("Decimal string.");
const CountryCode = Type.String({
  minLength: 2,
  maxLength: 2,
  pattern: "^[A-Za-z]{2}$",
  description: "ISO 3166-1 alpha-2.",
});
const HTTP_URL = { format: "redirect-url", description: "http or https, without credentials." };
const RedirectUrl = Type.Optional(Nullable(Type.String({ ...HTTP_URL, maxLength: 2048 })));
const Json = (maxProperties: number, description?: string) =>
  Type.Record(Type.String(), Type.Unknown(), {
    maxProperties,
    ...(description !== undefined && { description }),
  });

/** Lists hold up to a hundred intents or customers with their metadata. */
const MAX_METADATA_LENGTH = 16_384;

/** The metadata of a body, to the last digit; refused where it is too large (runtime/ramp/docs/limits.md). */
export function readMetadata(body: string): JsonText | null | RampError {
  const metadata = memberText(body, "metadata");
  if (metadata === null || storedLength(metadata) <= MAX_METADATA_LENGTH) return metadata;
  const message = `is longer than ${String(MAX_METADATA_LENGTH)} characters as JSON`;
  return errorAt("INVALID_REQUEST", "/metadata", message);
}

export const CreateCustomerBody = closed(
  {
    id: Type.String({ ...text(256, "The caller's own id of the customer."), pattern: "\\S" }),
    subject_token: Type.Optional(text(16_384, "OIDC ID token, or a wallet token.")),
    metadata: Type.Optional(Json(100)),
  },
  { id: "user-42", metadata: { plan: "pro" } },
);
export type CreateCustomerBody = Static<typeof CreateCustomerBody>;

export const PageQuery = closed({
  limit: Type.Optional(
    Type.String({ pattern: "^([1-9][0-9]?|100)$", description: "1 to 100; 50 when left out." }),
  ),
  starting_after: Type.Optional(text(256, "Id of the last item seen.")),
});
export type PageQuery = Static<typeof PageQuery>;

export const CustomersQuery = closed({
  externalId: Type.Optional(text(256, "The customer with this id of the caller's.")),
  ...PageQuery.properties,
});

const AccountBody = closed({
  currencyCode: CurrencyCode,
  details: Type.Optional(
    Json(
      30,
      "countryCode, rail, provider, and what GET /v1/intent/requirements asks for. Required without externalAccountId.",
    ),
  ),
  externalAccountId: Type.Optional(
    Type.String({
      format: "uuid",
      description: "An external account of the customer, whose details are used; `details` add to them.",
    }),
  ),
});

export const CreateIntentBody = closed(
  {
    src: AccountBody,
    dest: AccountBody,
    srcAmount: DecimalAmount,
    onboardingRedirectUrl: RedirectUrl,
    checkoutRedirectUrl: RedirectUrl,
    autoExecute: Type.Optional(
      Type.Boolean({ default: false, description: "Execute once compliance is complete." }),
    ),
    providerId: Type.Optional(Nullable(text(64, "Preferred provider."))),
    quoteId: Type.Optional(
      Nullable(
        Type.String({
          format: "uuid",
          description:
            "A held quote of GET /v1/intent/quote for the same amount, currencies and country: the order is made at its price, at its provider, or refused.",
        }),
      ),
    ),
    metadata: Type.Optional(Json(50, "Your own data; returned with the intent.")),
  },
  {
    src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } },
    dest: {
      currencyCode: "USDC_POLYGON",
      details: { address: "0x52908400098527886E0F7030069857D2E4169EE7" },
    },
    srcAmount: "100.00",
    checkoutRedirectUrl: "https://shop.example/paid",
    autoExecute: true,
    metadata: { order: "A-1001" },
  },
);
export type CreateIntentBody = Static<typeof CreateIntentBody>;

const Order = Type.Optional(
  Type.Unsafe<"asc" | "desc">(
    Type.String({ enum: ["asc", "desc"], description: "`desc`, newest first, when left out." }),
  ),
);

export const EventsQuery = closed({
  type: Type.Optional(literals(EVENT_TYPES)),
  order: Order,
  ...PageQuery.properties,
});

const WEBHOOK_FIELDS = {
  concurrency: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, description: "Deliveries at a time; 10 for a new webhook." }),
  ),
};
const WebhookUrl = Type.String({
  format: "redirect-url",
  maxLength: 2048,
  description: "http or https, without credentials, at a public address.",
});
const EventTypes = Type.Array(literals(EVENT_TYPES), {
  minItems: 1,
  uniqueItems: true,
  description: "The events that it gets; all of a new webhook, when left out.",
});

export const CreateWebhookBody = closed({
  url: WebhookUrl,
  eventTypes: Type.Optional(EventTypes),
  ...WEBHOOK_FIELDS,
});

export const ChangeWebhookBody = closed({
  url: Type.Optional(WebhookUrl),
  eventTypes: Type.Optional(Nullable(EventTypes)),
  ...WEBHOOK_FIELDS,
  enabled: Type.Optional(Type.Boolean()),
});

export const RotateSecretBody = closed({
  overlapHours: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 720,
      default: 24,
      description: "How long the secret before signs deliveries too.",
    }),
  ),
});

const time = (description: string) => Type.Optional(Type.String({ format: "date-time", description }));

export const ProjectIntentsQuery = closed({
  customerId: Type.Optional(Type.String({ format: "uuid", description: "Intents of this customer." })),
  status: Type.Optional(literals(INTENT_STATUSES)),
  attention: Type.Optional(
    Type.String({ enum: ["true"], description: "`true`: intents that need attention." }),
  ),
  createdSince: time("Intents that were created at or after this time."),
  createdUntil: time("Intents that were created before this time."),
  order: Order,
  updatedSince: time("Intents that changed at or after this time."),
  ...PageQuery.properties,
});

export const QuoteQuery = closed({
  srcCurrencyCode: CurrencyCode,
  destCurrencyCode: CurrencyCode,
  srcAmount: Type.Optional(decimalAmount("What the source sends. This or `destAmount`.")),
  destAmount: Type.Optional(decimalAmount("What the destination receives.")),
  countryCode: CountryCode,
});
export type QuoteQuery = Static<typeof QuoteQuery>;

export const RequirementsQuery = closed({
  srcCurrencyCode: CurrencyCode,
  destCurrencyCode: CurrencyCode,
  rail: Type.Optional(Rail),
  providerId: Type.Optional(text(64)),
});
export type RequirementsQuery = Static<typeof RequirementsQuery>;

export const ExternalAccountsBody = closed({
  src: CurrencyCode,
  dest: CurrencyCode,
  source: Json(30),
  destination: Json(30),
});
export type ExternalAccountsBody = Static<typeof ExternalAccountsBody>;

export const RefundBody = closed({
  amount: Type.Optional(decimalAmount("Of the source currency; what is left of the payment when left out.")),
  reason: Type.String({
    ...text(500, "Names the refund: a repeated request with the same reason is the same refund."),
    pattern: "\\S",
  }),
});

export const ResolveBody = closed({
  as: Type.Unsafe<"completed" | "failed">(Type.String({ enum: ["completed", "failed"] })),
  note: Type.String({
    ...text(500, "Why; the failure reason of an intent that is resolved as failed."),
    pattern: "\\S",
  }),
});

/** The body of a request that has none. */
export const EmptyBody = closed({});
