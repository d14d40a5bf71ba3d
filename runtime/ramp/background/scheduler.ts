import type { RampContext } from "../context.js";
import type { OperatorTransaction } from "../database/ramp-database.js";
import { refreshCapabilities } from "../providers/provider-connections.js";
import { projectId } from "../database/id.js";
import { deleteExpired } from "./housekeeping.js";

/** How often each process looks for what is due. */
const INTERVAL_MS = 1_000;
/** Rows handed over at a time; more are found by the next sweep. */
const BATCH = 200;
/** So long a row that was handed to the queue is not handed over again. */
const HANDOVER = "interval '10 s'";
/** How often expired rows are removed and capabilities refreshed. */
const HOUSEKEEPING_MS = 60_000;

/**
 * The clock of the service. Everything that must happen later is a row with a due time: expiry, questions to a provider that
 * did not call back, deliveries, and whatever a crash left undone. Each process sweeps; no row is handed over twice at once.
 */
export function startScheduler(ramp: RampContext): { stop(): Promise<void> } {
  let stopped = false;
  let housekeptAt = 0;
  let running: Promise<void> = Promise.resolve();
  const round = async (): Promise<void> => {
    await ramp.database.asOperator(enqueueDue);
    if (Date.now() - housekeptAt < HOUSEKEEPING_MS) return;
    housekeptAt = Date.now();
    await housekeep(ramp);
  };
  const timer = setInterval(() => {
    running = running.then(async () => {
      if (stopped) return;
      await round().catch((error: unknown) => ramp.log.warn({ err: error }, "sweep failed"));
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
       UPDATE ramp.intents i SET next_poll_at = now() + ${HANDOVER} FROM due
       WHERE i.project_id = due.project_id AND i.id = due.id RETURNING i.project_id, i.id)
     SELECT ramp.enqueue('process_intent', json_build_object('projectId', project_id, 'intentId', id), 'process_intent:' || id) FROM moved`,
    [BATCH],
  );
  await tx.rows(
    `WITH due AS (
       SELECT project_id, id FROM ramp.webhook_deliveries WHERE status = 'PENDING' AND attempt_at <= now()
       ORDER BY attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED),
     moved AS (
       UPDATE ramp.webhook_deliveries d SET attempt_at = now() + ${HANDOVER} FROM due
       WHERE d.project_id = due.project_id AND d.id = due.id RETURNING d.project_id, d.id)
     SELECT ramp.enqueue('deliver', json_build_object('projectId', project_id, 'deliveryId', id), 'deliver:' || id) FROM moved`,
    [BATCH],
  );
}

/** Removes what has had its time, and asks providers what they can do. */
async function housekeep(ramp: RampContext): Promise<void> {
  await deleteExpired(ramp.database);
  const projects = await ramp.database.asOperator((tx) =>
    tx.rows<{ project_id: string }>(
      "SELECT DISTINCT project_id FROM ramp.provider_connections WHERE enabled AND capabilities_at < now() - interval '5 min'",
    ),
  );
  for (const { project_id } of projects) await refreshCapabilities(ramp, projectId(project_id));
}
