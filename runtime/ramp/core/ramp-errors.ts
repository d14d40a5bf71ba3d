import type { Reply } from "@routewright/runtime/internal/core/http/send.js";
import { stringify } from "./exact-json.js";
import type { Violation } from "./json-schema.js";

/** `message`: the text for the caller; `when`: the condition, for the documentation. */
function answers(status: number) {
  return (message: string, when: string) => ({ status, message, when });
}

const badRequest = answers(400);
const unauthorized = answers(401);
const conflict = answers(409);
const unavailable = answers(503);

/**
 * Every error of the ramp (runtime/ramp/docs/errors.md). Nothing else makes an error body; OpenAPI and the tests read
 * this same table.
 */
export const RAMP_ERRORS = {
  INVALID_REQUEST: badRequest(
    "The request is not valid.",
    "a field, a parameter or a header is not what the documentation asks for; `details` names each",
  ),
  INVALID_IDEMPOTENCY_KEY: badRequest(
    "Idempotency-Key must have 1 to 256 characters.",
    "the header is empty, too long or sent twice",
  ),
  INVALID_SUBJECT_TOKEN: badRequest(
    "The subject token is not valid.",
    "`subject_token` is not a token that its issuer signed, or has expired",
  ),
  INVALID_AMOUNT: badRequest(
    "The amount is not valid.",
    "the amount is zero or has more decimals than the currency",
  ),
  UNKNOWN_CURRENCY: badRequest("The currency is not known.", "a currency code names no currency"),
  UNKNOWN_COUNTRY: badRequest(
    "The country code is not one of ISO 3166-1 alpha-2.",
    "a country code names no country",
  ),
  INVALID_ACCOUNT_DETAILS: badRequest(
    "The account details do not match the requirements.",
    "`details`, `source` or `destination` do not match the JSON Schema of GET /v1/intent/requirements",
  ),
  UNSUPPORTED_PATH: badRequest(
    "No provider offers this path.",
    "no connected provider moves this currency pair for the country, rail and amount",
  ),
  AMOUNT_TOO_SMALL: badRequest(
    "No provider takes so little.",
    "`srcAmount` is below what every provider of the path takes; the message says the least",
  ),
  AMOUNT_TOO_LARGE: badRequest(
    "No provider takes so much.",
    "`srcAmount` is above what every provider of the path takes; the message says the most",
  ),
  PROVIDER_NOT_AVAILABLE: badRequest(
    "The preferred provider does not offer this path.",
    "`providerId` is not a candidate for the path; a provider that was just connected is one within a second or two",
  ),
  QUOTE_MISMATCH: badRequest(
    "The quote is for another payment.",
    "`quoteId` names a quote for another amount, currency pair, country, rail or provider; `details` names each",
  ),
  QUOTE_EXPIRED: badRequest(
    "The quote is no longer held. Request a new one.",
    "`quoteId` names a quote or a new price after its `expiresAt`, or a quote of a provider that is no longer connected as it was",
  ),
  QUOTE_USED: badRequest(
    "Another intent was made with this quote. Request a new one.",
    "`quoteId` names a quote that another intent was made with",
  ),
  COMPLIANCE_NOT_COMPLETE: badRequest(
    "The customer has to complete compliance first.",
    "the transaction is executed before the requirements are met, or a deposit account is opened before the customer has an intent at the provider whose checks are complete",
  ),
  TRANSACTION_EXISTS: badRequest(
    "The intent has a transaction already: GET /v1/intent/{id}/transaction has it.",
    "the transaction is executed a second time",
  ),
  INTENT_CLOSED: badRequest(
    "The intent has ended.",
    "the transaction of a failed, expired or cancelled intent is executed, or one that has ended is cancelled, or gets a new price",
  ),
  NOT_REFUNDABLE: badRequest(
    "The payment cannot be refunded.",
    "a refund of a payment that is not `SUCCESS`, of more than is left, or at a provider that offers none; the message says which",
  ),
  REFUND_NOT_CANCELLABLE: badRequest(
    "The refund cannot be cancelled.",
    "a refund is cancelled that has ended, or that was sent to a provider that cancels none; the message says which",
  ),
  NOT_RESOLVABLE: badRequest(
    "The intent needs no attention.",
    "an intent without `attention` is resolved, or one without a transaction as completed",
  ),
  INVALID_WALLET_SIGNATURE: badRequest(
    "The message is not signed by the wallet it names, or its nonce is not valid.",
    "a wallet sign-in does not verify",
  ),
  INVALID_CREDENTIALS: unauthorized(
    "The project credentials are missing or not valid.",
    "HTTP Basic credentials are missing, malformed or unknown",
  ),
  INVALID_TOKEN: unauthorized(
    "The access token is missing, expired or not valid.",
    "the bearer token is missing, expired, malformed or not ours",
  ),
  SUBJECT_TOKEN_REJECTED: unauthorized(
    "The subject token is not from an identity provider and for an audience that the project has registered.",
    "the issuer or the audience of `subject_token` is not registered",
  ),
  INVALID_SIGNATURE: unauthorized(
    "The callback is not signed by the provider.",
    "a provider callback is forged or too old",
  ),
  METRICS_FORBIDDEN: answers(403)(
    "Metrics are open to loopback callers only.",
    "/metrics is read from another machine and METRICS_PUBLIC is not set",
  ),
  NOT_FOUND: answers(404)("Not found.", "the path or the resource does not exist, or is another customer's"),
  METHOD_NOT_ALLOWED: answers(405)(
    "The method is not allowed here.",
    "the path exists, but not with this method",
  ),
  PRICE_CHANGED: conflict(
    "The provider no longer holds the price. Accept `newPrice` of the intent, then repeat the request.",
    "the provider no longer holds the price of an intent whose transaction is executed, and the one of now is worse than was accepted",
  ),
  IDEMPOTENCY_IN_PROGRESS: conflict(
    "A request with this Idempotency-Key is still in progress. Repeat it in a moment.",
    "a request with the same key is still in progress after five seconds",
  ),
  CUSTOMER_HAS_OPEN_INTENTS: conflict(
    "The customer has open intents, refunds or deposit accounts. `details` names each and says how to close it.",
    "a customer with open intents or deposit accounts, or with a refund that the provider has not answered, is deleted; `details` says how to close each",
  ),
  CUSTOMER_ID_CONFLICT: conflict(
    "The id belongs to another customer. Use your own id of the customer.",
    "`id` is the UUID of another customer, or its UUIDv5 is",
  ),
  REFUND_CONFLICT: conflict(
    "Another refund has this reason.",
    "a refund is asked for with the reason of another one, of another amount",
  ),
  TOO_MANY_DEPOSIT_ACCOUNTS: conflict(
    "The customer has 20 open deposit accounts, which is the most: close one first.",
    "a deposit account is opened beside 20 open ones",
  ),
  DEPOSIT_ACCOUNT_CLOSED: conflict(
    "The deposit account has ended.",
    "a deposit account is closed that the provider refused, or that is closed",
  ),
  TOO_MANY_WEBHOOKS: conflict(
    "The project has 100 webhooks, which is the most: delete one first.",
    "a webhook is added to 100 or more",
  ),
  TOO_MANY_SECRETS: conflict(
    "The webhook has 20 former secrets that still sign, which is the most: wait until one ends.",
    "a secret is rotated while 20 former ones still sign",
  ),
  WEBHOOK_DISABLED: conflict(
    "The webhook is switched off. Switch it on first.",
    "a test event is sent to a webhook that is switched off",
  ),
  IDENTITY_CONFLICT: conflict(
    "The customer and the identity provider's user are not bound to each other.",
    "the customer is bound to another user, or the user to another customer",
  ),
  BODY_TOO_LARGE: answers(413)("The body is larger than 1 MiB.", "the body is too large"),
  UNSUPPORTED_MEDIA_TYPE: answers(415)(
    "The body must be application/json.",
    "a body is sent as something else, or compressed",
  ),
  IDEMPOTENCY_KEY_REUSED: answers(422)(
    "This Idempotency-Key was used for another request.",
    "the key comes again with another method, path, body or customer",
  ),
  RATE_LIMITED: answers(429)(
    "Too many requests. Try again later.",
    "the rate limit of the customer, project or address is used up; `Retry-After` gives the seconds to wait",
  ),
  INTERNAL_ERROR: answers(500)(
    "Internal error. Retry, and quote the request id if it persists.",
    "a request fails unexpectedly; the log has the cause under the X-Request-Id",
  ),
  PROVIDER_UNAVAILABLE: unavailable(
    "No provider answers at the moment. Try again later.",
    "no candidate provider gives a price in time; nothing is ordered without one",
  ),
  SERVICE_UNAVAILABLE: unavailable(
    "The service cannot use its database at the moment. Try again later.",
    "the service starts, or the database does not answer or rolled the request back for another one",
  ),
};

