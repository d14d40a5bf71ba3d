import { hash, randomUUID } from "node:crypto";
import type { ClickhouseAddress, ClickhouseHost } from "../../model/clickhouse-address.js";
import type { Statement } from "../sql.js";
import { DatabaseUnreachable, QueryAbandoned, QueryTimeout } from "../warehouse.js";
import { ClickhouseError, isConnectionFailure, ServerUnresponsive } from "./errors.js";
import { ClickhouseHttp } from "./http.js";
import { QueryClock, RunningQuery, type TimeLimits } from "./stream.js";
import { killQuery } from "./select.js";

/** Interval of the check for time limits, abandoned queries and silent servers. */
const CHECK_MS = 100;

const KILL_MS = 3000;

export interface ClickhouseRequest {
  readonly statement: Statement;
  readonly settings: Readonly<Record<string, string>>;
  readonly callerId?: string;
  readonly limits: TimeLimits;
  /** Only this one is asked. */
  readonly server?: ClickhouseServer;
}

/** Queries on the servers of an address. */
export class ClickhouseConnection {
  readonly #http: ClickhouseHttp;
  readonly #servers: readonly ClickhouseServer[];
  readonly #running = new Map<QueryClock, ClickhouseServer>();
  readonly #kills = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  readonly #warn: (error: Error, message: string) => void;

  constructor(address: ClickhouseAddress, warn: (error: Error, message: string) => void) {
    const connections = new ClickhouseHttp(address);
    this.#http = connections;
    this.#servers = address.hosts.map(
      (host) => new ClickhouseServer(host, (each, timeoutMs) => connections.ping(each, timeoutMs)),
    );
    this.#warn = warn;
    // Results that arrived while the event loop was blocked are read before time limits are checked.
    this.#timer = setInterval(() => setImmediate(() => this.#check()), CHECK_MS).unref();
  }

  /** Runs a query. Resolves with its first bytes; rejects with a `ClickhouseError` when it fails before them. */
  async run(request: ClickhouseRequest): Promise<RunningQuery> {
    const { callerId = "", server: only } = request;
    let failure: unknown;
    for (const server of only ? [only] : serversFor(callerId, this.#servers)) {
      if (!server.isUp && !(await server.check())) continue;
      try {
        return await this.#runOn(server, request);
      } catch (error) {
        // Queries change nothing: another server may run them.
        if (!isConnectionFailure(error)) throw error;
        void server.check();
        failure = error;
      }
    }
    throw new DatabaseUnreachable(failure);
  }

  /** The text of a small result. */
  async text(request: ClickhouseRequest): Promise<string> {
    return textOf(await this.run(request));
  }

  /** The servers that answer a ping. */
  async respondingServers(): Promise<readonly ClickhouseServer[]> {
    const up = await Promise.all(this.#servers.map((server) => server.check()));
    return this.#servers.filter((_, i) => up[i]);
  }

  /** The servers that are up as far as is known; all if none is. */
  get likelyServers(): readonly ClickhouseServer[] {
    const up = this.#servers.filter(({ isUp }) => isUp);
    return up.length > 0 ? up : this.#servers;
  }

  /** How many of the servers respond, as far as is known. */
  get up(): { readonly servers: number; readonly of: number } {
    return { servers: this.#servers.filter(({ isUp }) => isUp).length, of: this.#servers.length };
  }

  /** Cancels what still runs and closes the connections. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const clock of this.#running.keys()) clock.cancel(new QueryAbandoned());
    await Promise.all(this.#kills);
    this.#http.close();
  }

  #check(): void {
    for (const [clock, server] of this.#running) {
      clock.check();
      if (clock.waitingMs > SUSPICION_MS) void this.#checkSilent(server);
    }
    for (const server of this.#servers) if (!server.isUp) void server.check();
  }

  async #checkSilent(server: ClickhouseServer): Promise<void> {
    if (await server.check()) return;
    for (const [clock, on] of this.#running)
      if (on === server && clock.waitingMs > 0) clock.cancel(new ServerUnresponsive());
  }

  async #runOn(
    server: ClickhouseServer,
    { statement, settings, limits }: ClickhouseRequest,
  ): Promise<RunningQuery> {
    const id = randomUUID();
    const abort = new AbortController();
    const cancel = (reason: Error): void => {
      // Between the last bytes of a response and its end nobody handles the error of an abort: it would end the process.
      setImmediate(() => abort.abort(reason));
      if (!(reason instanceof ServerUnresponsive)) this.#kill(server, id);
      if (reason instanceof QueryTimeout) void server.check();
    };
    const clock = new QueryClock(limits, cancel, () => this.#running.delete(clock));
    this.#running.set(clock, server);
    try {
      const sent = { statement, settings: { ...settings, query_id: id }, signal: abort.signal };
      return new RunningQuery(await this.#http.query(server.host, sent), clock);
    } catch (error) {
      clock.end();
      throw clock.reason ?? error;
    } finally {
      clock.pause();
    }
  }

  /** A closed connection alone does not end every query. */
  #kill({ host }: ClickhouseServer, id: string): void {
    const signal = AbortSignal.timeout(KILL_MS);
    const kill = this.#http.query(host, { statement: killQuery(id), settings: {}, signal }).then(
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

/** A server whose query has been silent for so long is pinged. Callers get 503 three seconds after their request at the latest. */
const SUSPICION_MS = 1000;
const PING_MS = 2000;

/** A server that is down is pinged this long after its last ping, and serves again once it answers. */
const RETRY_MS = 1000;

/**
 * A server of the address: up until it leaves a ping unanswered, then down until it answers one. Without this a frozen server
 * costs every caller its whole time limit: with one of two servers frozen, 7 of 12 callers waited 30 s for a 500.
 */
export class ClickhouseServer {
  readonly host: ClickhouseHost;
  readonly #ping: (timeoutMs: number) => Promise<boolean>;
  #isUp = true;
  #pinging: Promise<boolean> | null = null;
  #pingedAt = -Infinity;

  constructor(host: ClickhouseHost, ping: (host: ClickhouseHost, timeoutMs: number) => Promise<boolean>) {
    this.host = host;
    this.#ping = (timeoutMs) => ping(host, timeoutMs);
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Pings it, unless the last answer is a moment old; concurrent callers share a ping. Resolves with whether it is up. */
  check(): Promise<boolean> {
    if (this.#pinging === null && performance.now() < this.#pingedAt + RETRY_MS)
      return Promise.resolve(this.#isUp);
    return (this.#pinging ??= this.#check());
  }

  async #check(): Promise<boolean> {
    this.#isUp = await this.#ping(PING_MS);
    this.#pingedAt = performance.now();
    this.#pinging = null;
    return this.#isUp;
  }
}

/** The servers for a caller, its own first: they may be at different builds during a page walk. Those that are down are last. */
function serversFor(callerId: string, servers: readonly ClickhouseServer[]): readonly ClickhouseServer[] {
  if (servers.length === 1) return servers;
  const first = parseInt(hash("sha1", callerId).slice(0, 8), 16) % servers.length;
  const ring = [...servers.slice(first), ...servers.slice(0, first)];
  return [...ring.filter(({ isUp }) => isUp), ...ring.filter(({ isUp }) => !isUp)];
}
