import { OwnTables, type RunInTransaction } from "../../postgres/own-tables.js";
import { migrateSchemas } from "../../postgres/own-schema.js";
import { eventId } from "./event-id.js";
import type { EventStore, PublishedEvent, Sighting } from "./event.js";
import { EventNotifications } from "./event-notifications.js";
import { EVENTS_SCHEMA } from "./operator-events.js";

/** An unresponsive database delays events, and the shutdown. */
const QUERY_TIMEOUT_MS = 5000;
const CONNECTIONS = 4;
/** How long events are kept (runtime/docs/events.md). */
const KEPT = "7 days";
/** How often old ones are removed. */
const CLEAN_MS = 600_000;

/** Events in PostgreSQL, for all servers of an installation. */
export class EventTables implements EventStore {
  readonly prefix = "";
  readonly tables = this;
  readonly #tables: OwnTables;
  readonly #notifications: EventNotifications;
  #cleanedAt = -Infinity;

  private constructor(url: string) {
    this.#tables = new OwnTables(url, {
      name: "routewright events",
      queryTimeoutMs: QUERY_TIMEOUT_MS,
      connections: CONNECTIONS,
    });
    this.#notifications = new EventNotifications(url);
  }

  /** With `isAsked` the tables are made where they are missing; else null then. Rejects when the database fails. */
  static async open(url: string, isAsked: boolean): Promise<EventTables | null> {
    if (isAsked) await migrateSchemas(url, [EVENTS_SCHEMA], "events in PostgreSQL");
    const tables = new EventTables(url);
    try {
      const [found] = await tables.query<{ isThere: boolean }>(IS_THERE);
      if (found?.isThere) return tables;
      await tables.close();
      return null;
    } catch (error) {
      await tables.close();
      throw error;
    }
  }

  async publish(sightings: readonly Sighting[]): Promise<void> {
    const [first] = sightings;
    if (first === undefined) return;
    const given = sightings.map((sighting) => ({ ...sighting, id: eventId(sighting) }));
    await this.#tables.transaction(async (run) => {
      await run(LOCK);
      await run(ACCEPT[first.type], [JSON.stringify(given)]);
      await numberAll(run);
    });
  }

  after(sequence: number, limit: number): Promise<readonly PublishedEvent[]> {
    return this.query<PublishedEvent>(`${SELECT} WHERE sequence > $1 ORDER BY sequence LIMIT $2`, [
      sequence,
      limit,
    ]);
  }

  newest(limit: number): Promise<readonly PublishedEvent[]> {
    return this.query<PublishedEvent>(`${SELECT} WHERE sequence > 0 ORDER BY sequence DESC LIMIT $1`, [
      limit,
    ]);
  }

  async last(): Promise<number> {
    const [state] = await this.query<{ sequence: number; isWaiting: boolean }>(LAST);
    const isOld = performance.now() - this.#cleanedAt >= CLEAN_MS;
    return state?.isWaiting || isOld ? this.#numberRecorded(isOld) : (state?.sequence ?? 0);
  }

  follow(wake: () => void): void {
    this.#notifications.follow(wake);
  }

  /** The rows of a statement. Rejects when the database fails. */
  query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.#tables.transaction((run) => run<Row>(text, values));
  }

  ask<Row extends object>(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#tables.ask<Row>(text, values);
  }

  transaction<Value>(work: (run: RunInTransaction) => Promise<Value>): Promise<Value> {
    return this.#tables.transaction(work);
  }

  async close(): Promise<void> {
    this.#notifications.close();
    await this.#tables.close();
  }

  /** Numbers those that were recorded with a change of a key or an organization, and removes old ones. */
  async #numberRecorded(isOld: boolean): Promise<number> {
    const [state] = await this.#tables.transaction(async (run) => {
      await run(LOCK);
      if (isOld) await run(CLEAN);
      await numberAll(run);
      return run<{ sequence: number }>(LAST);
    });
    if (isOld) this.#cleanedAt = performance.now();
    return state?.sequence ?? 0;
  }
}

