import {
  anything,
  described,
  flag,
  listOf,
  mapOf,
  oneOf,
  orNull,
  record,
  textOf,
  time,
  type ValueOf,
  wholeNumber,
} from "@routewright/runtime/internal/core/model/schema.js";
import { INTENT_STATUSES } from "../intents/intent.js";
import { EVENT_TYPES } from "../webhooks/events.js";
import { Rail } from "../providers/protocol.js";
import { TravelRule } from "../providers/travel-rule.js";
import { type JsonText, memberText, storedLength } from "../core/exact-json.js";
import { errorAt, type RampError } from "../core/ramp-errors.js";

/** Schemas of all bodies and queries: they check, they type, and they are the OpenAPI document's. */

const CurrencyCode = textOf({ minLength: 2, maxLength: 20, pattern: "^[A-Za-z0-9_]+$" });
const limitedText = (maxLength: number, description?: string) =>
  textOf({ minLength: 1, maxLength, ...(description !== undefined && { description }) });
/** Longer texts are not amounts; the pattern is the specification's. */
const decimalAmount = (description: string) =>
  textOf({ maxLength: 80, pattern: "^[0-9]+(\\.[0-9]+)?$", description });
const DecimalAmount = decimalAmount("Decimal string.");
const CountryCode = textOf({
  minLength: 2,
  maxLength: 2,
  pattern: "^[A-Za-z]{2}$",
  description: "ISO 3166-1 alpha-2.",
});
const HTTP_URL = {
  format: "redirect-url",
  description: "http or https, without credentials, and with a host of at most 253 characters.",
};
const RedirectUrl = orNull(textOf({ ...HTTP_URL, maxLength: 2048 }));
const Json = (maxProperties: number, description?: string) =>
  mapOf(anything, { maxProperties, ...(description !== undefined && { description }) });

/** Lists hold up to a hundred intents or customers with their metadata. */
const MAX_METADATA_LENGTH = 16_384;

/** The metadata of a body, to the last digit; refused where it is too large (runtime/ramp/docs/limits.md). */
export function readMetadata(body: string): JsonText | null | RampError {
  const metadata = memberText(body, "metadata");
  if (metadata === null || storedLength(metadata) <= MAX_METADATA_LENGTH) return metadata;
  const message = `is longer than ${String(MAX_METADATA_LENGTH)} characters as JSON`;
  return errorAt("INVALID_REQUEST", "/metadata", message);
}

export const CreateCustomerBody = record(
  { id: textOf({ ...limitedText(256, "The caller's own id of the customer."), pattern: "\\S" }) },
  { subject_token: limitedText(16_384, "OIDC ID token, or a wallet token."), metadata: Json(100) },
  { examples: [{ id: "user-42", metadata: { plan: "pro" } }] },
);
export type CreateCustomerBody = ValueOf<typeof CreateCustomerBody>;

export const PAGE = {
  limit: textOf({ pattern: "^([1-9][0-9]?|100)$", description: "1 to 100; 50 when left out." }),
  starting_after: limitedText(256, "Id of the last item seen."),
};
export const PageQuery = record({}, PAGE);
export type PageQuery = ValueOf<typeof PageQuery>;

export const CustomersQuery = record(
  {},
  { externalId: limitedText(256, "The customer with this id of the caller's."), ...PAGE },
);

export const AccountBody = record(
  { currencyCode: CurrencyCode },
  {
    details: Json(
      30,
      "countryCode, rail, provider, and what GET /v1/intent/requirements asks for. Required without externalAccountId.",
    ),
    externalAccountId: textOf({
      format: "uuid",
      description: "An external account of the customer, whose details are used; `details` add to them.",
    }),
  },
);

