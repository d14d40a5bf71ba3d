import type { Violation } from "./json-schema.js";

/**
 * Every error of the ramp (runtime/ramp/docs/errors.md). Nothing else makes an error body; OpenAPI and the tests read
 * this same table.
 */
export const RAMP_ERRORS = {
  INVALID_REQUEST: {
    status: 400,
    message: "The request is not valid.",
    when: "a field, a parameter or a header is not what the documentation asks for; `details` names each",
  },
  INVALID_IDEMPOTENCY_KEY: {
    status: 400,
    message: "Idempotency-Key must have 1 to 256 characters.",
    when: "the header is empty, too long or sent twice",
  },
  INVALID_SUBJECT_TOKEN: {
    status: 400,
    message: "The subject token is not valid.",
    when: "`subject_token` is not a token that its issuer signed, or has expired",
  },
  INVALID_AMOUNT: {
    status: 400,
    message: "The amount is not valid.",
    when: "the amount is zero or has more decimals than the currency",
  },
  UNKNOWN_CURRENCY: {
    status: 400,
    message: "The currency is not known.",
    when: "a currency code names no currency",
  },
  UNKNOWN_COUNTRY: {
    status: 400,
    message: "The country code is not one of ISO 3166-1 alpha-2.",
    when: "a country code names no country",
  },
  INVALID_ACCOUNT_DETAILS: {
    status: 400,
    message: "The account details do not match the requirements.",
    when: "`details`, `source` or `destination` do not match the JSON Schema of GET /v1/intent/requirements",
  },
  UNSUPPORTED_PATH: {
    status: 400,
    message: "No provider offers this path.",
    when: "no connected provider moves this currency pair for the country, rail and amount",
  },
  PROVIDER_NOT_AVAILABLE: {
    status: 400,
    message: "The preferred provider does not offer this path.",
    when: "`providerId` is not a candidate for the path",
  },
  COMPLIANCE_NOT_COMPLETE: {
    status: 400,
    message: "The customer has to complete compliance first.",
    when: "the transaction is executed before the requirements are met",
  },
  TRANSACTION_EXISTS: {
    status: 400,
    message: "The intent has a transaction already.",
    when: "the transaction is executed a second time",
  },
  INTENT_CLOSED: {
    status: 400,
    message: "The intent has ended.",
    when: "the transaction of a failed, expired or cancelled intent is executed",
  },
  INVALID_WALLET_SIGNATURE: {
    status: 400,
    message: "The message is not signed by the wallet it names, or its nonce is not valid.",
    when: "a wallet sign-in does not verify",
  },
  INVALID_CREDENTIALS: {
    status: 401,
    message: "The project credentials are missing or not valid.",
    when: "HTTP Basic credentials are missing, malformed or unknown",
  },
  INVALID_TOKEN: {
    status: 401,
    message: "The access token is missing, expired or not valid.",
    when: "the bearer token is missing, expired, malformed or not ours",
  },
  SUBJECT_TOKEN_REJECTED: {
    status: 401,
    message:
      "The subject token is not from an identity provider and for an audience that the project has registered.",
    when: "the issuer or the audience of `subject_token` is not registered",
  },
  INVALID_SIGNATURE: {
    status: 401,
    message: "The callback is not signed by the provider.",
    when: "a provider callback is forged or too old",
  },
  METRICS_FORBIDDEN: {
    status: 403,
    message: "Metrics are open to loopback callers only.",
    when: "/metrics is read from another machine and METRICS_PUBLIC is not set",
  },
  NOT_FOUND: {
    status: 404,
    message: "Not found.",
    when: "the path or the resource does not exist, or is another customer's",
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: "The method is not allowed here.",
    when: "the path exists, but not with this method",
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    message: "A request with this Idempotency-Key is still in progress. Repeat it in a moment.",
    when: "a request with the same key is still in progress after five seconds",
  },
  CUSTOMER_HAS_OPEN_INTENTS: {
    status: 409,
    message: "The customer has intents that have not ended. Cancel them, or wait for their end.",
    when: "a customer with open intents is deleted",
  },
  IDENTITY_CONFLICT: {
    status: 409,
    message: "The customer and the identity provider's user are not bound to each other.",
    when: "the customer is bound to another user, or the user to another customer",
  },
  BODY_TOO_LARGE: { status: 413, message: "The body is larger than 1 MiB.", when: "the body is too large" },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    message: "The body must be application/json.",
    when: "a body is sent as something else",
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: "This Idempotency-Key was used for another request.",
    when: "the key comes again with another method, path, body or customer",
  },
  RATE_LIMITED: {
    status: 429,
    message: "Too many requests. Try again later.",
    when: "the rate limit of the customer, project or address is used up; `Retry-After` gives the seconds to wait",
  },
  INTERNAL_ERROR: {
    status: 500,
    message: "Internal error. Retry, and quote the request id if it persists.",
    when: "a request fails unexpectedly; the log has the cause under the X-Request-Id",
  },
  PROVIDER_UNAVAILABLE: {
    status: 503,
    message: "No provider answers at the moment. Try again later.",
    when: "no candidate provider gives a price in time; nothing is ordered without one",
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    message: "The service cannot reach its database. Try again later.",
    when: "the database does not answer",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

interface ErrorRow {
  readonly status: number;
  readonly message: string;
  /** The condition, for the documentation. */
  readonly when: string;
}

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
export interface RampResponse {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a request ends. */
export type RampAnswer = RampResponse | RampError;

export function jsonResponse(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): RampResponse {
  return { status, body: JSON.stringify(value), headers };
}
