import type { OperatorTransaction } from "../database/ramp-database.js";
import { countAttention } from "../intents/attention.js";
import type { Backlog } from "../core/ramp-metrics.js";

/** Reads what waits, for the metrics: all by partial indexes of open rows. */
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
  const row = await tx.row<{ exhausted: number }>(
    `SELECT count(*)::int AS exhausted FROM ramp.webhook_deliveries d
     JOIN ramp.webhook_endpoints e ON e.project_id = d.project_id AND e.id = d.endpoint_id
     WHERE d.status = 'EXHAUSTED' AND d.updated_at > now() - interval '7 days' AND e.enabled`,
  );
  return { attention: await countAttention(tx), exhausted: row?.exhausted ?? 0, queues, statuses };
}
