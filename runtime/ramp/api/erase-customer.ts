import { REFUSAL_REASONS } from "../providers/refusal-reasons.js";
import { randomUUID } from "node:crypto";
import type { Violation } from "../core/json-schema.js";
import { rampError, type RampError } from "../core/ramp-errors.js";
import { OF_PROJECT, ofProject, type ProjectTransaction } from "../database/transaction.js";
import { REVOKE_TOKENS } from "../sign-in/customer-token.js";

/**
 * Erases a customer (runtime/ramp/docs/customers.md): its row and what is stored about it are deleted. Its intents, which keep the
 * money's history, go to a nameless customer of their own: who returns under the same id is a new customer and finds none of them.
 */
export async function eraseCustomer(tx: ProjectTransaction, id: string): Promise<RampError | null> {
  // Locked, so that no intent is created meanwhile. Not FOR UPDATE: a server that holds an intent checks its foreign key again, and would
  // wait for the erasure, which waits for the intent.
  const customer = await tx.row(
    `SELECT FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1 AND erased_at IS NULL FOR NO KEY UPDATE`,
    [id],
  );
  if (customer === null) return rampError("NOT_FOUND");
  const open = await tx.rows<OpenPart>(OPEN, [id, MOST_NAMED]);
  if (open.length > 0) return rampError("CUSTOMER_HAS_OPEN_INTENTS", { details: open.map(howToClose) });
  const nameless = randomUUID();
  for (const statement of HAND_OVER) tx.write(statement, [id, nameless]);
  await forgetEvents(tx, nameless);
  for (const statement of FORGET_DETAILS) tx.write(statement, [nameless]);
  for (const statement of FORGET_CUSTOMER) tx.write(statement, [id]);
  return null;
}

/** Each is closed by itself: who sees so many closes them by the list of intents. */
const MOST_NAMED = 20;

/** What keeps a customer from being erased: an open deposit account, an intent that has not ended, or a refund that has not been answered. */
interface OpenPart {
  /** Null: an intent or a refund of one. */
  readonly depositAccountId: string | null;
  readonly isDeposit: boolean;
  readonly intentId: string;
  readonly refundId: string | null;
  readonly state: string;
  readonly isSent: boolean;
}

/** The open deposit accounts of the customer `$1`, then the open intents and refunds, each oldest first, at most `$2`. */
const OPEN = `(SELECT a.id AS "depositAccountId", false AS "isDeposit", a.id AS "intentId", NULL::uuid AS "refundId", a.status AS state, false AS "isSent"
  FROM ramp.deposit_accounts a WHERE ${ofProject("a")} AND a.customer_id = $1 AND a.status IN ('PENDING', 'ACTIVE') ORDER BY a.created_at LIMIT $2)
  UNION ALL (SELECT NULL, i.deposit_account_id IS NOT NULL, i.id AS "intentId", r.id AS "refundId", COALESCE(r.state, i.status) AS state, r.sent_at IS NOT NULL AS "isSent"
  FROM ramp.intents i LEFT JOIN ramp.refund_requests r ON r.project_id = i.project_id AND r.intent_id = i.id AND r.state = 'REQUESTED'
  WHERE ${ofProject("i")} AND i.customer_id = $1 AND (NOT i.is_ended OR r.id IS NOT NULL) ORDER BY i.created_at, r.created_at LIMIT $2) LIMIT $2`;

function howToClose({ depositAccountId, isDeposit, intentId, refundId, state, isSent }: OpenPart): Violation {
  if (depositAccountId !== null) {
    const account = `/v1/deposit-accounts/${depositAccountId}`;
    return { path: account, message: `is ${state}: close it with POST ${account}/close` };
  }
  const path = `/v1/intents/${intentId}`;
  if (refundId === null && state === "AMOUNT_MISMATCH")
    return { path, message: `is ${state}: record how it ended with POST ${path}/resolve` };
  if (refundId === null && isDeposit)
    return { path, message: `is ${state}: its provider has the money; wait for its end` };
  if (refundId === null)
    return { path, message: `is ${state}: cancel it with POST ${path}/cancel, or wait for its end` };
  const refund = `${path}/refunds/${refundId}`;
  const cancel = `cancel it with POST ${refund}/cancel`;
  if (!isSent) return { path: refund, message: `is ${state} and not sent: ${cancel}` };
  return {
    path: refund,
    message: `is ${state} and sent: wait for the provider, or ${cancel} where the provider offers it; once the intent needs attention, POST ${path}/resolve ends it`,
  };
}

/** Moves the intents of the customer `$1` to the nameless one `$2`. */
const HAND_OVER = [
  `INSERT INTO ramp.customers (id, external_id, reference, erased_at) SELECT $2, $2, gen_random_uuid(), now()
   WHERE EXISTS (SELECT FROM ramp.intents WHERE ${OF_PROJECT} AND customer_id = $1)
     OR EXISTS (SELECT FROM ramp.deposit_accounts WHERE ${OF_PROJECT} AND customer_id = $1)`,
  // Without the lease: a look-up under way records nothing after it.
  `UPDATE ramp.intents SET customer_id = $2, src_details = '{}', dest_details = '{}', metadata = NULL, onboarding_order = NULL,
     onboarding_redirect_url = NULL, checkout_redirect_url = NULL, lease_owner = NULL, lease_expires_at = NULL,
     failure_reason = CASE WHEN failure_reason IS NOT NULL THEN 'Erased.' END,
     deposit_reference = NULL, refusal = refusal || '{"message": "Erased."}',
     next_poll_at = CASE WHEN next_poll_at IS NOT NULL THEN now() END WHERE ${OF_PROJECT} AND customer_id = $1`,
  // Closed ones, where money can still arrive.
  `UPDATE ramp.deposit_accounts SET customer_id = $2, src_details = '{}', dest_details = '{}', order_body = NULL, instructions = '[]',
     failure_reason = CASE WHEN failure_reason IS NOT NULL THEN 'Erased.' END WHERE ${OF_PROJECT} AND customer_id = $1`,
] as const;

