import { ClaimWorker } from "../core/claim-worker.js";
import type { IntentContext } from "./lease.js";
import { projectId } from "../database/id.js";
import type { OperatorTransaction } from "../database/ramp-database.js";
import { readIntent } from "./intent-rows.js";
import { processLeased } from "./process-intent.js";

/** How often due intents are looked for; a callback to this process starts a look-up at once. */
const POLL_MS = 500;

interface DueIntent {
  readonly projectId: string;
  readonly id: string;
  readonly connectionId: string;
  readonly owner: string;
}

/**
 * Processes due intents: expiry, look-ups at a provider that sent no callback, and what a crash left undone. Each connection
 * of a project has slots of its own, so that a provider that answers slowly delays its own intents and no others.
 */
export function startIntentWorker(ramp: IntentContext): ClaimWorker<DueIntent> {
  const { database, polling, log } = ramp;
  /** Slots in use, by connection. */
  const used = new Map<string, number>();
  const use = (connectionId: string, change: 1 | -1): void => {
    const count = (used.get(connectionId) ?? 0) + change;
    if (count === 0) used.delete(connectionId);
    else used.set(connectionId, count);
  };
  return new ClaimWorker<DueIntent>(
    {
      name: "intents",
      pollMs: POLL_MS,
      maxInFlight: polling.maxInFlight,
      async claim(capacity) {
        const due = await database.asOperator((tx) =>
          claimDue(tx, used, { perConnection: polling.perConnection, capacity, leaseMs: polling.leaseMs }),
        );
        for (const { connectionId } of due) use(connectionId, 1);
        return due;
      },
      async run({ projectId: project, id, connectionId, owner }) {
        try {
          const intent = await database.inProject(projectId(project), (tx) => readIntent(tx, id));
          // Unless another process has taken the lease meanwhile.
          if (intent?.leaseOwner === owner)
            await processLeased(ramp, projectId(project), intent, () => undefined);
        } finally {
          use(connectionId, -1);
        }
      },
    },
    log,
  );
}

/**
 * Leases due intents, open ones first: a payment never waits for look-ups of orders that have ended. The recursion reads one
 * index entry per connection with planned polls, however many intents it has.
 */
function claimDue(
  tx: OperatorTransaction,
  used: ReadonlyMap<string, number>,
  {
    perConnection,
    capacity,
    leaseMs,
  }: { readonly perConnection: number; readonly capacity: number; readonly leaseMs: number },
): Promise<DueIntent[]> {
  return tx.rows<DueIntent>(
    `WITH RECURSIVE connection AS (
       (SELECT project_id, connection_id FROM ramp.intents WHERE next_poll_at IS NOT NULL ORDER BY project_id, connection_id LIMIT 1)
       UNION ALL
       SELECT n.project_id, n.connection_id FROM connection c CROSS JOIN LATERAL (
         SELECT i.project_id, i.connection_id FROM ramp.intents i
         WHERE next_poll_at IS NOT NULL AND (i.project_id, i.connection_id) > (c.project_id, c.connection_id)
         ORDER BY i.project_id, i.connection_id LIMIT 1) n),
     due AS (
       SELECT d.project_id, d.id FROM connection c
       LEFT JOIN unnest($1::uuid[], $2::int[]) AS busy (id, used) ON busy.id = c.connection_id
       CROSS JOIN LATERAL (
         SELECT i.* FROM (VALUES (false), (true)) AS kind (is_ended) CROSS JOIN LATERAL (
           SELECT i.project_id, i.id, i.is_ended, i.next_poll_at FROM ramp.intents i
           WHERE i.project_id = c.project_id AND i.connection_id = c.connection_id AND i.is_ended = kind.is_ended AND i.next_poll_at <= $6
           ORDER BY i.next_poll_at LIMIT GREATEST($3 - COALESCE(busy.used, 0), 0) FOR NO KEY UPDATE SKIP LOCKED) i
         ORDER BY i.is_ended, i.next_poll_at LIMIT GREATEST($3 - COALESCE(busy.used, 0), 0)) d
       ORDER BY d.is_ended, d.next_poll_at LIMIT $4)
     UPDATE ramp.intents i SET lease_owner = gen_random_uuid(), lease_expires_at = $6::timestamptz + make_interval(secs => $5),
       next_poll_at = $6::timestamptz + make_interval(secs => $5), poll_requested = false
     FROM due WHERE i.project_id = due.project_id AND i.id = due.id
     RETURNING i.project_id AS "projectId", i.id, i.connection_id AS "connectionId", i.lease_owner AS owner`,
    [[...used.keys()], [...used.values()], perConnection, capacity, leaseMs / 1_000, tx.now],
  );
}
