import { randomUUID } from "node:crypto";
import type { ClickhouseAddress } from "../../model/clickhouse-address.js";
import { QueryTimeout } from "../warehouse.js";
import { isConnectionFailure, ServerUnresponsive } from "./errors.js";
import { ClickhouseHttp, type HttpQuery } from "./http.js";
import { BodyReader } from "./rows.js";
import { killQuery } from "./select.js";
import { readFirst, RunningQuery, type TimeLimits } from "./stream.js";

/** Interval of the check for time limits, abandoned queries and silent servers. */
const CHECK_MS = 100;

const KILL_MS = 3000;

/** A server whose query has been silent for so long is pinged. Callers get 503 three seconds after their request at the latest. */
const SUSPICION_MS = 1000;
const PING_MS = 2000;

/** A server that is down is pinged this long after its last ping, and serves again once it answers. */
const RETRY_MS = 1000;

export interface ClickhouseRequest extends Omit<HttpQuery, "signal"> {
  readonly limits: TimeLimits;
}

/**
 * Queries on a server: it is up until it leaves a ping unanswered, then down until it answers one. Without this a frozen server
 * costs every caller its whole time limit.
 */
export class ClickhouseConnection {
  readonly #http: ClickhouseHttp;
  readonly #running = new Set<RunningQuery>();
  readonly #kills = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  readonly #warn: (error: Error, message: string) => void;
  #isUp = true;
  #pinging: Promise<boolean> | null = null;
  #pingedAt = -Infinity;

  constructor(address: ClickhouseAddress, warn: (error: Error, message: string) => void) {
    this.#http = new ClickhouseHttp(address);
    this.#warn = warn;
    // Results that arrived while the event loop was blocked are read before time limits are checked.
    this.#timer = setInterval(() => setImmediate(() => this.#check()), CHECK_MS).unref();
  }

  /** Runs a query. Resolves with its first bytes; rejects with a `ClickhouseError` when it fails before them. */
  async run({ statement, settings, limits }: ClickhouseRequest): Promise<RunningQuery> {
    if (!this.#isUp && !(await this.isUp())) throw new ServerUnresponsive();
    const id = randomUUID();
    const cancelled = (reason: Error): void => {
      if (!(reason instanceof ServerUnresponsive)) this.#kill(id);
      if (reason instanceof QueryTimeout) void this.isUp();
    };
    const query = new RunningQuery(limits, cancelled, () => this.#running.delete(query));
    this.#running.add(query);
    try {
      const sent = { ...settings, query_id: id };
      await query.send((signal) => this.#http.query({ statement, settings: sent, signal }));
      return query;
    } catch (error) {
      if (isConnectionFailure(error)) void this.isUp();
      throw error;
    }
  }

  /** The text of a small result. */
  async text(request: ClickhouseRequest): Promise<string> {
    const running = await this.run(request);
    const { bytes } = await readFirst(running, new BodyReader(running.exceptionTag), Infinity);
    return bytes.toString();
  }

  /** Pings the server, unless the last answer is a moment old; concurrent callers share a ping. Resolves with whether it is up. */
  isUp(): Promise<boolean> {
    if (this.#pinging === null && performance.now() < this.#pingedAt + RETRY_MS)
      return Promise.resolve(this.#isUp);
    return (this.#pinging ??= this.#ping());
  }

  async #ping(): Promise<boolean> {
    this.#isUp = await this.#http.ping(PING_MS);
    this.#pingedAt = performance.now();
    this.#pinging = null;
    return this.#isUp;
  }

  /** Cancels what still runs and closes the connections. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const query of this.#running) query.cancel();
    await Promise.all(this.#kills);
    this.#http.close();
  }

  #check(): void {
    let isSilent = false;
    for (const query of this.#running) {
      query.check();
      isSilent ||= query.waitingMs > SUSPICION_MS;
    }
    if (isSilent) void this.#checkSilent();
    else if (!this.#isUp) void this.isUp();
  }

  async #checkSilent(): Promise<void> {
    if (await this.isUp()) return;
    for (const query of this.#running) if (query.waitingMs > 0) query.cancel(new ServerUnresponsive());
  }

  /** A closed connection alone does not end every query. */
  #kill(id: string): void {
    const signal = AbortSignal.timeout(KILL_MS);
    const kill = this.#http.query({ statement: killQuery(id), settings: {}, signal }).then(
      (response) => void response.resume(),
      (error: unknown) => this.#warn(error as Error, NOT_CANCELLED),
    );
    this.#kills.add(kill);
    void kill.finally(() => this.#kills.delete(kill));
  }
}

const NOT_CANCELLED =
  "a query could not be cancelled: the role needs KILL QUERY and SELECT on system.processes";
