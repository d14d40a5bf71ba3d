import { randomUUID } from "node:crypto";
import type { ClickhouseAddress } from "../../model/clickhouse-address.js";
import type { Statement } from "../sql.js";
import { QueryAbandoned, QueryTimeout } from "../warehouse.js";
import { ClickhouseError, isConnectionFailure, ServerUnresponsive } from "./errors.js";
import { ClickhouseHttp } from "./http.js";
import { QueryClock, RunningQuery, type TimeLimits } from "./stream.js";
import { killQuery } from "./select.js";

/** Interval of the check for time limits, abandoned queries and silent servers. */
const CHECK_MS = 100;

const KILL_MS = 3000;

/** A server whose query has been silent for so long is pinged. Callers get 503 three seconds after their request at the latest. */
const SUSPICION_MS = 1000;
const PING_MS = 2000;

/** A server that is down is pinged this long after its last ping, and serves again once it answers. */
const RETRY_MS = 1000;

export interface ClickhouseRequest {
  readonly statement: Statement;
  readonly settings: Readonly<Record<string, string>>;
  readonly limits: TimeLimits;
}

/**
 * Queries on a server: it is up until it leaves a ping unanswered, then down until it answers one. Without this a frozen server
 * costs every caller its whole time limit.
 */
export class ClickhouseConnection {
  readonly #http: ClickhouseHttp;
  readonly #running = new Set<QueryClock>();
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
  async run(request: ClickhouseRequest): Promise<RunningQuery> {
    if (!this.#isUp && !(await this.isUp())) throw new ServerUnresponsive();
    try {
      return await this.#run(request);
    } catch (error) {
      if (isConnectionFailure(error)) void this.isUp();
      throw error;
    }
  }

  /** The text of a small result. */
  async text(request: ClickhouseRequest): Promise<string> {
    return textOf(await this.run(request));
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
    for (const clock of this.#running) clock.cancel(new QueryAbandoned());
    await Promise.all(this.#kills);
    this.#http.close();
  }

  #check(): void {
    let isSilent = false;
    for (const clock of this.#running) {
      clock.check();
      isSilent ||= clock.waitingMs > SUSPICION_MS;
    }
    if (isSilent) void this.#checkSilent();
    else if (!this.#isUp) void this.isUp();
  }

  async #checkSilent(): Promise<void> {
    if (await this.isUp()) return;
    for (const clock of this.#running) if (clock.waitingMs > 0) clock.cancel(new ServerUnresponsive());
  }

  async #run({ statement, settings, limits }: ClickhouseRequest): Promise<RunningQuery> {
    const id = randomUUID();
    const abort = new AbortController();
    const cancel = (reason: Error): void => {
      // Between the last bytes of a response and its end nobody handles the error of an abort: it would end the process.
      setImmediate(() => abort.abort(reason));
      if (!(reason instanceof ServerUnresponsive)) this.#kill(id);
      if (reason instanceof QueryTimeout) void this.isUp();
    };
    const clock = new QueryClock(limits, cancel, () => this.#running.delete(clock));
    this.#running.add(clock);
    try {
      const sent = { statement, settings: { ...settings, query_id: id }, signal: abort.signal };
      return new RunningQuery(await this.#http.query(sent), clock);
    } catch (error) {
      clock.end();
      throw clock.reason ?? error;
    } finally {
      clock.pause();
    }
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

async function textOf(running: RunningQuery): Promise<string> {
  const chunks: Buffer[] = [];
  const textSoFar = (): string => Buffer.concat(chunks).toString();
  const hasFailed = (): boolean => textSoFar().includes(`__exception__\r\n${running.exceptionTag ?? ""}`);
  try {
    for (let chunk; (chunk = await running.next()) !== null;) chunks.push(chunk);
  } catch (error) {
    throw hasFailed() ? new ClickhouseError(textSoFar()) : error;
  }
  if (hasFailed()) throw new ClickhouseError(textSoFar());
  return textSoFar();
}