const OF_NAMELESS = `intent_id IN (SELECT id FROM ramp.intents WHERE ${OF_PROJECT} AND customer_id = $1)`;
/** Refunds, as stored, without the words of their reasons. */
const WITHOUT_REASONS = `COALESCE((SELECT jsonb_agg((r || '{"reason": ""}'::jsonb) - 'failureReason') FROM jsonb_array_elements(refunds) r), '[]')`;

/** What of the intents of the nameless customer `$1` tells of a person; amounts, states, receipts and postings stay. */
const FORGET_DETAILS = [
  `DELETE FROM ramp.provider_answers WHERE ${OF_PROJECT} AND (${OF_NAMELESS}
     OR intent_id IN (SELECT id FROM ramp.deposit_accounts WHERE ${OF_PROJECT} AND customer_id = $1))`,
  `DELETE FROM ramp.travel_rules WHERE ${OF_PROJECT} AND ${OF_NAMELESS}`,
  `UPDATE ramp.requirements SET title = code, form = NULL, url = NULL, reason = CASE WHEN reason IS NOT NULL THEN 'Erased.' END WHERE ${OF_PROJECT} AND ${OF_NAMELESS}`,
  `UPDATE ramp.transactions SET instructions = '[]', order_body = NULL, refunds = ${WITHOUT_REASONS},
     failure_reason = CASE WHEN failure_reason IS NOT NULL THEN 'Erased.' END,
     refusal_reason = CASE WHEN refusal_reason IS NOT NULL THEN 'Erased.' END WHERE ${OF_PROJECT} AND ${OF_NAMELESS}`,
  `UPDATE ramp.refund_requests SET reason = '', failure_reason = CASE WHEN failure_reason IS NOT NULL THEN 'Erased.' END WHERE ${OF_PROJECT} AND ${OF_NAMELESS}`,
  `DELETE FROM ramp.idempotency_claims WHERE ${OF_PROJECT} AND resource_id IN
     (SELECT id::text FROM ramp.intents WHERE ${OF_PROJECT} AND customer_id = $1
      UNION ALL SELECT id::text FROM ramp.deposit_accounts WHERE ${OF_PROJECT} AND customer_id = $1)`,
] as const;

/** Events keep their place, their time and the state that they tell of: those that wait are delivered without a name. */
async function forgetEvents(tx: ProjectTransaction, nameless: string): Promise<void> {
  const events = await tx.rows<{ readonly id: string; readonly body: string }>(
    `SELECT id, body FROM ramp.events WHERE ${OF_PROJECT} AND ${OF_NAMELESS}
     UNION ALL SELECT id, body FROM ramp.events WHERE ${OF_PROJECT} AND type = 'deposit_account.updated'
       AND body::json #>> '{data,depositAccountId}' IN (SELECT id::text FROM ramp.deposit_accounts WHERE ${OF_PROJECT} AND customer_id = $1)`,
    [nameless],
  );
  tx.write(
    `UPDATE ramp.events e SET body = given.body FROM unnest($1::uuid[], $2::text[]) AS given (id, body) WHERE ${ofProject("e")} AND e.id = given.id`,
    [events.map(({ id }) => id), events.map(({ body }) => namelessEvent(body, nameless))],
  );
}

/** Names of an event's texts that people wrote. */
const WORDS: ReadonlySet<string> = new Set(["failureReason", "reason", "message", "reference"]);
/** Reasons that nobody wrote. */
const OF_TABLE: ReadonlySet<unknown> = new Set(REFUSAL_REASONS);

function namelessEvent(body: string, nameless: string): string {
  return JSON.stringify(
    JSON.parse(body, (name, value: unknown) => {
      if (name === "customerId") return nameless;
      if (name === "metadata") return undefined;
      return WORDS.has(name) && typeof value === "string" && !OF_TABLE.has(value) ? "" : value;
    }),
  );
}

/** The customer `$1` itself. */
const FORGET_CUSTOMER = [
  `DELETE FROM ramp.idempotency_claims WHERE ${OF_PROJECT} AND (resource_id = $1 OR resource_id IN
     (SELECT id::text FROM ramp.external_accounts WHERE ${OF_PROJECT} AND customer_id = $1))`,
  `DELETE FROM ramp.quotes WHERE ${OF_PROJECT} AND customer_id = $1`,
  `DELETE FROM ramp.external_accounts WHERE ${OF_PROJECT} AND customer_id = $1`,
  `DELETE FROM ramp.customer_identities WHERE ${OF_PROJECT} AND customer_id = $1`,
  REVOKE_TOKENS,
  `DELETE FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1`,
] as const;
