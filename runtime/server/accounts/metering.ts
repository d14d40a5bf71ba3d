import { OwnTables } from "../../postgres/own-tables.js";
import { migrateKeys } from "./schema.js";

/** What an organization used of an endpoint with a key in an hour. */
export interface MeteredUse {
  /** The same whenever it is read again, and in no other database. */
  readonly id: string;
  /** Its beginning, in UTC, as `2026-01-31T12:00:00Z`. */
  readonly hour: string;
  /** Whether no more is counted in this hour. */
  readonly closed: boolean;
  readonly organization: string;
  /** Id of the key. */
  readonly key: string;
  readonly endpoint: string;
  readonly requests: number;
  readonly rows: number;
  /** Of bodies, as sent. */
  readonly bytes: number;
  /** Milliseconds that the database took. */
  readonly databaseMs: number;
}

/**
 * The use from a day in UTC on (null: from the beginning), in the order of hours. Hours that every server has reported are closed
 * first. Rejects when the database fails.
 */
export async function readMetered(databaseUrl: string, since: string | null): Promise<readonly MeteredUse[]> {
  await migrateKeys(databaseUrl);
  const tables = new OwnTables(databaseUrl, { name: "routewright metering", queryTimeoutMs: 0 });
  try {
    await tables.ask(CLOSE_HOURS, []);
    return await tables.run<MeteredUse>([SINCE], [since]);
  } finally {
    await tables.close();
  }
}

/** Use that no process has sent yet, for this one to send, what was never tried first: another one tries again after the claim. */
export function claimMetered(tables: OwnTables, most: number): Promise<readonly MeteredUse[]> {
  return tables.run<MeteredUse>([CLAIM], [most]);
}

/** Notes that a target has taken use, which is not sent again. */
export async function acknowledgeMetered(tables: OwnTables, sent: readonly MeteredUse[]): Promise<void> {
  if (sent.length > 0) await tables.run([ACKNOWLEDGE], [sent.map(({ id }) => id)]);
}

const CLOSE_HOURS = "SELECT routewright_keys.close_hours()";

/** An organization that is gone has its number. */
const USE = `id, to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS hour, hour < closed_until AS closed,
    coalesce((SELECT organizations.id FROM routewright_keys.organizations WHERE number = organization), 'deleted-' || organization) AS organization,
    key, endpoint, requests::float8 AS requests, rows::float8 AS rows, bytes::float8 AS bytes, database_ms::float8 AS "databaseMs"`;

const SINCE = `SELECT ${USE} FROM routewright_keys.metered, routewright_keys.metering
  WHERE hour >= coalesce($1::date::timestamp AT TIME ZONE 'UTC', '-infinity') ORDER BY 2, 4, 5, 6`;

const CLAIM = `WITH claimed AS (
  UPDATE routewright_keys.metered SET claimed_until = now() + interval '5 minutes' WHERE id IN (
    SELECT id FROM routewright_keys.metered, routewright_keys.metering
    WHERE sent_at IS NULL AND hour < closed_until AND coalesce(claimed_until < now(), true)
    ORDER BY claimed_until NULLS FIRST, hour, id LIMIT $1 FOR UPDATE OF metered SKIP LOCKED
  ) RETURNING *
) SELECT ${USE} FROM claimed, routewright_keys.metering ORDER BY 2, 4, 5, 6`;

const ACKNOWLEDGE = "UPDATE routewright_keys.metered SET sent_at = now() WHERE id = ANY ($1::text[])";
