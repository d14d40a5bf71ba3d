import type { CustomerFacts } from "../core/customer-facts.js";
import { JsonText } from "../core/exact-json.js";
import type { OnboardingOrder } from "../providers/protocol.js";
import type { PageRequest } from "../database/ramp-database.js";
import { OF_PROJECT, ofProject, type ProjectTransaction } from "../database/transaction.js";
import type { Intent, Transaction, IntentStatus } from "./intent.js";
import { BALANCES } from "./journal.js";
import type { IntentRefund } from "./refund.js";
import { leaseOf, type PollingPolicy } from "./lease.js";
import { recordStatus } from "./transitions.js";

/** An intent as `SELECT` reads it: times within JSON are texts. */
interface IntentRow extends Omit<Intent, "transaction" | "metadata" | "refunds"> {
  readonly refunds: readonly (Omit<IntentRefund, "createdAt" | "updatedAt"> & {
    readonly createdAt: string;
    readonly updatedAt: string;
  })[];
  readonly metadata: string | null;
  readonly nextChange: string;
  readonly transaction:
    | (Omit<Transaction, "paymentDueAt" | "createdAt" | "updatedAt"> & {
        readonly paymentDueAt: string | null;
        readonly createdAt: string;
        readonly updatedAt: string;
      })
    | null;
}

const SELECT = `SELECT i.id, i.project_id AS "projectId", i.customer_id AS "customerId", i.connection_id AS "connectionId", i.connection_version AS "connectionVersion",
    i.type, i.status, json_build_object('currencyCode', i.src_currency, 'details', i.src_details) AS src,
    json_build_object('currencyCode', i.dest_currency, 'details', i.dest_details) AS dest,
    i.src_amount AS "srcAmount", i.rail, i.price, i.accepted_amount AS "acceptedAmount", i.max_slippage AS "maxSlippage", i.new_price AS "newPrice", i.auto_execute AS "autoExecute",
    i.onboarding_redirect_url AS "onboardingRedirectUrl", i.checkout_redirect_url AS "checkoutRedirectUrl",
    i.failure_reason AS "failureReason", i.metadata::text AS metadata, i.cancel_requested_at IS NOT NULL AS "isCancelRequested",
    i.expires_at AS "expiresAt", i.lease_owner AS "leaseOwner", i.failed_attempts AS "failedAttempts", i.attention, i.acknowledged,
    i.refusal, i.refused_by AS "refusedBy", i.is_provider_named AS "isProviderNamed", i.onboarding_attempt AS "onboardingAttempt",
    i.deposit_account_id AS "depositAccountId", i.deposit_id AS "depositId", i.deposit_reference AS "depositReference",
    i.return_reason AS "returnReason",
    EXISTS (SELECT FROM ramp.travel_rules v WHERE v.project_id = i.project_id AND v.intent_id = i.id AND v.sent_at IS NULL) AS "hasTravelRule", i.sandbox, i.onboarding_order AS "onboardingOrder", i.created_at AS "createdAt", i.updated_at AS "updatedAt", now() AS "readAt",
    to_char((i.updated_at + interval '1 microsecond') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "nextChange",
    c.capabilities ->> 'name' AS provider, c.code AS "providerCode",
    COALESCE((SELECT json_agg(json_build_object('code', r.code, 'status', r.status, 'title', r.title, 'form', r.form, 'url', r.url, 'reason', r.reason,
       'attempt', r.attempt) ORDER BY r.position)
     FROM ramp.requirements r WHERE r.project_id = i.project_id AND r.intent_id = i.id), '[]') AS requirements,
    COALESCE(${BALANCES}, '[]') AS balances,
    COALESCE((SELECT jsonb_agg(jsonb_build_object('id', q.id, 'providerId', q.provider_id, 'amount', q.amount::text, 'listedAmount', q.listed_amount::text,
       'reason', q.reason, 'status', q.state, 'origin', q.origin, 'failureReason', q.failure_reason, 'isSent', q.sent_at IS NOT NULL,
       'isCancelRequested', q.cancel_requested_at IS NOT NULL, 'isMatchedByAmount', q.matched_by_amount, 'createdAt', q.created_at,
       'updatedAt', q.updated_at) ORDER BY q.created_at, q.id)
     FROM ramp.refund_requests q WHERE q.project_id = i.project_id AND q.intent_id = i.id), '[]') AS refunds,
    CASE WHEN t.id IS NOT NULL THEN json_build_object('id', t.id, 'status', t.status, 'providerReference', t.provider_reference,
      'instructions', t.instructions, 'failureReason', t.failure_reason, 'receipt', t.receipt, 'refunds', t.refunds, 'orderAttempt', t.order_attempt, 'orderBody', t.order_body,
      'refusalReason', t.refusal_reason, 'paymentDueAt', t.payment_due_at, 'createdAt', t.created_at, 'updatedAt', t.updated_at) END AS transaction
  FROM ramp.intents i JOIN ramp.provider_connections c ON c.project_id = i.project_id AND c.id = i.connection_id
  LEFT JOIN ramp.transactions t ON t.project_id = i.project_id AND t.intent_id = i.id`;

