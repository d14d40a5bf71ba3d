import { isRampError, type RampError } from "../core/ramp-errors.js";
import { isUuid, projectId, type ProjectId } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";
import type { ProjectTransaction } from "../database/transaction.js";
import {
  decideCancel,
  decideEnd,
  decideRefund,
  decideRefundCancel,
  type RefundWish,
  type Resolution,
} from "../intents/decisions.js";
import type { Intent } from "../intents/intent.js";
import { lockIntent } from "../intents/intent-rows.js";
import { pollNow } from "../intents/lease.js";
import { failed, type Outcome, succeeded } from "@routewright/runtime/internal/core/model/outcome.js";

interface ActionResult {
  readonly intentId: string;
  readonly status: string;
}

/** Changes an intent for the operator. A process that works on it loses its lease, so that it does not overwrite the change. */
async function changeIntent(
  database: RampDatabase,
  id: string,
  change: (tx: ProjectTransaction, intent: Intent) => Intent | RampError | Promise<Intent | RampError>,
): Promise<Outcome<ActionResult>> {
  const found = await findIntent(database, id);
  if (found === null) return failed(`There is no intent ${id}.`);
  return database.asOperatorOf(found, async (tx) => {
    const intent = await lockIntent(tx, id);
    const changed = await change(tx, intent);
    if (isRampError(changed)) return failed(changed.message);
    // A repeated decision is known: who carries it out keeps the lease, and can record the answer.
    if (changed !== intent) pollNow(tx, id);
    return succeeded({ intentId: changed.id, status: changed.status });
  });
}

async function findIntent(database: RampDatabase, id: string): Promise<ProjectId | null> {
  if (!isUuid(id)) return null;
  const row = await database.operator.row<{ project_id: string }>(
    "SELECT project_id FROM ramp.intents WHERE id = $1",
    [id],
  );
  return row && projectId(row.project_id);
}

/** Looks the intent up at its provider now. A running server does it. */
export function pollIntent(database: RampDatabase, id: string): Promise<Outcome<ActionResult>> {
  return changeIntent(database, id, (tx, intent) => {
    pollNow(tx, id);
    return intent;
  });
}

export function cancelIntent(database: RampDatabase, id: string): Promise<Outcome<ActionResult>> {
  return changeIntent(database, id, decideCancel);
}

export function resolveIntent(
  database: RampDatabase,
  id: string,
  resolution: Resolution,
): Promise<Outcome<ActionResult>> {
  return changeIntent(database, id, (tx, intent) => decideEnd(tx, intent, resolution));
}

/** Records a refund of a payment, or of a part of it; a running server sends it. */
export async function refundIntent(
  database: RampDatabase,
  id: string,
  wish: RefundWish,
): Promise<Outcome<ActionResult & { readonly refundId: string; readonly amount: string }>> {
  let refund = { refundId: "", amount: "" };
  const changed = await changeIntent(database, id, async (tx, intent) => {
    const decided = await decideRefund(tx, intent, wish);
    if (isRampError(decided)) return decided;
    refund = { refundId: decided.refund.id, amount: decided.refund.amount };
    return decided.intent;
  });
  return changed.ok ? succeeded({ ...changed.value, ...refund }) : changed;
}

/** Cancels a refund: at once where it was not sent; else a running server asks the provider. */
export async function cancelRefund(
  database: RampDatabase,
  id: string,
  refundId: string,
): Promise<Outcome<ActionResult & { readonly refundId: string; readonly refundStatus: string }>> {
  let refundStatus = "";
  const changed = await changeIntent(database, id, async (tx, intent) => {
    const decided = await decideRefundCancel(tx, intent, refundId);
    if (isRampError(decided)) return decided;
    refundStatus = decided.refund.status;
    return decided.intent;
  });
  return changed.ok ? succeeded({ ...changed.value, refundId, refundStatus }) : changed;
}
