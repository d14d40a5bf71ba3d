import type { ActiveRelease } from "../../core/handler/loaded-release.js";
import { ClaimWorker } from "../../core/http/claim-worker.js";
import type { Logger } from "../../core/http/logger.js";
import type { ApiKey } from "../../core/model/caller.js";
import { hasExpired, type Keyring } from "../../core/request/keyring.js";
import type { PublicNames } from "../../webhooks/public-names.js";
import { type AfterAttempt, afterAttempt } from "../../webhooks/retry-schedule.js";
import { sendSigned } from "../../webhooks/signed-event.js";
import { ENDPOINT_EVENTS, payloadOf, type PublishedEvent, type RunsStatements } from "./event.js";
import type { EventLog } from "./event-log.js";
import { eventFor, type EventReader, mayRead } from "./may-read.js";
import type { Subscriptions } from "./subscriptions.js";

const POLL_MS = 1000;
/** Subscriptions of this process at a time. */
const MAX_IN_FLIGHT = 200;
/** For one attempt. */
const TIMEOUT_MS = 10_000;
/** A process sends events of a subscription for so long, then another may. */
const TURN_MS = 15_000;
/** A claim expires after the last attempt of a turn; then another process repeats it. */
const CLAIM_SECONDS = (TURN_MS + TIMEOUT_MS) / 1000 + 10;
/** Events that are looked through at a time. */
const BATCH = 100;
/** Before a key that is not known is looked for again. */
const UNKNOWN_SECONDS = 60;
/** A subscription whose key is not known for so long is deleted. */
const FORGOTTEN = "7 days";

/** A subscription that this process serves. */
interface Claimed {
  readonly id: string;
  readonly digest: string;
  readonly url: string;
  readonly secret: Buffer;
  readonly paths: readonly string[] | null;
  readonly types: readonly string[] | null;
  position: number;
  attempts: number;
  /** Identifies the claim. */
  readonly until: string;
}

interface DeliveriesOptions {
  readonly tables: RunsStatements;
  readonly events: EventLog;
  readonly subscriptions: Subscriptions;
  readonly keys: Keyring;
  readonly active: ActiveRelease;
  readonly catalogue: "public" | "allowed";
  readonly names: PublicNames;
  readonly allowPrivate: boolean;
  readonly log: Logger;
}

