import { randomUUID } from "node:crypto";
import { newSecret } from "../../webhooks/signed-event.js";
import { opened, sealed } from "../../webhooks/sealing.js";
import type { RunsStatements } from "./event.js";

/** Each costs a request per event. */
export const MOST_SUBSCRIPTIONS = 20;

/** What a key asks to be sent. */
export interface NewSubscription {
  readonly url: string;
  /** Null: all that the key may read. */
  readonly paths: readonly string[] | null;
  /** Null: all that are about endpoints. */
  readonly types: readonly string[] | null;
}

/** A subscription as its key sees it. */
export interface Subscription extends NewSubscription {
  readonly id: string;
  readonly created_at: string;
  /** HTTP status of the last attempt, or why there was none; null: there was none. */
  readonly last_result: string | null;
  readonly last_result_at: string | null;
}

/** The subscriptions of keys, in the database of the events. */
export class Subscriptions {
  readonly #tables: RunsStatements;
  readonly #sealingKey: Buffer;

  /** @param sealingKey 32 bytes */
  constructor(tables: RunsStatements, sealingKey: Buffer) {
    this.#tables = tables;
    this.#sealingKey = sealingKey;
  }

  /** The subscription and its secret, which is shown once; null where the key has as many as it may have. */
  async add(
    digest: string,
    { url, paths, types }: NewSubscription,
  ): Promise<(Subscription & { readonly secret: string }) | null> {
    const [id, secret] = [randomUUID(), newSecret()];
    const bytes = sealed(this.#sealingKey, id, secret);
    const [added] = await this.#tables.transaction(async (run) => {
      // Of two at once the second counts the first.
      await run("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`routewright_events ${digest}`]);
      return run<Subscription>(ADD, [id, digest, url, bytes, paths, types, MOST_SUBSCRIPTIONS]);
    });
    return added === undefined ? null : { ...added, secret };
  }

  of(digest: string): Promise<readonly Subscription[]> {
    return this.#tables.query<Subscription>(
      `SELECT ${SHOWN} FROM routewright_events.subscriptions
      WHERE key_digest = $1 ORDER BY created_at, id`,
      [digest],
    );
  }

  /** Whether the key had it. */
  async remove(digest: string, id: string): Promise<boolean> {
    const removed = await this.#tables.query(
      "DELETE FROM routewright_events.subscriptions WHERE key_digest = $1 AND id::text = lower($2) RETURNING id",
      [digest, id],
    );
    return removed.length > 0;
  }

  /** The secret of a subscription; null: another key sealed it. */
  secretOf({ id, secret }: { readonly id: string; readonly secret: Buffer }): string | null {
    return opened(this.#sealingKey, id, secret);
  }
}

const timeText = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ${column}`;

const SHOWN = `id, url, paths, types, ${timeText("created_at")}, last_result, ${timeText("last_result_at")}`;

/** It gets what is published from now on. */
const ADD = `INSERT INTO routewright_events.subscriptions (id, key_digest, url, secret, paths, types, position)
  SELECT $1, $2, $3, $4, $5, $6, sequence FROM routewright_events.state
  WHERE (SELECT count(*) FROM routewright_events.subscriptions WHERE key_digest = $2) < $7
  RETURNING ${SHOWN}`;
