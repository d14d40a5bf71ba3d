/**
 * The load generator's process. Takes one job at a time from its parent. Written on sockets: it must cost much less than
 * the servers under test.
 */
import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { quantile } from "../statistics.js";
import type { Job, LoadResult } from "./load.js";

/** Replaced with a new UUID in each request. */
const UNIQUE = "{uuid}";

/** Responses are read into one buffer per connection: allocating one per read would cost most. */
const BUFFER_BYTES = 64 * 1024;

/** Interval at which requests of a fixed rate are sent. */
const TICK_MS = 1;

/** Longer than any response takes. */
const TIMEOUT_MS = 10_000;

class Run {
  readonly #job: Job;
  readonly #latencies: number[] = [];
  readonly #idle: Connection[] = [];
  /** Times of the requests that wait for a free connection. */
  readonly #waiting: number[] = [];
  readonly #startedAt = performance.now();
  #sent = 0;
  failure: string | null = null;

  constructor(job: Job) {
    this.#job = job;
  }

  async result(): Promise<LoadResult> {
    const cpu = process.cpuUsage();
    const connections = Array.from(
      { length: this.#job.connections },
      () =>
        new Connection(
          this.#job.port,
          (connection) => this.#complete(connection),
          (message) => (this.failure ??= message),
        ),
    );
    await (this.#job.perSecond === undefined
      ? this.#saturate(connections)
      : this.#keepRate(connections, this.#job.perSecond));
    const seconds = (performance.now() - this.#startedAt) / 1000;
    for (const connection of connections) connection.close();
    const { user, system } = process.cpuUsage(cpu);
    const sorted = Float64Array.from(this.#latencies).sort();
    return {
      requests: sorted.length,
      requestsPerSecond: sorted.length / seconds,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      generatorCpu: (user + system) / 1e6 / seconds,
      failure: this.failure ?? (sorted.length === 0 ? "no response" : null),
    };
  }

  async #saturate(connections: readonly Connection[]): Promise<void> {
    for (const connection of connections) this.#send(connection, performance.now());
    await this.#over();
  }

  async #keepRate(connections: readonly Connection[], perSecond: number): Promise<void> {
    this.#idle.push(...connections);
    let due = 0;
    const timer = setInterval(() => {
      const now = performance.now();
      for (; due < ((now - this.#startedAt) * perSecond) / 1000; due++) {
        const connection = this.#idle.pop();
        if (connection) this.#send(connection, now);
        else this.#waiting.push(now);
      }
    }, TICK_MS);
    await this.#over();
    clearInterval(timer);
  }

  #over(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#job.milliseconds));
  }

  /** `startedAt`: when the request was due. */
  #send(connection: Connection, startedAt: number): void {
    const request = this.#sent++ % this.#job.requests.length;
    const text = this.#job.requests[request] ?? "";
    connection.send(text.includes(UNIQUE) ? text.replace(UNIQUE, randomUUID()) : text, request, startedAt);
  }

  #complete(connection: Connection): void {
    const now = performance.now();
    if (now - this.#startedAt > this.#job.milliseconds) return;
    const { status, request } = connection;
    const isRight = this.#job.statuses?.[request]?.includes(status) ?? Math.trunc(status / 100) === 2;
    if (!isRight)
      this.failure ??= `status ${String(status)} of ${this.#job.requests[request]?.split("\r\n")[0] ?? ""}`;
    this.#latencies.push(now - connection.startedAt);
    if (this.#job.perSecond === undefined) return this.#send(connection, now);
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#idle.push(connection);
    else this.#send(connection, waiting);
  }
}

/** Sends one request at a time and finds the end of its response by Content-Length. */
class Connection {
  status = 0;
  /** Number of the request. */
  request = 0;
  startedAt = 0;
  readonly #socket: Socket;
  readonly #complete: (connection: Connection) => void;
  #head = "";
  #missing = 0;

  constructor(port: number, complete: (connection: Connection) => void, fail: (message: string) => void) {
    this.#complete = complete;
    const callback = (size: number, buffer: Uint8Array): boolean => {
      this.#receive((buffer as Buffer).subarray(0, size));
      return true;
    };
    const onread = { buffer: Buffer.allocUnsafe(BUFFER_BYTES), callback };
    this.#socket = connect({ host: "127.0.0.1", port, noDelay: true, onread });
    this.#socket.setTimeout(TIMEOUT_MS, () => this.#socket.destroy(new Error("no response in time")));
    this.#socket.on("error", (error) => fail(error.message));
    this.#socket.on("end", () => fail("the server closed the connection"));
  }

  send(text: string, request: number, startedAt: number): void {
    this.request = request;
    this.startedAt = startedAt;
    this.#socket.write(text, "latin1");
  }

  close(): void {
    this.#socket.removeAllListeners("end").destroy();
  }

  #receive(bytes: Buffer): void {
    if (this.#missing > 0) this.#missing -= bytes.length;
    else if (!this.#readHead(bytes)) return;
    if (this.#missing > 0) return;
    this.#complete(this);
  }

  /** Returns whether the head is complete. A head in several pieces is rare, so that joining texts is cheap enough. */
  #readHead(bytes: Buffer): boolean {
    const end = bytes.indexOf("\r\n\r\n");
    this.#head += bytes.toString("latin1", 0, end === -1 || this.#head !== "" ? bytes.length : end);
    const length =
      this.#head === "" || end === -1 ? undefined : /\r\ncontent-length: *(\d+)/i.exec(this.#head);
    if (length === undefined) return false;
    this.status = Number(this.#head.slice(9, 12));
    this.#missing = Number(length?.[1] ?? 0) - (bytes.length - end - 4);
    this.#head = "";
    return true;
  }
}

process.on("message", (job: Job) => void new Run(job).result().then((result) => process.send?.(result)));
process.on("disconnect", () => process.exit());
