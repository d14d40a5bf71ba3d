import { randomUUID } from "node:crypto";
import { databaseLookup } from "../core/http/name-lookup.js";
import type { ClickhouseAddress } from "../core/model/clickhouse-address.js";
import { PeriodicCheck } from "../core/warehouse/periodic-check.js";
import { QueryTimeout } from "../core/warehouse/query-errors.js";
import { joined } from "../core/warehouse/warehouse.js";
import { GATEWAY_STATUSES, isConnectionFailure, ServerUnresponsive } from "./errors.js";
import { BodyReader } from "./rows.js";
import { partsOf } from "./parameters.js";
import { killQuery } from "./select.js";
import { readFirst, responseTo, RunningQuery, type TimeLimits } from "./stream.js";
import * as http from "node:http";
import * as https from "node:https";
import type { Statement } from "../core/warehouse/sql.js";
import { signalAfter } from "../core/model/timer.js";

/** Interval of the check for time limits, abandoned queries and silent servers. */
const CHECK_MS = 100;

const KILL_MS = 3000;

/** A server whose query has been silent for so long is pinged. Callers get 503 three seconds after their request at the latest. */
const SUSPICION_MS = 1000;
const PING_MS = 2000;

/** How long what a ping found holds. A balancer may soon have another server than one that is down: in a second 8 callers got 3,800 refusals. */
const UP_MS = 1000;
const DOWN_MS = 50;

interface ClickhouseRequest extends Omit<HttpQuery, "signal"> {
  readonly limits: TimeLimits;
}

/**
 * Queries on a server: it is up until it leaves a ping unanswered, then down until it answers one. Without this a frozen server
 * costs every caller its whole time limit.
 */
export class ClickhouseConnection {
  readonly #http: ClickhouseHttp;
  /** Bounded by the connections of the queue. */
  readonly #running = new Set<RunningQuery>();
  /** Bounded by the same queries, each for `KILL_MS`. */
  readonly #kills = new Set<Promise<void>>();
  readonly #checks = new PeriodicCheck(CHECK_MS, () => this.#check());
  readonly #warn: (error: Error, message: string) => void;
  #isUp = true;
  #pinging: Promise<boolean> | null = null;
  #pingedAt = -Infinity;

  constructor(address: ClickhouseAddress, warn: (error: Error, message: string) => void) {
    this.#http = new ClickhouseHttp(address);
    this.#warn = warn;
  }

