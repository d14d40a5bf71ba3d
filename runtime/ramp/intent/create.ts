import type { ProjectTransaction } from "../store/database.js";
import type { Rhythm } from "./attention.js";
import type { Intent } from "./intent.js";
import { recordIntentEvent } from "./move.js";
import { HOLDER } from "./read.js";

export type NewIntent = Pick<
  Intent,
  | "id"
  | "customerId"
  | "connectionId"
  | "provider"
  | "type"
  | "src"
  | "dest"
  | "srcAmount"
  | "rail"
  | "autoExecute"
  | "onboardingRedirectUrl"
  | "checkoutRedirectUrl"
>;

/** Records an intent, held by the driver that is about to onboard it. All is sent before it waits. */
export async function recordIntent(
  tx: ProjectTransaction,
  given: NewIntent,
  driver: string,
  { holdMs, lifetimeMs }: Rhythm,
): Promise<Intent> {
  const createdAt = new Date();
  const intent: Omit<Intent, "customerReference" | "wallets"> = {
    ...given,
    status: "PENDING",
    failureReason: null,
    expiresAt: new Date(createdAt.getTime() + lifetimeMs),
    attendedBy: driver,
    setbacks: 0,
    createdAt,
    updatedAt: createdAt,
    requirements: [],
    transaction: null,
  };
  recordIntentEvent(tx, intent, null);
  const holder = await tx.row<{ customer_reference: string; wallets: readonly string[] }>(
    `INSERT INTO ramp.intents AS i (id, customer_id, connection_id, type, status, src_currency, src_details, dest_currency, dest_details,
       src_amount, rail, auto_execute, onboarding_redirect_url, checkout_redirect_url, expires_at, attended_by, attended_until,
       attend_at, created_at, updated_at)
     VALUES ($1, $2, $3, $4, 'PENDING', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16, $17, $17)
     RETURNING ${HOLDER}`,
    [
      intent.id,
      intent.customerId,
      intent.connectionId,
      intent.type,
      intent.src.currencyCode,
      JSON.stringify(intent.src.details),
      intent.dest.currencyCode,
      JSON.stringify(intent.dest.details),
      intent.srcAmount,
      intent.rail,
      intent.autoExecute,
      intent.onboardingRedirectUrl,
      intent.checkoutRedirectUrl,
      intent.expiresAt,
      driver,
      new Date(createdAt.getTime() + holdMs),
      createdAt,
    ],
  );
  if (holder === null) throw new Error("The intent was not stored.");
  return { ...intent, customerReference: holder.customer_reference, wallets: holder.wallets };
}
