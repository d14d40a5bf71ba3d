import { hash, randomUUID } from "node:crypto";
import * as http from "node:http";
import * as https from "node:https";
import { text as readText } from "node:stream/consumers";
import type { Statement } from "../sql.js";
import { DatabaseUnreachable, QueryAbandoned } from "../warehouse.js";
import type { ClickhouseAddress, ClickhouseHost } from "../../model/clickhouse-address.js";
import { ClickhouseError, ConnectTimeout, isConnectionFailure } from "./clickhouse-errors.js";
import { killQuery, PING } from "./clickhouse-sql.js";
import { QueryClock, type TimeLimits, RunningQuery } from "./running-query.js";

/** An idle connection is closed before the server does it: the default of `keep_alive_timeout` was 3 s until 2024. */
const IDLE_MS = 2000;

/** How long a connection may take to open. */
const CONNECT_MS = 5000;

/** A server that cannot be reached gets no queries for this time while another one can. */
const DOWN_MS = 5000;

/** Interval of the check for time limits and abandoned queries. */
const CHECK_MS = 100;

const PING_MS = 3000;

/** A longer address is refused by some proxies: the parameters are then sent in the body. */
const MAX_PARAMETERS_LENGTH = 4000;

export interface ClickhouseRequest {
  readonly statement: Statement;
  readonly settings: Readonly<Record<string, string>>;
  /** Queries of the same caller run on the same server: the servers may be at different builds during a page walk. */
  readonly callerId: string;
  readonly limits: TimeLimits;
}

interface Host extends ClickhouseHost {
  downUntil: number;
}

/**
 * Queries through the HTTP interface, with Node's own client: it gives the bytes as they arrive, and the connection itself,
 * which has to be closed in the middle of a cancelled query.
 */
export class ClickhouseConnection {
  readonly #address: ClickhouseAddress;
  readonly #hosts: readonly Host[];
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;
  readonly #running = new Set<QueryClock>();
  readonly #kills = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  readonly #warn: (error: Error, message: string) => void;

  constructor(address: ClickhouseAddress, warn: (error: Error, message: string) => void) {
    this.#address = address;
    this.#hosts = address.hosts.map((host) => ({ ...host, downUntil: 0 }));
    const options = { keepAlive: true, timeout: IDLE_MS };
    this.#agent = address.isTls ? new https.Agent(options) : new http.Agent(options);
    this.#request = address.isTls ? https.request : http.request;
    this.#warn = warn;
    // Results that arrived while the event loop was blocked are read before time limits are checked.
    this.#timer = setInterval(() => setImmediate(() => this.#check()), CHECK_MS).unref();
  }

  /** Runs a query. Resolves with its first bytes; rejects with a `ClickhouseError` when it fails before them. */
  async run({ statement, settings, callerId, limits }: ClickhouseRequest): Promise<RunningQuery> {
    let failure: unknown;
    for (const host of this.#hostsFor(callerId)) {
      try {
        return await this.#runOn(host, statement, settings, limits);
      } catch (error) {
        if (!isConnectionFailure(error)) throw error;
        host.downUntil = Date.now() + DOWN_MS;
        failure = error;
      }
    }
    throw new DatabaseUnreachable(failure);
  }

