import Big from "big.js";
import { isUuid, projectId, type ProjectId } from "../database/id.js";
import { OF_PROJECT, type ProjectTransaction, type RampDatabase } from "../database/ramp-database.js";
import { type Intent, isTerminal } from "../intents/intent.js";
import { lockIntent, requestCancel } from "../intents/intent-rows.js";
import { pollNow } from "../intents/lease.js";
import { moveIntent, recordAttention, updateTransaction } from "../intents/transitions.js";
import { Providers } from "../providers/provider-connections.js";
import { reasonOf } from "../providers/provider.js";
import type { Vault } from "../vault.js";
import { failed, type Outcome, succeeded } from "../../model/outcome.js";

interface ActionResult {
  readonly intentId: string;
  readonly status: string;
}

/** Changes an intent for the operator. A process that works on it loses its lease, so that it does not overwrite the change. */
async function changeIntent(
  database: RampDatabase,
  id: string,
  change: (tx: ProjectTransaction, intent: Intent) => Outcome<Intent>,
): Promise<Outcome<ActionResult>> {
  const found = await findIntent(database, id);
  if (found === null)
    return failed(`There is no intent ${id}. \`routewright ramp intent list\` shows the newest.`);
  return database.asOperatorOf(found, async (tx) => {
    const intent = await lockIntent(tx, id);
    const changed = change(tx, intent);
    if (!changed.ok) return changed;
    pollNow(tx, id);
    return succeeded({ intentId: intent.id, status: changed.value.status });
  });
}

async function findIntent(database: RampDatabase, id: string): Promise<ProjectId | null> {
  if (!isUuid(id)) return null;
  const row = await database.asOperator((tx) =>
    tx.row<{ project_id: string }>("SELECT project_id FROM ramp.intents WHERE id = $1", [id]),
  );
  return row && projectId(row.project_id);
}

/** Looks the intent up at its provider now. A running server does it. */
export function pollIntent(database: RampDatabase, id: string): Promise<Outcome<ActionResult>> {
  return changeIntent(database, id, (_tx, intent) => succeeded(intent));
}

/** Cancels as the customer would: an order at the provider is cancelled there first. */
export function cancelIntent(database: RampDatabase, id: string): Promise<Outcome<ActionResult>> {
  return changeIntent(database, id, (tx, intent) =>
    isTerminal(intent.status) || intent.status === "AMOUNT_MISMATCH"
      ? failed(`The intent is ${intent.status}: it cannot be cancelled.`)
      : succeeded(requestCancel(tx, intent)),
  );
}

/**
 * Records how an intent ended that the provider left unclear. What the provider reports at the next look-up counts as known;
 * anything that it reports later needs attention again.
 */
export function resolveIntent(
  database: RampDatabase,
  id: string,
  { as, note }: { readonly as: "completed" | "failed"; readonly note: string },
): Promise<Outcome<ActionResult>> {
  return changeIntent(database, id, (tx, intent) => {
    if (intent.attentionReason === null) return failed("The intent needs no attention.");
    if (as === "completed" && intent.transaction === null)
      return failed("The intent has no transaction: resolve it as failed.");
    const resolved = as === "completed" ? completed(tx, intent) : endedWithoutPayment(tx, intent, note);
    tx.write(`UPDATE ramp.intents SET resolved_reason = '' WHERE ${OF_PROJECT} AND id = $1`, [id]);
    recordAttention(tx, { ...resolved, attentionReason: null });
    return succeeded(resolved);
  });
}

function completed(tx: ProjectTransaction, intent: Intent): Intent {
  const { transaction } = intent;
  const isPaid = transaction?.status === "SUCCESS" || transaction?.status === "REFUNDED";
  const paid =
    transaction === null || isPaid
      ? intent
      : updateTransaction(tx, intent, transaction, { status: "SUCCESS", failureReason: null });
  return paid.status === "COMPLETED" ? paid : moveIntent(tx, paid, "COMPLETED");
}

