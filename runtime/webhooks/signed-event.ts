import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { type NotificationResult, sendNotification } from "../core/http/outbound-http.js";
import { namesPrivateAddress, PRIVATE, type PublicNames } from "./public-names.js";

/** An event for one receiver. */
export interface SignedEvent {
  readonly url: URL;
  /** Unique: a receiver knows a repeated event by it. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
  /** Each gives a signature. */
  readonly secrets: readonly string[];
  /** Whether the receiver may be at a private address. */
  readonly allowPrivate: boolean;
  /** Who chose the address: slow name servers delay others of the same one alone. */
  readonly tenant: string;
  /** `User-Agent` */
  readonly sender: string;
  /** For the whole exchange. */
  readonly timeoutMs: number;
}

/** Makes one attempt, signed by Standard Webhooks. Redirects are not followed. Never rejects. */
export async function sendSigned(
  { url, id, body, secrets, allowPrivate, tenant, sender, timeoutMs }: SignedEvent,
  names: PublicNames,
  at: Date,
): Promise<NotificationResult> {
  if (!allowPrivate && namesPrivateAddress(url)) return { kind: "failed", reason: PRIVATE };
  return sendNotification({
    url,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": sender,
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(" "),
    },
    body,
    timeoutMs,
    ...(allowPrivate ? {} : { lookup: names.lookupFor(tenant) }),
  });
}

/** A secret of Standard Webhooks. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}
