import { OF_PROJECT, type ProjectTransaction } from "../database/ramp-database.js";
import { REVOKE_TOKENS } from "../sign-in/revocations.js";

/** What holds personal data of the customer `$1`; amounts, states and receipts stay. */
const OF_CUSTOMER = `intent_id IN (SELECT id FROM ramp.intents WHERE ${OF_PROJECT} AND customer_id = $1)`;
const ERASE = [
  // First, and without the lease: a look-up under way records nothing after it.
  `UPDATE ramp.intents SET src_details = '{}', dest_details = '{}', metadata = NULL, onboarding_order = NULL,
     onboarding_redirect_url = NULL, checkout_redirect_url = NULL, lease_owner = NULL, lease_expires_at = NULL,
     next_poll_at = CASE WHEN next_poll_at IS NOT NULL THEN now() END WHERE ${OF_PROJECT} AND customer_id = $1`,
  `DELETE FROM ramp.webhook_deliveries WHERE ${OF_PROJECT} AND event_id IN
     (SELECT id FROM ramp.events WHERE ${OF_PROJECT} AND ${OF_CUSTOMER})`,
  `DELETE FROM ramp.events WHERE ${OF_PROJECT} AND ${OF_CUSTOMER}`,
  `DELETE FROM ramp.provider_answers WHERE ${OF_PROJECT} AND ${OF_CUSTOMER}`,
  `UPDATE ramp.transactions SET instructions = '[]', order_body = NULL WHERE ${OF_PROJECT} AND ${OF_CUSTOMER}`,
  `DELETE FROM ramp.idempotency_claims WHERE ${OF_PROJECT} AND (resource_id = $1 OR resource_id IN
     (SELECT id::text FROM ramp.intents WHERE ${OF_PROJECT} AND customer_id = $1))`,
  `DELETE FROM ramp.external_accounts WHERE ${OF_PROJECT} AND customer_id = $1`,
  `DELETE FROM ramp.customer_identities WHERE ${OF_PROJECT} AND customer_id = $1`,
  REVOKE_TOKENS,
  `UPDATE ramp.customers SET external_id = id, metadata = NULL, updated_at = now() WHERE ${OF_PROJECT} AND id = $1`,
] as const;

/** Erases a customer's personal data, unless it has open intents. */
export async function eraseCustomer(
  tx: ProjectTransaction,
  id: string,
): Promise<"erased" | "unknown" | "open"> {
  // Locked, so that no intent is created meanwhile.
  const customer = await tx.row(`SELECT id FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1 FOR UPDATE`, [
    id,
  ]);
  if (customer === null) return "unknown";
  const open = await tx.row(
    `SELECT id FROM ramp.intents WHERE ${OF_PROJECT} AND customer_id = $1 AND NOT is_ended LIMIT 1`,
    [id],
  );
  if (open !== null) return "open";
  for (const statement of ERASE) tx.write(statement, [id]);
  return "erased";
}
