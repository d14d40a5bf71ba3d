import type { RampContext } from "../context.js";
import type { OperatorTransaction, RampDatabase } from "../database/ramp-database.js";
import { refreshCapabilities } from "../providers/provider-connections.js";
import { projectId } from "../database/id.js";
/** How often each process looks for due intents. */
const INTERVAL_MS = 1_000;
/** Intents enqueued at a time; the next run finds more. */
const BATCH = 200;
/** An enqueued intent is not enqueued again for this long. */
const ENQUEUE_INTERVAL = "interval '10 s'";
/** Interval of housekeeping. */
const HOUSEKEEPING_MS = 60_000;

/**
 * Enqueues due intents. Everything that happens later is a row with a due time: expiry, look-ups at a provider that sent no
 * callback, and what a crash left undone. Each process runs it; no row is enqueued twice at once.
 */
export function startScheduler(ramp: RampContext): { stop(): Promise<void> } {
  let stopped = false;
  let housekeptAt = 0;
  let running: Promise<void> = Promise.resolve();
  const run = async (): Promise<void> => {
    await ramp.database.asOperator(enqueueDue);
    if (Date.now() - housekeptAt < HOUSEKEEPING_MS) return;
    housekeptAt = Date.now();
    await housekeep(ramp);
  };
  const timer = setInterval(() => {
    running = running.then(async () => {
      if (stopped) return;
      await run().catch((error: unknown) => ramp.log.warn({ err: error }, "scheduler run failed"));
    });
  }, INTERVAL_MS);
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}

async function enqueueDue(tx: OperatorTransaction): Promise<void> {
  await tx.rows(
    `WITH due AS (
       SELECT project_id, id FROM ramp.intents WHERE next_poll_at <= now() ORDER BY next_poll_at LIMIT $1 FOR UPDATE SKIP LOCKED),
     moved AS (
       UPDATE ramp.intents i SET next_poll_at = now() + ${ENQUEUE_INTERVAL} FROM due
       WHERE i.project_id = due.project_id AND i.id = due.id RETURNING i.project_id, i.id)
     SELECT ramp.enqueue('process_intent', json_build_object('projectId', project_id, 'intentId', id), 'process_intent:' || id) FROM moved`,
    [BATCH],
  );
}

/** Deletes expired rows and refreshes the capabilities of providers. */
async function housekeep(ramp: RampContext): Promise<void> {
  await deleteExpired(ramp.database);
  const projects = await ramp.database.asOperator((tx) =>
    tx.rows<{ project_id: string }>(
      "SELECT DISTINCT project_id FROM ramp.provider_connections WHERE enabled AND capabilities_at < now() - interval '5 min'",
    ),
  );
  for (const { project_id } of projects) await refreshCapabilities(ramp, projectId(project_id));
}

/** Rows deleted in one transaction: a large backlog must not hold locks or fill the write-ahead log at once. */
const DELETE_BATCH = 1_000;

/** Rows that have had their time. Revocations are kept for as long as a token can live, 30 days (`max_token_seconds`). */
const EXPIRED = [
  { table: "idempotency_claims", where: "expires_at < now()" },
  { table: "wallet_nonces", where: "expires_at < now()" },
  // For a day an expired quote gets another error than an unknown one.
  { table: "quotes", where: "expires_at < now() - interval '1 day'" },
  { table: "token_revocations", where: "revoked_at < now() - interval '31 days'" },
] as const;

/** Deletes expired rows in batches. */
export async function deleteExpired(database: RampDatabase, batch = DELETE_BATCH): Promise<void> {
  for (const { table, where } of EXPIRED)
    for (;;) {
      const deleted = await database.asOperator((tx) =>
        tx.rows(
          `DELETE FROM ramp.${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ramp.${table} WHERE ${where} LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1`,
          [batch],
        ),
      );
      if (deleted.length < batch) break;
    }
}
