import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { Webhook } from "standardwebhooks";

/** A signed request is accepted this long before and after the time it names, in seconds. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;

/** What a request's signature covers. */
export interface SignedRequest {
  /** Seconds since 1970. */
  readonly timestamp: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Empty without one. */
  readonly idempotencyKey: string;
  readonly body: string;
}

export const REQUEST_HEADERS = {
  keyId: "x-provider-key-id",
  timestamp: "x-provider-timestamp",
  signature: "x-provider-signature",
} as const;

/** The lines timestamp, method, target, idempotency key and SHA-256 of the body. */
export function signedLines(request: SignedRequest): readonly string[] {
  const digest = createHash("sha256").update(request.body).digest("hex");
  return [request.timestamp, request.method, request.target, request.idempotencyKey, digest];
}

/** HMAC-SHA256, in hexadecimal, over the signed lines. */
export function requestSignature(secret: string, request: SignedRequest): string {
  return `v1=${createHmac("sha256", secret).update(signedLines(request).join("\n")).digest("hex")}`;
}

/** Whether a request is signed with the secret, and recent. */
export function isSigned(secret: string, request: SignedRequest, signature: string, nowMs: number): boolean {
  const expected = Buffer.from(requestSignature(secret, request));
  const given = Buffer.from(signature);
  const age = Math.abs(nowMs / 1000 - Number(request.timestamp));
  return (
    expected.length === given.length && timingSafeEqual(expected, given) && age <= SIGNATURE_TOLERANCE_SECONDS
  );
}

/** Headers of a callback. */
export interface CallbackHeaders {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

/** Callbacks are signed as Standard Webhooks are, with the credential's secret. */
export function callbackHeaders(secret: string, id: string, at: Date, body: string): CallbackHeaders {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": callbackSigner(secret).sign(id, at, body),
  };
}

/** Whether a callback is signed with the secret, and not older than five minutes. */
export function isSignedCallback(secret: string, headers: CallbackHeaders, body: string): boolean {
  try {
    callbackSigner(secret).verify(body, { ...headers });
    return true;
  } catch (error) {
    // The library reads the JSON of what it has verified.
    return error instanceof SyntaxError;
  }
}

/** The key is the secret's bytes; of a secret `whsec_…` the bytes that it encodes, as the Standard Webhooks libraries read it. */
function callbackSigner(secret: string): Webhook {
  return new Webhook(secret.startsWith("whsec_") ? secret : Buffer.from(secret).toString("base64"));
}
