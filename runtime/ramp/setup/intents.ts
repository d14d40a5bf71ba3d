import { isUuid } from "../database/id.js";
import type { OperatorTransaction, RampDatabase } from "../database/ramp-database.js";
import type { IntentStatus } from "../intents/intent.js";
import { failed, type SetupResult, succeeded } from "./result.js";

/** An intent as `routewright ramp intent list` shows it. */
export interface IntentSummary {
  readonly intentId: string;
  readonly projectId: string;
  readonly customerId: string;
  readonly status: IntentStatus;
  readonly type: string;
  readonly srcAmount: string;
  readonly srcCurrency: string;
  readonly destCurrency: string;
  readonly provider: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const SUMMARY = `SELECT i.id AS "intentId", i.project_id AS "projectId", i.customer_id AS "customerId", i.status, i.type,
    i.src_amount::text AS "srcAmount", i.src_currency AS "srcCurrency", i.dest_currency AS "destCurrency", c.code AS provider,
    i.created_at AS "createdAt", i.updated_at AS "updatedAt"
  FROM ramp.intents i JOIN ramp.provider_connections c ON c.project_id = i.project_id AND c.id = i.connection_id`;

/** The newest intents; null does not narrow. */
export function listIntentSummaries(
  database: RampDatabase,
  filter: { readonly projectId: string | null; readonly status: string | null; readonly limit: number },
): Promise<IntentSummary[]> {
  return database.asOperator((tx) =>
    tx.rows<IntentSummary>(
      `${SUMMARY} WHERE ($1::text IS NULL OR i.project_id::text = $1) AND ($2::text IS NULL OR i.status = $2)
       ORDER BY i.created_at DESC, i.id DESC LIMIT $3`,
      [filter.projectId, filter.status, filter.limit],
    ),
  );
}

/** What happened to an intent, oldest first: its events as receivers got them. */
export interface HistoryEntry {
  readonly at: Date;
  readonly event: string;
  readonly data: unknown;
  /** By status, of all receivers. */
  readonly deliveries: Readonly<Record<string, number>>;
}

/** One intent and its history. */
export async function showIntent(
  database: RampDatabase,
  id: string,
): Promise<SetupResult<IntentSummary & { readonly history: readonly HistoryEntry[] }>> {
  const found = isUuid(id)
    ? await database.asOperator((tx) => tx.row<IntentSummary>(`${SUMMARY} WHERE i.id = $1`, [id]))
    : null;
  if (found === null) return failed(`There is no intent ${id}.`);
  return succeeded({ ...found, history: await database.asOperator((tx) => historyOf(tx, found)) });
}

function historyOf(tx: OperatorTransaction, { projectId, intentId }: IntentSummary): Promise<HistoryEntry[]> {
  return tx.rows<HistoryEntry>(
    `SELECT e.created_at AS at, e.type AS event, e.body::json -> 'data' AS data,
       COALESCE((SELECT json_object_agg(d.status, d.count) FROM (SELECT status, count(*) FROM ramp.webhook_deliveries
         WHERE project_id = e.project_id AND event_id = e.id GROUP BY status) d), '{}') AS deliveries
     FROM ramp.events e WHERE e.project_id = $1 AND e.body::json -> 'data' ->> 'intentId' = $2 ORDER BY e.created_at, e.id`,
    [projectId, intentId],
  );
}
