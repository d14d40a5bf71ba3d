import { IntervalJob } from "./core/claim-worker.js";
import { projectId } from "./database/id.js";
import type { RampDatabase } from "./database/ramp-database.js";
import { type ProviderContext, refreshCapabilities } from "./providers/provider-connections.js";

/** Interval of housekeeping. Each process does it; no row is deleted twice. */
const INTERVAL_MS = 60_000;

/** Deletes expired rows and refreshes capabilities until stopped. `retentionDays`: how long events, deliveries and provider answers are kept. */
export function startHousekeeping(ramp: ProviderContext, retentionDays: number): IntervalJob {
  return new IntervalJob("housekeeping", INTERVAL_MS, ramp.log, () => housekeep(ramp, retentionDays));
}

/** Deletes expired rows and refreshes the capabilities of providers. */
async function housekeep(ramp: ProviderContext, retentionDays: number): Promise<void> {
  await deleteExpired(ramp.database, retentionDays);
  const projects = await ramp.database.asOperator((tx) =>
    tx.rows<{ project_id: string }>(
      "SELECT DISTINCT project_id FROM ramp.provider_connections WHERE enabled AND capabilities_at < now() - interval '5 min'",
    ),
  );
  for (const { project_id } of projects) await refreshCapabilities(ramp, projectId(project_id));
}

/** Rows deleted in one transaction: a large backlog must not hold locks or fill the write-ahead log at once. */
const DELETE_BATCH = 1_000;

/** Tables with rows that expire. */
const EXPIRED = [
  { table: "idempotency_claims", where: "expires_at < now()" },
  // Longer than a signature is accepted.
  { table: "provider_callbacks", where: "received_at < now() - interval '1 hour'" },
  { table: "wallet_nonces", where: "expires_at < now()" },
  // Quotes that a server of before recorded.
  { table: "quotes", where: "expires_at < now()" },
  {
    table: "webhook_deliveries",
    where: "status <> 'PENDING' AND updated_at < now() - make_interval(days => $2)",
  },
  {
    table: "events",
    where: `created_at < now() - make_interval(days => $2) AND NOT EXISTS (SELECT FROM ramp.webhook_deliveries d
      WHERE d.project_id = events.project_id AND d.event_id = events.id)`,
  },
  { table: "provider_answers", where: "last_at < now() - make_interval(days => $2)" },
] as const;

/** A clock that jumped makes rows look old: none is deleted while `routewright ramp doctor` shows the jump. */
const AFTER_JUMP = "EXISTS (SELECT FROM ramp.clock_jumps WHERE at > now() - interval '7 days')";

/** Deletes expired rows in batches. */
export async function deleteExpired(
  database: RampDatabase,
  retentionDays: number,
  batch = DELETE_BATCH,
): Promise<void> {
  for (const { table, where } of EXPIRED)
    for (;;) {
      const deleted = await database.asOperator((tx) =>
        tx.rows(
          `DELETE FROM ramp.${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ramp.${table} WHERE ${where} AND $2::int > 0 AND NOT ${AFTER_JUMP} LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1`,
          [batch, retentionDays],
        ),
      );
      if (deleted.length < batch) break;
    }
}