export const CreateIntentBody = record(
  { src: AccountBody, dest: AccountBody, srcAmount: DecimalAmount },
  {
    onboardingRedirectUrl: RedirectUrl,
    checkoutRedirectUrl: RedirectUrl,
    autoExecute: described("Execute once compliance is complete.", flag, false),
    providerId: orNull(limitedText(64, "Preferred provider.")),
    quoteId: orNull(
      textOf({
        format: "uuid",
        description:
          "A held quote of GET /v1/intent/quote for the same amount, currencies and country: the order is made at its price, at its provider, or refused.",
      }),
    ),
    maxSlippage: orNull(
      textOf({
        pattern: "^(100(\\.0{1,2})?|\\d{1,2}(\\.\\d{1,2})?)$",
        examples: ["0.5"],
        description:
          "How much less the destination may receive where the price has to be renewed, in percent.",
      }),
    ),
    travelRule: TravelRule,
    metadata: Json(50, "Your own data; returned with the intent."),
  },
  {
    examples: [
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
    ],
  },
);
export type CreateIntentBody = ValueOf<typeof CreateIntentBody>;

const Order = described("`desc`, newest first, when left out.", oneOf(["asc", "desc"]));

export const EventsQuery = record(
  {},
  {
    type: oneOf(EVENT_TYPES),
    order: Order,
    afterSequence: textOf({ pattern: "^[0-9]{1,16}$", description: "Events with a greater `sequence`." }),
    createdSince: described("Events of this time or later, by their `timestamp`.", time),
    ...PAGE,
  },
);

const WEBHOOK_FIELDS = {
  concurrency: described("Deliveries at a time; 10 for a new webhook.", wholeNumber(1, 100)),
};
const WebhookUrl = textOf({
  format: "redirect-url",
  maxLength: 2048,
  description:
    "http or https, without credentials, at a public address with a host of at most 253 characters.",
});
const EventTypes = listOf(oneOf(EVENT_TYPES), {
  minItems: 1,
  uniqueItems: true,
  description: "The events that it gets; all of a new webhook, when left out.",
});

export const CreateWebhookBody = record({ url: WebhookUrl }, { eventTypes: EventTypes, ...WEBHOOK_FIELDS });

export const ChangeWebhookBody = record(
  {},
  { url: WebhookUrl, eventTypes: orNull(EventTypes), ...WEBHOOK_FIELDS, enabled: flag },
);

export const RotateSecretBody = record(
  {},
  { overlapHours: described("How long the secret before signs deliveries too.", wholeNumber(0, 720), 24) },
);

export const ProjectIntentsQuery = record(
  {},
  {
    customerId: textOf({ format: "uuid", description: "Intents of this customer." }),
    status: oneOf(INTENT_STATUSES),
    attention: described("`true`: intents that need attention.", oneOf(["true"])),
    createdSince: described("Intents that were created at or after this time.", time),
    createdUntil: described("Intents that were created before this time.", time),
    order: Order,
    updatedSince: described("Intents that changed at or after this time.", time),
    ...PAGE,
  },
);

export const QuoteQuery = record(
  { srcCurrencyCode: CurrencyCode, destCurrencyCode: CurrencyCode, countryCode: CountryCode },
  {
    srcAmount: decimalAmount("What the source sends. This or `destAmount`."),
    destAmount: decimalAmount("What the destination receives."),
  },
);
export type QuoteQuery = ValueOf<typeof QuoteQuery>;

export const RequirementsQuery = record(
  { srcCurrencyCode: CurrencyCode, destCurrencyCode: CurrencyCode },
  { rail: Rail, providerId: limitedText(64) },
);
export type RequirementsQuery = ValueOf<typeof RequirementsQuery>;

export const ExternalAccountsBody = record({
  src: CurrencyCode,
  dest: CurrencyCode,
  source: Json(30),
  destination: Json(30),
});
export type ExternalAccountsBody = ValueOf<typeof ExternalAccountsBody>;

export const RefundBody = record(
  {
    reason: textOf({
      ...limitedText(500, "Names the refund: a repeated request with the same reason is the same refund."),
      pattern: "\\S",
    }),
  },
  { amount: decimalAmount("Of the source currency; what is left of the payment when left out.") },
);

export const ResolveBody = record({
  as: oneOf(["completed", "failed"]),
  note: textOf({
    ...limitedText(500, "Why; the failure reason of an intent that is resolved as failed."),
    pattern: "\\S",
  }),
});

export const AcceptPriceBody = record({
  quoteId: textOf({ format: "uuid", description: "Of the intent's `newPrice`." }),
});

/** The body of a request that has none. */
export const EmptyBody = record({});