/** Sends events to subscriptions: those of one follow each other, whatever process sends them. */
export class EventDeliveries {
  readonly #options: DeliveriesOptions;
  readonly #worker: ClaimWorker<Claimed>;
  readonly #unlisten: () => void;
  #isStopped = false;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    const { tables, events, log } = options;
    this.#worker = new ClaimWorker<Claimed>(
      {
        name: "subscriptions",
        pollMs: POLL_MS,
        maxInFlight: MAX_IN_FLIGHT,
        claim: (capacity) => tables.query<Claimed>(CLAIM, [capacity, CLAIM_SECONDS]),
        run: (claimed) => this.#serve(claimed),
      },
      log,
    );
    this.#unlisten = events.listen(() => this.#worker.wake());
  }

  /** Finishes the attempts under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unlisten();
    await this.#worker.stop();
  }

  /** Sends what a subscription lacks, one event after the other, until one fails or its turn is over. */
  async #serve(claimed: Claimed): Promise<void> {
    const { events } = this.#options;
    const end = performance.now() + TURN_MS;
    while (!this.#isStopped && performance.now() < end) {
      const batch = await events.after(claimed.position, BATCH);
      if (batch.length === 0) break;
      if (!(await this.#sendAll(claimed, batch, end))) return;
    }
    await this.#record(claimed, RELEASE, []);
  }

  /** False: the claim has ended. */
  async #sendAll(claimed: Claimed, batch: readonly PublishedEvent[], end: number): Promise<boolean> {
    for (const event of batch) {
      if (this.#isStopped || performance.now() >= end) return true;
      const key = this.#keyOf(claimed);
      if (key === null) return this.#postpone(claimed);
      if (!this.#isWanted(claimed, event, key)) claimed.position = event.sequence;
      else if (!(await this.#send(claimed, event, key))) return false;
    }
    return true;
  }

  #keyOf({ digest }: Claimed): ApiKey | null {
    const key = this.#options.keys.ownerOf(digest);
    return key === null || hasExpired(key) ? null : key;
  }

  #isWanted({ paths, types }: Claimed, event: PublishedEvent, key: ApiKey): boolean {
    const wanted: readonly string[] = types ?? ENDPOINT_EVENTS;
    if (!wanted.includes(event.type)) return false;
    if (event.path !== null && paths !== null && !paths.includes(event.path)) return false;
    return mayRead(readerOf(key), event, this.#options.active);
  }

  /** A key that is away, revoked or of another server's file: its events wait. */
  async #postpone(claimed: Claimed): Promise<false> {
    const { keys, tables } = this.#options;
    // A digest has the form of a key without a checksum.
    const isAway = keys.mayBeStored(claimed.digest);
    await this.#record(claimed, POSTPONE, [UNKNOWN_SECONDS, isAway]);
    if (!isAway) await tables.query(FORGET, [claimed.id]);
    return false;
  }

  /** Whether the next event may follow. */
  async #send(claimed: Claimed, event: PublishedEvent, key: ApiKey): Promise<boolean> {
    const { id: tenant } = key;
    const { names, allowPrivate, subscriptions, log } = this.#options;
    const secret = subscriptions.secretOf(claimed);
    if (secret === null)
      throw new Error("WEBHOOK_SECRETS_KEY is not the key that sealed the secret of a subscription");
    const sent = {
      ...{
        url: new URL(claimed.url),
        id: event.id,
        body: payloadOf(eventFor(readerOf(key), event, this.#options)),
        secrets: [secret],
      },
      ...{ allowPrivate, tenant, sender: "Routewright", timeoutMs: TIMEOUT_MS },
    };
    const result = await sendSigned(sent, names, new Date());
    const after = afterAttempt(result, claimed.attempts + 1, new Date());
    if (after.status === "EXHAUSTED")
      log.warn(
        { subscription: claimed.id, key: tenant, event: event.id, lastResult: after.lastResult },
        GIVEN_UP,
      );
    return this.#recordAttempt(claimed, event, after);
  }

  async #recordAttempt(claimed: Claimed, event: PublishedEvent, after: AfterAttempt): Promise<boolean> {
    const { status, pause, lastResult, isGone } = after;
    if (isGone) {
      await this.#options.tables.query("DELETE FROM routewright_events.subscriptions WHERE id = $1", [
        claimed.id,
      ]);
      return false;
    }
    if (status === "PENDING") {
      await this.#record(claimed, FAILED, [pause, lastResult]);
      return false;
    }
    claimed.position = event.sequence;
    claimed.attempts = 0;
    return (await this.#record(claimed, SENT, [lastResult])).length > 0;
  }

  /** Writes nothing where the claim has expired and another process has begun. */
  #record(
    { id, position, until }: Claimed,
    set: string,
    values: readonly unknown[],
  ): Promise<readonly object[]> {
    return this.#options.tables.ask(
      `UPDATE routewright_events.subscriptions SET position = $3, ${set} ${WHERE_CLAIMED} RETURNING id`,
      [id, until, position, ...values],
    );
  }
}

function readerOf({ tier, allowed, org }: ApiKey): EventReader {
  return { tier, allowed, org: org || null };
}

const GIVEN_UP = "an event is given up for a subscription: the next ones follow";

const CLAIM = `WITH due AS (
    SELECT id FROM routewright_events.subscriptions
    WHERE attempt_at <= now() AND (claimed_until IS NULL OR claimed_until < now())
      AND position < (SELECT sequence FROM routewright_events.state)
    ORDER BY attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  UPDATE routewright_events.subscriptions SET claimed_until = now() + make_interval(secs => $2) FROM due
  WHERE subscriptions.id = due.id
  RETURNING subscriptions.id, key_digest AS digest, url, secret, paths, types, position::float8 AS position, attempts,
    claimed_until::text AS until`;

const WHERE_CLAIMED = `WHERE id OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND claimed_until OPERATOR(pg_catalog.=) $2::pg_catalog.timestamptz`;
const LATER =
  "attempt_at = pg_catalog.now() OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => $4::pg_catalog.float8)";

/** Values of each: from \`$4\` on. */
/** Behind others that are due: many whose receivers are slow hold none back. */
const RELEASE = "claimed_until = NULL, attempt_at = pg_catalog.now(), unknown_since = NULL";
const SENT = "attempts = 0, last_result = $4, last_result_at = pg_catalog.now(), unknown_since = NULL";
const FAILED = `attempts = attempts OPERATOR(pg_catalog.+) 1, ${LATER}, last_result = $5, last_result_at = pg_catalog.now(),
  claimed_until = NULL`;
const POSTPONE = `${LATER}, claimed_until = NULL,
  unknown_since = CASE WHEN $5 THEN unknown_since ELSE coalesce(unknown_since, pg_catalog.now()) END`;
const FORGET = `DELETE FROM routewright_events.subscriptions WHERE id = $1 AND unknown_since < now() - interval '${FORGOTTEN}'`;