export type RampErrorCode = keyof typeof RAMP_ERRORS;

/** An error response: expected, so a value and never thrown. */
export interface RampError {
  readonly error: RampErrorCode;
  readonly message: string;
  readonly details: readonly Violation[];
  /** Seconds to wait, sent as `Retry-After`. */
  readonly retryAfter: number | null;
}

export function rampError(code: RampErrorCode, more: Partial<Omit<RampError, "error">> = {}): RampError {
  return { error: code, message: RAMP_ERRORS[code].message, details: [], retryAfter: null, ...more };
}

/** An error about one part of the request; `path` as in `Violation`. */
export function errorAt(code: RampErrorCode, path: string, message: string): RampError {
  return rampError(code, { details: [{ path, message }] });
}

export function isRampError(value: unknown): value is RampError {
  return typeof value === "object" && value !== null && "error" in value;
}

/** `{error, message, details?}` (runtime/ramp/docs/errors.md). */
export function errorBody({ error, message, details }: RampError): string {
  return JSON.stringify({ error: error, message, ...(details.length > 0 ? { details } : {}) });
}

/** A whole response; the body is JSON unless the headers give another type. */
export interface RampResponse extends Reply {
  readonly body: string;
}

/** How a request ends. */
export type RampAnswer = RampResponse | RampError;

export function jsonResponse(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): RampResponse {
  return { status, body: stringify(value), headers };
}