/** @param customerId another customer's intent does not exist for this one; undefined: any customer's */
export async function readIntent(
  tx: ProjectTransaction,
  id: string,
  customerId?: string,
): Promise<Intent | null> {
  const row = await tx.row<IntentRow>(`${SELECT} WHERE ${ofProject("i")} AND i.id = $1`, [id]);
  return row && row.customerId === (customerId ?? row.customerId) ? intentOf(row, tx.now) : null;
}

/** Reads an intent and keeps it from changing until the transaction ends. It must exist. */
export async function lockIntent(tx: ProjectTransaction, id: string): Promise<Intent> {
  // The lock first, the rest after: what one statement reads beside a lock that it waited for can be old.
  tx.write(`SELECT FROM ramp.intents WHERE ${OF_PROJECT} AND id = $1 FOR UPDATE`, [id]);
  const intent = await readIntent(tx, id);
  if (intent === null) throw new Error(`The intent ${id} does not exist.`);
  return intent;
}

/** Filter of a project's intents; omitted fields match all. */
interface IntentFilter {
  readonly customerId?: string | undefined;
  readonly status?: IntentStatus | undefined;
  readonly needsAttention?: boolean;
  /** Times in ISO 8601. */
  readonly createdSince?: string | undefined;
  readonly createdUntil?: string | undefined;
  /** By creation; default: newest first. */
  readonly order?: "asc" | "desc" | undefined;
  /** A time in ISO 8601: the list is in the order of the last changes. */
  readonly updatedSince?: string | undefined;
}

/** An intent of a list. */
export interface ListedIntent extends Intent {
  /** The first time after that of its last change, in microseconds: where the next page of changes begins. */
  readonly nextChange: string;
}

/**
 * Intents by creation, or by their last changes, oldest first; one more than `limit` when there are more. Null: `startingAfter` names none of
 * the customer's.
 */