  /**
   * Runs a query. Resolves with its first bytes; rejects with a `ClickhouseError` when it fails before them. Where its connection
   * ends without a response it runs again, once: behind one address another server may answer.
   */
  async run(request: ClickhouseRequest): Promise<RunningQuery> {
    if (!this.#isUp && !(await this.isUp())) throw new ServerUnresponsive();
    const start = performance.now();
    try {
      return await this.#start(request);
    } catch (error) {
      const isBroken = isConnectionFailure(error) && performance.now() - start < SUSPICION_MS;
      if (!isBroken || !(await this.isUp()) || !request.limits.isStillNeeded()) throw error;
      return this.#start(request);
    }
  }

  async #start({ statement, settings, limits }: ClickhouseRequest): Promise<RunningQuery> {
    const id = randomUUID();
    const cancelled = (reason: Error): void => {
      if (!(reason instanceof ServerUnresponsive)) this.#kill(id);
      if (reason instanceof QueryTimeout) void this.isUp();
    };
    const query = new RunningQuery(limits, cancelled, () => this.#running.delete(query));
    this.#running.add(query);
    this.#checks.start();
    try {
      await query.send(() => this.#http.send({ statement, settings: `${settings}&query_id=${id}` }));
      return query;
    } catch (error) {
      if (isConnectionFailure(error)) void this.isUp();
      throw error;
    }
  }

  /** The text of a small result. */
  async text(request: ClickhouseRequest): Promise<string> {
    const running = await this.run(request);
    try {
      const { parts } = await readFirst(running, new BodyReader(running.exceptionTag), Infinity);
      return joined(parts).toString();
    } finally {
      running.cancel();
    }
  }

  /** Pings the server, unless the last answer is a moment old; concurrent callers share a ping. Resolves with whether it is up. */
  isUp(): Promise<boolean> {
    if (this.#pinging === null && performance.now() < this.#pingedAt + (this.#isUp ? UP_MS : DOWN_MS))
      return Promise.resolve(this.#isUp);
    return (this.#pinging ??= this.#ping());
  }

  async #ping(): Promise<boolean> {
    this.#isUp = await this.#http.ping(PING_MS);
    this.#pingedAt = performance.now();
    this.#pinging = null;
    if (!this.#isUp) this.#checks.start();
    return this.#isUp;
  }

  /** Cancels what still runs and closes the connections. */
  async close(): Promise<void> {
    this.#checks.close();
    for (const query of this.#running) query.cancel();
    await Promise.all(this.#kills);
    this.#http.close();
  }

  /** Returns whether queries run, or the server is down. */
  #check(): boolean {
    let isSilent = false;
    for (const query of this.#running) {
      query.check();
      isSilent ||= query.waitingMs > SUSPICION_MS;
    }
    if (isSilent) void this.#checkSilent();
    else if (!this.#isUp) void this.isUp();
    return this.#running.size > 0 || !this.#isUp;
  }

  async #checkSilent(): Promise<void> {
    if (await this.isUp()) return;
    for (const query of this.#running) if (query.waitingMs > 0) query.cancel(new ServerUnresponsive());
  }

  /** A closed connection alone does not end every query. */
  #kill(id: string): void {
    const signal = AbortSignal.timeout(KILL_MS);
    const request = this.#http.send({ statement: killQuery(id), settings: "", signal });
    const kill = responseTo(request, (response) => void response.resume()).catch((error: unknown) =>
      this.#warn(error as Error, NOT_CANCELLED),
    );
    this.#kills.add(kill);
    void kill.finally(() => this.#kills.delete(kill));
  }
}

const NOT_CANCELLED =
  "a query could not be cancelled: the role needs KILL QUERY and SELECT on system.processes";

/** An idle connection is closed before the server does it: the default of `keep_alive_timeout` was 3 s until 2024. */
const IDLE_MS = 2000;

interface HttpQuery {
  readonly statement: Statement;
  /** As a query string. */
  readonly settings: string;
  readonly signal?: AbortSignal;
}

/**
 * Requests to the server of an address, with Node's own client. `exec` of `@clickhouse/client` (1.23), which alone gives bytes, sends
 * parameters in the address only, and no longer listens to its abort signal once a response has begun. A page of 127 kB takes
 * 0.65 ms of processor time so, 0.57 with `undici` (7.30).
 */
class ClickhouseHttp {
  readonly #options: http.RequestOptions & { readonly agent: http.Agent };
  /** Headers of every request, as flat name and value pairs: Node checks and copies each one of an object. */
  readonly #headers: readonly string[];
  readonly #request: typeof http.request;

  constructor({ isTls, hostname, port, user, password, database }: ClickhouseAddress) {
    const { Agent, request } = isTls ? https : http;
    const host = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${String(port)}`;
    const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
    const path = `/?${new URLSearchParams({ database }).toString()}`;
    this.#options = { agent, host: hostname, port, method: "POST", path, lookup: databaseLookup };
    this.#headers = [
      ...["Host", host],
      ...["X-ClickHouse-User", inBytes(user), "X-ClickHouse-Key", inBytes(password)],
    ];
    this.#request = request;
  }

  /** Sends a query. */
  send({ statement, settings, signal }: HttpQuery): http.ClientRequest {
    const { search, type, body } = encoded(statement);
    const request = this.#request({
      ...this.#options,
      path: `${this.#options.path ?? ""}&${settings}${search}`,
      headers: [...this.#headers, "Content-Type", type, "Content-Length", String(Buffer.byteLength(body))],
      ...(signal && { signal }),
    });
    // Node writes a text with the head: each character is a byte. Once there is a response, its reader gets the error.
    return request.on("error", () => undefined).end(body, "latin1");
  }

  /** Whether the server answers at all, with any role. */
  ping(timeoutMs: number): Promise<boolean> {
    const signal = signalAfter(timeoutMs);
    // On a connection of its own: a kept one may be of a server that has died, where the address has another.
    const own = { ...this.#options, agent: false, method: "GET", path: "/ping", signal };
    return new Promise((resolve) => {
      this.#request(own)
        .on("error", () => resolve(false))
        // A 101 has neither a response nor an error.
        .on("close", () => resolve(false))
        .on("response", (response) => {
          resolve(!GATEWAY_STATUSES.has(response.statusCode));
          response.destroy();
        })
        .end();
    });
  }

  close(): void {
    this.#options.agent.destroy();
  }
}

/** ClickHouse reads UTF-8; Node writes a character of a header as one byte, and refuses those that have none. */
const inBytes = (text: string): string => Buffer.from(text).toString("latin1");

/** A longer statement raises the server's limits for itself: one of 2,500 columns has more than the 256 KiB of `max_query_size`. */
const LONG_STATEMENT_BYTES = 100_000;

function limitsOf(bytes: number): string {
  if (bytes <= LONG_STATEMENT_BYTES) return "";
  // An element of the syntax tree has at least one byte of the text.
  const limit = String(Math.max(bytes + 1, 500_000));
  return `&max_query_size=${limit}&max_ast_elements=${limit}&max_expanded_ast_elements=${limit}`;
}

/**
 * The end of the query string, and the body of a request. Values are never in the address, which proxies log. Form fields are the only
 * body in which ClickHouse takes parameters; it joins the fields `query`, each of which may have 128 KiB.
 */
function encoded({ text, values }: Statement): {
  readonly search: string;
  readonly type: string;
  readonly body: string | Buffer;
} {
  const search = limitsOf(Buffer.byteLength(text));
  if (values.length === 0) return { search, type: "text/plain", body: inOneWrite(text) };
  const boundary = randomUUID();
  const field = (name: string, value: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  let body = "";
  for (const part of partsOf(text)) body += field("query", part);
  for (const [i, value] of values.entries()) body += field(`param_p${String(i + 1)}`, String(value));
  const type = `multipart/form-data; boundary=${boundary}`;
  return { search, type, body: inOneWrite(`${body}--${boundary}--\r\n`) };
}

/** A text of which each character is a byte is written with the head. */
const inOneWrite = (text: string): string | Buffer =>
  Buffer.byteLength(text) === text.length ? text : Buffer.from(text);
