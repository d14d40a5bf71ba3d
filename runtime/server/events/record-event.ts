import { fileURLToPath } from "node:url";

/** The build does not copy the SQL files: the compiled program reads them from the source folder. */
export const EVENTS_SCHEMA = {
  name: "routewright_events",
  folder: fileURLToPath(
    new URL(
      import.meta.url.includes("/dist/") ? "../../../server/events/migrations" : "./migrations",
      import.meta.url,
    ),
  ),
};

/** Types of events that only operators get: subscriptions of tier3 keys without a list that name them. */
export const OPERATOR_EVENTS = ["key.created", "quota.reached", "plan.changed"] as const;

/** What happened to an organization or its keys. */
export interface OperatorEvent {
  /** Unique; of what several servers see the same from each, such as `quota.reached acme 2026-11`. At most 200 characters. */
  readonly id: string;
  readonly type: (typeof OPERATOR_EVENTS)[number];
  /** Null: none. */
  readonly organization: string | null;
  /** What receivers get. No secrets: ids of keys, never keys. */
  readonly data: Readonly<Record<string, string | number | boolean | null>>;
}

/** The client of a transaction. */
interface TransactionClient {
  query(text: string, values: readonly unknown[]): Promise<unknown>;
}

/**
 * Records an event in the transaction of what it reports: none is sent for a rollback, none is lost for a commit. An id that is
 * recorded already changes nothing. In a statement: `SELECT routewright_events.record(id, type, organization, data)`.
 */
export async function recordEvent(client: TransactionClient, event: OperatorEvent): Promise<void> {
  const { id, type, organization, data } = event;
  await client.query(RECORD, [id, type, organization, JSON.stringify(data)]);
}

const RECORD = "SELECT routewright_events.record($1::text, $2::text, $3::text, $4::jsonb)";