export async function listIntents(
  tx: ProjectTransaction,
  {
    customerId,
    status,
    createdSince,
    createdUntil,
    order = "desc",
    updatedSince,
    needsAttention,
  }: IntentFilter,
  { limit, startingAfter }: PageRequest,
): Promise<readonly ListedIntent[] | null> {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${String(values.push(value))}`;
  const conditions = [ofProject("i")];
  if (startingAfter !== null) {
    if ((await readIntent(tx, startingAfter, customerId)) === null) return null;
    conditions.push(
      `(i.created_at, i.id) ${order === "asc" ? ">" : "<"} (SELECT a.created_at, a.id FROM ramp.intents a WHERE ${ofProject("a")} AND a.id = ${bind(startingAfter)})`,
    );
  }
  if (customerId !== undefined) conditions.push(`i.customer_id = ${bind(customerId)}`);
  if (status !== undefined) conditions.push(`i.status = ${bind(status)}`);
  if (needsAttention === true) conditions.push("i.attention_since IS NOT NULL");
  if (createdSince !== undefined) conditions.push(`i.created_at >= ${bind(createdSince)}::timestamptz`);
  if (createdUntil !== undefined) conditions.push(`i.created_at < ${bind(createdUntil)}::timestamptz`);
  if (updatedSince !== undefined) conditions.push(`i.updated_at >= ${bind(updatedSince)}::timestamptz`);
  const byCreation = `i.created_at ${order}, i.id ${order}`;
  const sort = updatedSince === undefined ? byCreation : "i.updated_at, i.id";
  const rows = await tx.rows<IntentRow>(
    `${SELECT} WHERE ${conditions.join(" AND ")} ORDER BY ${sort} LIMIT ${bind(limit + 1)}`,
    values,
  );
  return rows.map((row) => ({ ...intentOf(row, tx.now), nextChange: row.nextChange }));
}

/** Records that the customer cancels. Repeated, the intent stays as it is. */
export function requestCancel(tx: ProjectTransaction, intent: Intent): Intent {
  if (intent.isCancelRequested) return intent;
  tx.write(`UPDATE ramp.intents SET cancel_requested_at = now() WHERE ${OF_PROJECT} AND id = $1`, [
    intent.id,
  ]);
  return { ...intent, isCancelRequested: true };
}

/**
 * @param now the transaction's time. When the database's clock jumps, a server learns of it a moment later, and the deadlines
 * move in between: an intent has expired only by both times.
 */
function intentOf({ transaction, readAt, metadata, refunds, ...row }: IntentRow, now: Date): Intent {
  const { createdAt = "", updatedAt = "", paymentDueAt = null } = transaction ?? {};
  return {
    ...row,
    metadata: metadata === null ? null : new JsonText(metadata),
    readAt: readAt < now ? readAt : now,
    refunds: refunds.map((refund) => ({
      ...refund,
      createdAt: new Date(refund.createdAt),
      updatedAt: new Date(refund.updatedAt),
    })),
    transaction: transaction && {
      ...transaction,
      paymentDueAt: paymentDueAt === null ? null : new Date(paymentDueAt),
      createdAt: new Date(createdAt),
      updatedAt: new Date(updatedAt),
    },
  };
}

/** The state of every intent at first. */
function initialState({ now, projectId }: ProjectTransaction, { intentLifetimeMs }: PollingPolicy) {
  return {
    projectId,
    status: "PENDING",
    failureReason: null,
    acceptedAmount: null,
    newPrice: null,
    refusal: null,
    refusedBy: [],
    onboardingAttempt: 1,
    isCancelRequested: false,
    hasTravelRule: false,
    expiresAt: new Date(now.getTime() + intentLifetimeMs),
    failedAttempts: 0,
    attention: {},
    acknowledged: {},
    balances: [],
    refunds: [],
    onboardingOrder: null,
    createdAt: now,
    updatedAt: now,
    readAt: now,
    requirements: [],
    transaction: null,
  } satisfies Partial<Intent>;
}

/** Of an intent with an order of the ramp's. */
export const NO_DEPOSIT = {
  depositAccountId: null,
  depositId: null,
  depositReference: null,
  returnReason: null,
} as const;

export interface NewIntent extends Omit<Intent, keyof ReturnType<typeof initialState>> {
  /** Address that the provider sends callbacks to. */
  readonly callbackUrl: string;
}

/**
 * Records an intent with its onboarding order, leased to its creator, which onboards it next: in one insertion, since each further
 * update in the transaction checks all foreign keys and writes all indexes again (150 µs of the database).
 */
export function recordIntent(
  tx: ProjectTransaction,
  { callbackUrl, provider, providerCode, leaseOwner, src, dest, ...columns }: NewIntent,
  customer: CustomerFacts,
  polling: PollingPolicy,
): Intent {
  const state = initialState(tx, polling);
  const intent: Intent = { ...columns, provider, providerCode, leaseOwner, src, dest, ...state };
  const onboardingOrder = onboardingOrderOf(intent, { ...customer, callbackUrl });
  const { status, expiresAt, createdAt } = state;
  tx.insert("intents", {
    ...columns,
    srcCurrency: src.currencyCode,
    srcDetails: src.details,
    destCurrency: dest.currencyCode,
    destDetails: dest.details,
    onboardingOrder,
    ...{ status, expiresAt, createdAt },
    ...leaseOf(tx, leaseOwner, polling),
  });
  recordStatus(tx, intent, null);
  return { ...intent, onboardingOrder };
}

/**
 * Orders are stored as the bytes that are sent, before they are: a provider that compares repeats of an idempotency key gets the
 * same bytes, whatever has changed since.
 */
function onboardingOrderOf(
  { id, type, src, dest, srcAmount, rail, price }: Intent,
  { customerReference, wallets, callbackUrl }: CustomerFacts & Pick<NewIntent, "callbackUrl">,
): string {
  const quoteId = price?.providerQuoteId;
  const movement = { type, src, dest, srcAmount, rail, ...(quoteId === undefined ? {} : { quoteId }) };
  return JSON.stringify({ id, customerReference, wallets, movement, callbackUrl } satisfies OnboardingOrder);
}
