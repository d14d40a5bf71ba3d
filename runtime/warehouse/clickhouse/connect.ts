import { randomUUID } from "node:crypto";
import type { Statement } from "../sql.js";
import { DatabaseUnreachable, QueryAbandoned, QueryTimeout } from "../warehouse.js";
import type { ClickhouseAddress } from "../../model/clickhouse-address.js";
import { ClickhouseError, isConnectionFailure, ServerUnresponsive } from "./errors.js";
import { ClickhouseHttp } from "./http.js";
import { ClickhouseServer, serversFor, SUSPICION_MS } from "./clickhouse-servers.js";
import { killQuery } from "./select.js";
import { QueryClock, type TimeLimits, RunningQuery } from "./running-query.js";

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
