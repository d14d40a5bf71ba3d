import { stringify } from "../core/exact-json.js";
import { newId } from "../database/id.js";
import { ComputedValue, OF_PROJECT, ofProject, type ProjectTransaction } from "../database/transaction.js";

/** The types of events (runtime/ramp/docs/webhooks.md). */
export const EVENT_TYPES = [
  "intent.status_changed",
  "compliance.updated",
  "transaction.updated",
  "refund.updated",
  "intent.refused",
  "intent.price_offered",
  "intent.price_changed",
  "intent.attention",
  "deposit_account.updated",
  "webhook.exhausted",
  "webhook.test",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

interface NewEvent {
  readonly type: EventType;
  readonly intentId: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  /** An endpoint that does not get it. */
  readonly except?: string;
  /** The only endpoint that gets it, whatever its types are. */
  readonly only?: string;
}

/**
 * Writes an event and its deliveries in the transaction of the state change that it reports: none is sent for a rollback, none
 * is lost for a commit. All events of a transaction are written right before its commit. Returns its id.
 */
export function recordEvent(tx: ProjectTransaction, { data, ...event }: NewEvent): string {
  const id = newId();
  tx.beforeCommit(writeEvents, { ...event, id, data: stringify({ projectId: tx.projectId, ...data }) });
  return id;
}

/**
 * Takes the project's next times, one microsecond per event. The lock on its row is held until the commit, so that times and sequence
 * numbers grow in the order of the commits: who has seen one of them has seen, or will see by a greater one, everything else. The
 * sequence number is the time in microseconds, so that it goes on above all earlier ones after a restore too. A clock that goes back
 * makes them grow by a microsecond.
 */
const NEXT_TIMES = `INSERT INTO ramp.change_times AS c (changed_at)
  VALUES ($7::timestamptz + (cardinality($1::uuid[]) - 1) * interval '1 microsecond')
  ON CONFLICT (project_id) DO UPDATE SET changed_at =
    GREATEST(excluded.changed_at, c.changed_at + cardinality($1::uuid[]) * interval '1 microsecond')
  RETURNING changed_at`;

/** The bodies get number and time in the database. */
const WRITE_EVENTS = `WITH given AS (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::uuid[], $8::uuid[])
      WITH ORDINALITY AS g (id, type, intent_id, head, tail, except_endpoint, only_endpoint, n)),
  next AS (${NEXT_TIMES}),
  timed AS (SELECT given.*, changed_at - (cardinality($1::uuid[]) - n) * interval '1 microsecond' AS event_at FROM given, next),
  numbered AS (
    SELECT timed.*, (extract(epoch FROM event_at) * 1000000)::bigint AS sequence,
      to_char(event_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at FROM timed),
  event AS (
    INSERT INTO ramp.events (id, type, intent_id, sequence, body)
    SELECT id, type, intent_id, sequence, head || at || '","sequence":' || sequence || ',"data":' || tail FROM numbered ORDER BY n)
  INSERT INTO ramp.webhook_deliveries (event_id, endpoint_id, attempt_at)
  SELECT given.id, e.id, now() FROM given, ramp.webhook_endpoints e WHERE ${ofProject("e")} AND e.enabled
    AND (e.id = given.only_endpoint OR given.only_endpoint IS NULL AND (e.event_types IS NULL OR given.type = ANY (e.event_types)))
    AND e.id IS DISTINCT FROM given.except_endpoint ORDER BY n`;

/** Each intent that changed has the time of the last event of its transaction. */
const CHANGED_AT = new ComputedValue(() => `(SELECT changed_at FROM ramp.change_times WHERE ${OF_PROJECT})`);

function writeEvents(
  tx: Pick<ProjectTransaction, "now" | "ahead" | "update">,
  events: readonly (Omit<NewEvent, "data"> & { readonly id: string; readonly data: string })[],
): void {
  tx.ahead.write(WRITE_EVENTS, [
    events.map(({ id }) => id),
    events.map(({ type }) => type),
    events.map(({ intentId }) => intentId),
    events.map(({ type }) => `{"type":"${type}","timestamp":"`),
    events.map(({ data }) => `${data}}`),
    events.map(({ except }) => except ?? null),
    tx.now,
    events.map(({ only }) => only ?? null),
  ]);
  for (const id of new Set(events.map(({ intentId }) => intentId)))
    if (id !== null) tx.update("intents", id, { updatedAt: CHANGED_AT });
}
