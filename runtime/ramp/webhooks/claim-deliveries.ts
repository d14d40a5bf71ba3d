import type { OperatorTransaction } from "../database/transaction.js";
import type { ProjectShares, ShareLimits } from "./project-shares.js";

/** An attempt that this process is to make. */
export interface Delivery {
  readonly project_id: string;
  readonly id: string;
  readonly attempts: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly body: string;
  readonly endpoint_id: string;
  readonly url: string;
  readonly secret: Buffer;
  /** Former ones whose overlap is not over. */
  readonly former_secrets: readonly Buffer[];
  readonly allow_private: boolean;
}

/** A claim expires this long after the attempt's time limit; then another process repeats the attempt. */
const CLAIM_GRACE_SECONDS = 10;

/**
 * The recursion reads one index entry per endpoint that something waits for, however many deliveries that is. No more are locked than one
 * claim can need, each project's in turn: with 10,000 due endpoints, locks of all of them were half of a claim's time, and results waited for them.
 */
const DUE_ENDPOINTS = `WITH RECURSIVE waiting AS (
    (SELECT project_id, endpoint_id, attempt_at FROM ramp.webhook_deliveries WHERE status = 'PENDING'
     ORDER BY project_id, endpoint_id, attempt_at LIMIT 1)
    UNION ALL
    SELECT n.project_id, n.endpoint_id, n.attempt_at FROM waiting w CROSS JOIN LATERAL (
      SELECT d.project_id, d.endpoint_id, d.attempt_at FROM ramp.webhook_deliveries d
      WHERE d.status = 'PENDING' AND (d.project_id, d.endpoint_id) > (w.project_id, w.endpoint_id)
      ORDER BY d.project_id, d.endpoint_id, d.attempt_at LIMIT 1) n),
  sending AS (
    SELECT project_id, endpoint_id, count(*) AS in_flight FROM ramp.webhook_deliveries WHERE attempted_until > now() GROUP BY 1, 2),
  due AS (
    SELECT e.project_id, e.id, w.attempt_at, row_number() OVER (PARTITION BY e.project_id ORDER BY w.attempt_at) AS place
    FROM waiting w JOIN ramp.webhook_endpoints e ON e.project_id = w.project_id AND e.id = w.endpoint_id
    LEFT JOIN sending s ON s.project_id = e.project_id AND s.endpoint_id = e.id
    WHERE w.attempt_at <= now() AND e.enabled AND COALESCE(s.in_flight, 0) < e.concurrency),
  next AS (
    SELECT due.project_id, due.id FROM due
    LEFT JOIN unnest($1::uuid[], $2::int[], $3::int[]) AS busy (id, in_flight, free) ON busy.id = due.project_id
    WHERE COALESCE(busy.free, 1) > 0 ORDER BY due.place + COALESCE(busy.in_flight, 0), due.attempt_at LIMIT $4)
  SELECT e.id FROM next JOIN ramp.webhook_endpoints e ON e.project_id = next.project_id AND e.id = next.id
  FOR NO KEY UPDATE OF e SKIP LOCKED`;

/** Each project gets its next place in turn, after what it has in flight; within it, each endpoint has its part of what is free. */
const CLAIM = `WITH endpoint AS (
    SELECT e.*, COALESCE(busy.in_flight, 0) AS in_flight, COALESCE(busy.free, $5) AS project_free,
      count(*) OVER (PARTITION BY e.project_id) AS siblings,
      e.concurrency - (SELECT count(*) FROM ramp.webhook_deliveries b
        WHERE b.project_id = e.project_id AND b.endpoint_id = e.id AND b.attempted_until > now()) AS free
    FROM ramp.webhook_endpoints e
    LEFT JOIN unnest($2::uuid[], $3::int[], $4::int[]) AS busy (id, in_flight, free) ON busy.id = e.project_id
    WHERE e.id = ANY ($1::uuid[])),
  due AS (
    SELECT d.project_id, d.id, d.attempt_at, e.in_flight, e.project_free,
      row_number() OVER (PARTITION BY d.project_id ORDER BY d.attempt_at, d.event_id) AS place
    FROM endpoint e CROSS JOIN LATERAL (
      SELECT d.project_id, d.id, d.attempt_at, d.event_id FROM ramp.webhook_deliveries d
      WHERE d.project_id = e.project_id AND d.endpoint_id = e.id AND d.status = 'PENDING' AND d.attempt_at <= now()
      ORDER BY d.attempt_at, d.event_id
      LIMIT GREATEST(LEAST(e.free, ceil(e.project_free::numeric / e.siblings)), 0)) d),
  next AS (
    SELECT project_id, id FROM due WHERE place <= project_free ORDER BY place + in_flight, attempt_at LIMIT $6),
  taken AS (
    SELECT d.project_id, d.id FROM next JOIN ramp.webhook_deliveries d ON d.project_id = next.project_id AND d.id = next.id
    WHERE d.status = 'PENDING' AND d.attempt_at <= now() FOR NO KEY UPDATE OF d SKIP LOCKED)
  UPDATE ramp.webhook_deliveries d SET attempts = attempts + 1, attempted_until = now() + make_interval(secs => $7),
    attempt_at = now() + make_interval(secs => $7), updated_at = now()
  FROM taken, ramp.events v, endpoint e
  WHERE d.project_id = taken.project_id AND d.id = taken.id AND v.project_id = d.project_id AND v.id = d.event_id
    AND e.project_id = d.project_id AND e.id = d.endpoint_id
  RETURNING d.project_id, d.id, d.attempts, d.event_id, v.type AS event_type, v.body, d.endpoint_id, e.url, e.secret, e.allow_private,
    ARRAY(SELECT s.secret FROM ramp.webhook_secrets s WHERE s.project_id = e.project_id AND s.endpoint_id = e.id
      AND s.signs_until > now() ORDER BY s.signs_until DESC) AS former_secrets`;

/**
 * Claims due deliveries. The endpoints are locked first and counted in a second statement, which sees what other processes
 * have committed: so the limit per endpoint holds over all of them. Deliveries that another transaction has locked (a replay)
 * are left for the next time: waiting for them would stop the others, or end in a deadlock.
 */
export async function claimDue(
  tx: OperatorTransaction,
  { timeoutMs, perProject }: ShareLimits & { readonly timeoutMs: number },
  shares: ProjectShares,
  capacity: number,
): Promise<readonly Delivery[]> {
  const used = shares.inUse();
  const busy = [
    used.map(({ projectId }) => projectId),
    used.map(({ inFlight }) => inFlight),
    used.map(({ free }) => free),
  ];
  const endpoints = await tx.rows<{ id: string }>(DUE_ENDPOINTS, [...busy, capacity]);
  if (endpoints.length === 0) return [];
  return tx.rows<Delivery>(CLAIM, [
    endpoints.map(({ id }) => id),
    ...busy,
    perProject,
    capacity,
    Math.ceil(timeoutMs / 1000) + CLAIM_GRACE_SECONDS,
  ]);
}