  /** The text of a small result. */
  async text(request: ClickhouseRequest): Promise<string> {
    const running = await this.run(request);
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

  /** Whether a server responds in time to the role with these settings. */
  ping(settings: ClickhouseRequest["settings"]): Promise<boolean> {
    const limits = { timeoutMs: PING_MS, isStillNeeded: () => true };
    return this.text({ statement: PING, settings, callerId: "ping", limits }).then(
      () => true,
      () => false,
    );
  }

  /** Cancels what still runs and closes the connections. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const clock of this.#running) clock.cancel(new QueryAbandoned());
    await Promise.all(this.#kills);
    this.#agent.destroy();
  }

  #check(): void {
    for (const clock of this.#running) clock.check();
  }

  /** Starts with the caller's own; those that were down a moment ago are last. */
  #hostsFor(callerId: string): readonly Host[] {
    if (this.#hosts.length === 1) return this.#hosts;
    const first = parseInt(hash("sha1", callerId).slice(0, 8), 16) % this.#hosts.length;
    const ring = [...this.#hosts.slice(first), ...this.#hosts.slice(0, first)];
    const now = Date.now();
    return [...ring.filter((host) => host.downUntil <= now), ...ring.filter((host) => host.downUntil > now)];
  }

  async #runOn(
    host: Host,
    statement: Statement,
    settings: ClickhouseRequest["settings"],
    limits: TimeLimits,
  ): Promise<RunningQuery> {
    const id = randomUUID();
    const abort = new AbortController();
    const cancel = (reason: Error): void => {
      // Between the last bytes of a response and its end nobody handles the error of an abort: it would end the process.
      setImmediate(() => abort.abort(reason));
      this.#kill(host, id);
    };
    const clock = new QueryClock(limits, cancel, () => this.#running.delete(clock));
    this.#running.add(clock);
    try {
      const response = await this.#send(host, statement, { ...settings, query_id: id }, abort.signal);
      if (response.statusCode === 200) return new RunningQuery(response, clock);
      throw await errorOf(response);
    } catch (error) {
      clock.end();
      throw clock.reason ?? error;
    } finally {
      clock.pause();
    }
  }

  /** Sends again on a new connection when the server has closed an idle one at the same moment. */
  async #send(
    host: Host,
    statement: Statement,
    settings: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    try {
      return await this.#sendOnce(host, statement, settings, signal);
    } catch (error) {
      if (!(error as { isReused?: boolean }).isReused || signal.aborted) throw error;
      return this.#sendOnce(host, statement, settings, signal);
    }
  }

  #sendOnce(
    { hostname, port }: Host,
    { text, values }: Statement,
    settings: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    const { user, password, database } = this.#address;
    const parameters = values.map((value, i): [string, string] => [`param_p${String(i + 1)}`, String(value)]);
    const isLong = parameters.reduce((sum, [, value]) => sum + value.length, 0) > MAX_PARAMETERS_LENGTH;
    const query = new URLSearchParams([
      ["database", database],
      ...Object.entries(settings),
      ...(isLong ? [] : parameters),
    ]);
    const body = isLong
      ? multipart([["query", text], ...parameters])
      : { type: "text/plain", bytes: Buffer.from(text) };
    return new Promise((resolve, reject) => {
      const request = this.#request({
        agent: this.#agent,
        host: hostname,
        port,
        method: "POST",
        path: `/?${query.toString()}`,
        headers: {
          "X-ClickHouse-User": user,
          "X-ClickHouse-Key": password,
          "Content-Type": body.type,
          "Content-Length": body.bytes.length,
        },
        signal,
      });
      request.on("response", resolve);
      request.on("error", (error) => reject(Object.assign(error, { isReused: request.reusedSocket })));
      request.on("socket", (socket) => {
        if (!socket.connecting) return;
        const timer = setTimeout(() => request.destroy(new ConnectTimeout(CONNECT_MS / 1000)), CONNECT_MS);
        for (const event of ["connect", "close"]) socket.once(event, () => clearTimeout(timer));
      });
      request.end(body.bytes);
    });
  }

  /** A closed connection alone does not end every query. */
  #kill(host: Host, id: string): void {
    const kill = this.#killOn(host, id).catch((error: unknown) =>
      this.#warn(
        error as Error,
        "a query could not be cancelled: the role needs KILL QUERY and SELECT on system.processes",
      ),
    );
    this.#kills.add(kill);
    void kill.finally(() => this.#kills.delete(kill));
  }

  async #killOn(host: Host, id: string): Promise<void> {
    const response = await this.#sendOnce(host, killQuery(id), {}, AbortSignal.timeout(PING_MS));
    if (response.statusCode !== 200) throw await errorOf(response);
    response.resume();
  }
}

async function errorOf(response: http.IncomingMessage): Promise<ClickhouseError> {
  const code = Number(response.headers["x-clickhouse-exception-code"] ?? 0);
  return new ClickhouseError((await readText(response)).slice(0, 16_384), code);
}

/** A body of form fields: the only form in which ClickHouse takes parameters besides the address. */
function multipart(fields: readonly (readonly [string, string])[]): { type: string; bytes: Buffer } {
  const boundary = randomUUID();
  const parts = fields.map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    bytes: Buffer.from(`${parts.join("")}--${boundary}--\r\n`),
  };
}
