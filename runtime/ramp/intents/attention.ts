import { Amount } from "../accounts/amount.js";
import type { Backlog } from "../core/ramp-metrics.js";
import type { RampDatabase } from "../database/ramp-database.js";
import type { OperatorTransaction } from "../database/transaction.js";
import type { CheckedExecution } from "../providers/check-reply.js";
import { isDelivered } from "./book.js";
import { type Attention, type AttentionReason, type Intent, needsAttention } from "./intent.js";
import { SUSPENSE_REASONS, total } from "./journal.js";
import { isOverdue, REFUND_LISTED_DAYS, refundAmount } from "./refund.js";
import { isPaid } from "./reported-lines.js";

/** Reasons that no look-up clears. */
const UNTIL_RESOLVED = [
  "REFUND_REFUSED",
  "REFUND_MATCHED",
  "DUPLICATE_DEPOSIT",
] as const satisfies readonly AttentionReason[];

/** What needs attention after a provider's answer about an order; what the operator has acknowledged needs none again. */
export function attentionAfter(intent: Intent, reported: CheckedExecution): Attention {
  const { transaction, attention } = intent;
  const { receiptProblem, refundProblem, instructionProblem } = reported;
  const isUnpayable = instructionProblem !== null && transaction?.instructions.length === 0;
  const seen: Partial<Record<AttentionReason, string | null | undefined>> = {
    AMOUNT_MISMATCH: receiptProblem,
    REFUND_MISMATCH: refundProblem ?? wrongRefunds(intent),
    RECEIPT_MISSING:
      intent.returnReason === null && isPaid(reported) && !isDelivered(intent) && receiptProblem === null
        ? "no amount received"
        : null,
    INVALID_INSTRUCTIONS: isUnpayable ? instructionProblem : null,
    CONTRADICTION: contradiction(intent, reported),
    REFERENCE_CHANGED: changedReference(intent, reported),
    ...Object.fromEntries(UNTIL_RESOLVED.map((reason) => [reason, attention[reason]])),
  };
  // Why a receipt cannot be read says more than the amount that it leaves in suspense.
  return { ...suspended(intent), ...unacknowledged(intent, seen) };
}

/** Refunds that the provider should have decided, and those of another amount than was asked for. */
function wrongRefunds({ refunds, readAt }: Intent): string | null {
  const wrong = refunds.flatMap((refund) => {
    const { id, amount, status, origin } = refund;
    if (isOverdue(refund, readAt))
      return [`${id} of ${amount} is PENDING after ${String(REFUND_LISTED_DAYS)} days`];
    const isOther = origin === "REQUEST" && status === "SUCCEEDED" && !refundAmount(refund).equals(amount);
    return isOther ? [`${id} of ${amount} is listed as ${refundAmount(refund).text()}`] : [];
  });
  return wrong.length === 0 ? null : wrong.join("; ");
}

/** The reasons that have something to say and that the operator has not acknowledged. */
export function unacknowledged(
  { acknowledged }: Intent,
  seen: Partial<Record<AttentionReason, string | null | undefined>>,
): Attention {
  return Object.fromEntries(
    Object.entries(seen).filter(
      ([reason, about]) => about != null && acknowledged[reason as AttentionReason] !== about,
    ),
  );
}

/** The amounts in suspense, by reason. */
export function suspended({ balances, srcAmount, price }: Intent): Attention {
  const expected: Readonly<Record<string, string | undefined>> = {
    payment: srcAmount,
    delivery: price?.destAmount,
  };
  return Object.fromEntries(
    SUSPENSE_REASONS.flatMap((reason) => {
      const open = balances.filter((balance) => balance.account === "suspense" && balance.reason === reason);
      const amounts = open.map(({ about, amount, currency }) => {
        const due = reason === "AMOUNT_MISMATCH" ? expected[about] : undefined;
        const said = due === undefined ? "" : ` (expected ${Amount.of(due).text()})`;
        return `${about} ${Amount.of(amount).abs().text()} ${currency}${said}`;
      });
      return amounts.length === 0 ? [] : [[reason, amounts.sort().join(", ")]];
    }),
  );
}