function endedWithoutPayment(tx: ProjectTransaction, intent: Intent, note: string): Intent {
  const { transaction, status } = intent;
  if (transaction === null)
    return isTerminal(status) ? intent : moveIntent(tx, intent, "TRANSACTION_FAILED", note);
  const isUnpaid = transaction.status === "FAILED" || transaction.status === "CANCELLED";
  const unpaid = isUnpaid
    ? intent
    : updateTransaction(tx, intent, transaction, { status: "FAILED", failureReason: note });
  const hasEnded = isTerminal(status) && status !== "COMPLETED";
  return hasEnded ? unpaid : moveIntent(tx, unpaid, "TRANSACTION_FAILED", note);
}

export interface Repointing {
  /** Code of the provider. */
  readonly provider: string;
  /** Key id of credentials that the project has or had (`provider connect`). */
  readonly keyId: string;
  /** Null: every intent that is still polled. */
  readonly intentId: string | null;
}

/** Moves intents to the address and credentials with this key id, of the same provider. */
export function repointIntents(
  database: RampDatabase,
  project: ProjectId,
  { provider, keyId, intentId }: Repointing,
): Promise<Outcome<{ readonly repointed: number }>> {
  return database.asOperatorOf(project, async (tx) => {
    const target = await tx.row<{ id: string; version: number }>(
      `SELECT c.id, v.version FROM ramp.provider_connections c
       JOIN ramp.provider_credentials v ON v.project_id = c.project_id AND v.connection_id = c.id
       WHERE c.${OF_PROJECT} AND c.code = $1 AND v.key_id = $2 ORDER BY v.version DESC LIMIT 1`,
      [provider, keyId],
    );
    if (target === null)
      return failed(
        `The project has no credentials ${keyId} of ${provider}: \`routewright ramp provider connect\` adds them.`,
      );
    const rows = await tx.rows(
      `UPDATE ramp.intents SET connection_version = $2, lease_owner = NULL, lease_expires_at = NULL, next_poll_at = now(), failed_attempts = 0
       WHERE ${OF_PROJECT} AND connection_id = $1 AND connection_version <> $2 AND next_poll_at IS NOT NULL
         AND ($3::text IS NULL OR id::text = $3) RETURNING id`,
      [target.id, target.version, intentId?.toLowerCase() ?? null],
    );
    return succeeded({ repointed: rows.length });
  });
}

export interface RefundRequest {
  /** Null: what is left of the payment. */
  readonly amount: string | null;
  readonly reason: string;
  /** Repeats with the same id are one refund. */
  readonly refundId: string;
}

/** Refunds a payment, or a part of it, at a provider that offers it. */
export async function refundIntent(
  { database, vault }: { readonly database: RampDatabase; readonly vault: Vault },
  id: string,
  { amount, reason, refundId }: RefundRequest,
): Promise<Outcome<ActionResult & { readonly refundId: string; readonly amount: string }>> {
  const project = await findIntent(database, id);
  if (project === null) return failed(`There is no intent ${id}.`);
  const intent = await database.inProject(project, (tx) => lockIntent(tx, id));
  const { transaction } = intent;
  if (transaction?.status !== "SUCCESS") return failed("Only a payment that is SUCCESS can be refunded.");
  const { provider, capabilities } = await new Providers(database, vault, "").get(project, intent);
  if (!capabilities.refunds) return failed(`${capabilities.name} offers no refunds.`);
  const refunded = transaction.refunds.reduce((sum, refund) => sum.plus(refund.amount), new Big(0));
  const decimals = intent.srcAmount.split(".")[1]?.length ?? 0;
  const sent = amount ?? new Big(intent.srcAmount).minus(refunded).toFixed(decimals);
  const reply = await provider.refund(transaction.id, { id: refundId, amount: sent, reason });
  if (reply.kind !== "answer")
    return failed(
      `${capabilities.name} did not refund: ${reply.kind === "refused" ? reply.message : reasonOf(reply)}. Repeat with --id ${refundId} if it is unclear.`,
    );
  const polled = await pollIntent(database, id);
  return polled.ok ? succeeded({ ...polled.value, refundId, amount: sent }) : polled;
}