async function numberAll(run: RunInTransaction): Promise<void> {
  const numbered = await run(NUMBER);
  if (numbered.length > 0) await run("NOTIFY routewright_events");
}

const IS_THERE = `SELECT to_regclass('routewright_events.subscriptions') IS NOT NULL AS "isThere"`;
const LAST = `SELECT sequence::float8 AS sequence,
    EXISTS (SELECT FROM routewright_events.events WHERE sequence IS NULL) AS "isWaiting"
  FROM routewright_events.state`;
/** Servers publish one after the other. */
const LOCK = "SELECT FROM routewright_events.state FOR UPDATE";
const CLEAN = `DELETE FROM routewright_events.events WHERE at < now() - interval '${KEPT}'`;

const SELECT = `SELECT sequence::float8 AS sequence, id, type, path, organization, data,
    to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
  FROM routewright_events.events`;

const NUMBER = `WITH waiting AS (
    SELECT id, row_number() OVER (ORDER BY at, id) AS place FROM routewright_events.events WHERE sequence IS NULL),
  counted AS (
    UPDATE routewright_events.state SET sequence = sequence + (SELECT count(*) FROM waiting) RETURNING sequence)
  UPDATE routewright_events.events SET sequence = counted.sequence - (SELECT count(*) FROM waiting) + place
  FROM waiting, counted WHERE events.id = waiting.id RETURNING events.id`;

const GIVEN = `given AS (
    SELECT * FROM json_to_recordset($1) AS r(id text, type text, path text, "asOf" timestamptz, contract jsonb, before jsonb,
      "deprecationDate" text, data jsonb))`;
const INSERT = "INSERT INTO routewright_events.events (id, type, path, data)";

/** What is inserted of sightings of a type: a server that knows of an older build, or of an older release, adds nothing. */
const ACCEPT: Readonly<Record<Sighting["type"], string>> = {
  "data.rebuilt": `WITH ${GIVEN}, moved AS (
    INSERT INTO routewright_events.endpoints AS known (path, as_of) SELECT path, "asOf" FROM given ORDER BY path
    ON CONFLICT (path) DO UPDATE SET as_of = excluded.as_of WHERE known.as_of IS NULL OR known.as_of < excluded.as_of
    RETURNING path)
    ${INSERT} SELECT id, type, path, data FROM given JOIN moved USING (path) ON CONFLICT DO NOTHING`,
  "data.late": `WITH ${GIVEN}
    ${INSERT} SELECT id, type, path, data FROM given LEFT JOIN routewright_events.endpoints known USING (path)
    WHERE known.as_of IS NULL OR known.as_of <= "asOf" ON CONFLICT DO NOTHING`,
  "contract.changed": `WITH ${GIVEN}, changed AS (
      SELECT given.*, known.contract AS stored FROM given LEFT JOIN routewright_events.endpoints known USING (path)
      WHERE known.contract IS DISTINCT FROM given.contract
        AND (known.contract IS NULL OR given.before IS NULL OR known.contract = given.before)),
    moved AS (
      INSERT INTO routewright_events.endpoints (path, contract) SELECT path, contract FROM changed ORDER BY path
      ON CONFLICT (path) DO UPDATE SET contract = excluded.contract)
    ${INSERT} SELECT id, type, path, data || jsonb_build_object('changed', (
        SELECT jsonb_agg(part ORDER BY part) FROM jsonb_each_text(contract) AS head (part, digest)
          FULL JOIN jsonb_each_text(stored) AS base (part, digest) USING (part) WHERE head.digest IS DISTINCT FROM base.digest))
      FROM changed WHERE stored IS NOT NULL`,
  "endpoint.deprecated": `WITH ${GIVEN}, moved AS (
    INSERT INTO routewright_events.endpoints AS known (path, deprecation_date) SELECT path, "deprecationDate" FROM given ORDER BY path
    ON CONFLICT (path) DO UPDATE SET deprecation_date = excluded.deprecation_date
      WHERE known.deprecation_date IS DISTINCT FROM excluded.deprecation_date
    RETURNING path)
    ${INSERT} SELECT id, type, path, data FROM given JOIN moved USING (path) ON CONFLICT DO NOTHING`,
};