/** What the provider says of an order that is recorded as ended. */
export const REPORTED_OPEN = "reported as open";
/** And of one that ended without a payment. */
export const REPORTED_PAID = "reported as paid";

/**
 * A provider that calls an ended order open, that has the payment of one that failed, or that never had the payment of one that
 * the operator completed.
 */
function contradiction(intent: Intent, reported: CheckedExecution): string | null {
  const { balances, transaction } = intent;
  const { status } = reported;
  const recorded = transaction?.status;
  if (recorded === undefined || recorded === "PENDING" || recorded === "IN_PROGRESS") return null;
  const isOpen = status === "AWAITING_FUNDS" || status === "PROCESSING";
  const wasPaid = recorded === "SUCCESS" || recorded === "REFUNDED";
  const isPosted = !total(balances, { account: "provider", about: "payment" }).isZero();
  const isDenied = wasPaid && !isPosted && (status === "FAILED" || status === "CANCELLED");
  if (isOpen) return REPORTED_OPEN;
  // A late payment is in suspense until it is resolved.
  if (!wasPaid && isPaid(reported) && !needsAttention(suspended(intent))) return REPORTED_PAID;
  return isDenied ? `reported as ${status}` : null;
}

function changedReference({ transaction }: Intent, { reference }: CheckedExecution): string | null {
  const known = transaction?.providerReference ?? null;
  return known === null || reference === "" || reference === known ? null : `${known} became ${reference}`;
}

/**
 * Intents whose state stays unclear, as `routewright ramp intents --stuck` shows them: the operator clears them up with the
 * provider. Of each reason it says what it is about.
 */
export function listStuckIntents(database: RampDatabase) {
  return database.operator.rows<{ readonly intentId: string; readonly attention: Attention }>(
    `SELECT i.project_id AS "projectId", i.id AS "intentId", i.status, t.status AS "transactionStatus",
       i.attention, i.attention_since AS since
     FROM ramp.intents i LEFT JOIN ramp.transactions t ON t.project_id = i.project_id AND t.intent_id = i.id
     WHERE i.attention_since IS NOT NULL ORDER BY i.attention_since, i.id`,
  );
}

/** Reads what waits, for the metrics and the doctor: all by partial indexes of open rows. */
export async function readBacklog(tx: OperatorTransaction): Promise<Backlog> {
  const queues = await tx.rows<Backlog["queues"][number]>(
    `SELECT 'intents' AS queue, count(*)::int AS due, COALESCE(extract(epoch FROM now() - min(next_poll_at)), 0)::float AS age
     FROM ramp.intents WHERE next_poll_at IS NOT NULL AND next_poll_at <= now()
     UNION ALL SELECT 'deliveries', count(*)::int, COALESCE(extract(epoch FROM now() - min(d.attempt_at)), 0)::float
     FROM ramp.webhook_deliveries d JOIN ramp.webhook_endpoints e ON e.project_id = d.project_id AND e.id = d.endpoint_id
     WHERE d.status = 'PENDING' AND d.attempt_at <= now() AND e.enabled`,
  );
  const statuses = await tx.rows<Backlog["statuses"][number]>(
    `SELECT status, count(*)::int AS count FROM ramp.intents WHERE next_poll_at IS NOT NULL
       AND NOT is_ended
     GROUP BY status`,
  );
  const {
    attention = 0,
    providers = 0,
    exhausted = 0,
  } = (await tx.row<Pick<Backlog, "attention" | "providers" | "exhausted">>(
    `SELECT (SELECT count(*)::int FROM ramp.intents WHERE attention_since IS NOT NULL) AS attention,
         (SELECT count(*)::int FROM ramp.provider_connections WHERE enabled AND attention IS NOT NULL) AS providers,
         (SELECT count(*)::int FROM ramp.webhook_deliveries d
          JOIN ramp.webhook_endpoints e ON e.project_id = d.project_id AND e.id = d.endpoint_id
          WHERE d.status = 'EXHAUSTED' AND d.updated_at > now() - interval '7 days' AND e.enabled) AS exhausted`,
  )) ?? {};
  return { attention, providers, exhausted, queues, statuses };
}
