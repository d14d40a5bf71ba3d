import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { readFileSync } from "node:fs";
import { resetConnection, resetSocket } from "./send.js";

/** How long a shutdown waits for running requests. */
const SHUTDOWN_TIMEOUT_MS = 10_000;
/**
 * A connection without a request for this long is closed. A client that sends often sends within this time, and gets
 * `Connection: close` with the response. node:http closes idle ones at once: 40 of 13,340 requests were reset, here none.
 */
const IDLE_MS = 500;
/** How often a shutdown checks the connections. */
const CHECK_MS = 25;

/** Share of the connections that is evicted at a time: finding idle ones scans all of them. */
const EVICTED_SHARE = 1 / 100;

/** Without a listener an error on a connection would end the process. */
const ignored = (): void => undefined;

/**
 * The connections of a server. At the limit new connections evict idle and unfinished ones: 1,500 idle connections to a
 * process with 1,024 file descriptors would block all other clients.
 */
export class OpenConnections {
  isStopping = false;
  readonly #limits: ServerLimits;
  readonly #earlyError: EarlyError;
  /** Bounded by the connections that the server accepts. */
  readonly #open = new Map<Socket, ClientConnection>();

  constructor(limits: ServerLimits, earlyError: EarlyError) {
    this.#limits = limits;
    this.#earlyError = earlyError;
  }

  add(socket: Socket): void {
    socket.on("error", ignored);
    if (this.#open.size >= this.#limits.connections) this.#evictIdle();
    if (this.#open.size >= this.#limits.connections) {
      void this.#earlyError(503, socket).then((text) => socket.end(text).destroySoon());
      return;
    }
    this.#open.set(socket, new ClientConnection(socket, this.#limits, this.#earlyError));
    socket.once("close", () => this.#open.delete(socket));
  }

  /** Undefined for a rejected connection. */
  of(socket: Socket): ClientConnection | undefined {
    return this.#open.get(socket);
  }

  /** Closes connections that have exceeded a limit. */
  check(): void {
    const now = performance.now();
    for (const connection of this.#open.values()) connection.check(now);
  }

  /** Resolves once all are closed: busy ones after their response, idle ones after 500 ms, the rest after 10 s. */
  async shutDown(): Promise<void> {
    this.isStopping = true;
    for (const connection of this.#open.values()) connection.announceClose();
    const start = performance.now();
    while (this.#open.size > 0) {
      const now = performance.now();
      for (const [socket, { isIdle, idleSince }] of this.#open) {
        if (now - start >= SHUTDOWN_TIMEOUT_MS) resetSocket(socket);
        else if (isIdle && now - Math.max(start, idleSince) >= IDLE_MS) socket.destroy();
      }
      await sleep(CHECK_MS);
      // Reads what has arrived: closing a connection with unread data resets it.
      await nextTurn();
    }
  }

  /**
   * Closes the longest idle ones, of all addresses: beside 1,000 new connections a second of one address, with a limit of
   * 400, none of 673 requests of another's 20 clients failed. They connected again (514 times).
   */
  #evictIdle(): void {
    const most = Math.max(1, Math.floor(this.#limits.connections * EVICTED_SHARE));
    const idle = [...this.#open].filter(([, { isIdle }]) => isIdle);
    for (const [socket] of idle.sort(([, a], [, b]) => a.idleSince - b.idleSince).slice(0, most)) {
      this.#open.delete(socket);
      socket.destroy();
    }
  }
}

/** Statuses of input that is no request, arrives too late, or asks for what no request gets. */
export type EarlyStatus = 400 | 408 | 413 | 417 | 431 | 503;

/** Writes the response, head and body, to what cannot become a request. The connection closes after it. */
export type EarlyError = (status: EarlyStatus, socket: Socket) => Promise<string>;

/** One client's connection: what node:http leaves open of it. */
class ClientConnection {
  readonly #socket: Socket;
  readonly #limits: ServerLimits;
  readonly #earlyError: EarlyError;
  /** The request received last. */
  #latest: { readonly request: IncomingMessage; readonly response: ServerResponse } | null = null;
  /** Responses that are not complete. */
  #pending = 0;
  /** Deadline for closing, while it is closing. */
  #endsAt = Infinity;
  /** What the client had taken at the start of the current window, and that start. */
  #taken = 0;
  #windowStart = performance.now();
  /** Start of the idle time. */
  idleSince = performance.now();

  constructor(socket: Socket, limits: ServerLimits, earlyError: EarlyError) {
    this.#socket = socket;
    this.#limits = limits;
    this.#earlyError = earlyError;
    // Node calls `destroySoon` after a response with `Connection: close`. While a request body still arrives that would
    // reset the socket and lose the response: of 50 clients that sent 4 MB before they read, all got their 413, and
    // without this one. Node has no other hook.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      this.#beginClose();
      if (this.#latest?.request.complete === false) socket.end();
      else destroySoon();
    };
  }

  /** Whether no response is pending. */
  get isIdle(): boolean {
    return this.#endsAt < Infinity || this.#pending === 0;
  }

  /** Whether a request may run. Past the limit of pipelined ones the connection closes. */
  accept(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#endsAt < Infinity) return false;
    if (this.#pending >= this.#limits.pipelined) {
      this.#socket.destroy();
      return false;
    }
    this.#latest = { request, response };
    this.#pending++;
    response.once("close", () => {
      this.#pending--;
      this.idleSince = performance.now();
    });
    return true;
  }

  /** The response to the latest request says that the connection closes, if it has not begun (RFC 9112 §9.6). */
  announceClose(): void {
    if (this.#latest?.response.headersSent === false) this.#latest.response.shouldKeepAlive = false;
  }

  /** Rejects the latest request, or input that is no request. */
  fail(status: EarlyStatus): void {
    if (this.#endsAt < Infinity) return;
    const response = this.#latest?.request.complete === false ? this.#latest.response : undefined;
    // A client would take the error for the response to a request before it; a load balancer that opens spare connections,
    // for the response to its first.
    if (this.#socket.bytesRead === 0 || response?.headersSent || this.#pending > (response ? 1 : 0))
      this.#socket.destroy();
    else {
      this.#beginClose();
      void this.#earlyError(status, this.#socket).then((text) =>
        this.#socket.end(response?.headersSent ? "" : text),
      );
    }
  }

  /** Closes the connection when it has exceeded a limit. */
  check(now: number): void {
    const { bytes, windowMs } = this.#limits.minimumRate;
    const taken = takenBytes(this.#socket);
    if (this.#socket.writableLength === 0 || taken - this.#taken >= bytes) {
      this.#taken = taken;
      this.#windowStart = now;
    }
    if (now >= this.#endsAt) this.#socket.destroy();
    else if (now - this.#windowStart < windowMs) return;
    else if (this.#latest === null) resetSocket(this.#socket);
    else resetConnection(this.#latest.response, new Error("The client reads too slowly."));
  }

  #beginClose(): void {
    this.#endsAt = performance.now() + this.#limits.lingerMs;
  }
}

/**
 * Bytes that the system has taken for the client. Of a body that is one write, `bytesWritten` and `writableLength` show no
 * progress before its end; Node's own timeout of a socket reads the same two counters.
 */
function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number; writeQueueSize: number } | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : socket.bytesWritten;
}

/** 10,000 idle connections take about 150 MB. */
const MAX_CONNECTIONS = 10_000;
/** Other file descriptors of a process: connections to databases, logs, modules. */
const OTHER_FILES = 200;
/** Servers of one process: the data API and the ramp. */
const SERVERS = 2;

/** Limits per client and per server; times are in milliseconds. */
export const SERVER_LIMITS = {
  /** Time to receive a request's headers. */
  headersMs: 10_000,
  /** Time to receive a whole request, including its body. */
  requestMs: 30_000,
  /** Without a request. Longer than the idle timeout of common load balancers (60 s): the load balancer must close first. */
  keepAliveMs: 65_000,
  /**
   * What a client must take in each window while more waits for it, or its connection is reset: about 9 kB/s, as an average
   * that allows a pause of two minutes. What waits takes memory, disk and a place of its caller's share
   * (runtime/docs/limits.md): 100 clients that read nothing of 1.9 MB held it for 10 minutes, and clients that read a byte
   * per minute for ever.
   */
  minimumRate: { bytes: 1024 * 1024, windowMs: 120_000 },
  /** Time for the client of a closing connection to read its last response. */
  lingerMs: 5_000,
  /** Interval of the checks. */
  checkMs: 1_000,
  /** Open connections; new ones beyond it evict idle ones. */
  connections: maxConnections(),
  /** Requests that may be pending on one connection: their results wait in memory. Load generators send 16 at a time. */
  pipelined: 20,
};

export type ServerLimits = typeof SERVER_LIMITS;

/** Keeps file descriptors free for everything else, such as database connections. */
function maxConnections(): number {
  const share = Math.floor((openFilesLimit() - OTHER_FILES) / SERVERS);
  return Math.max(1, Math.min(MAX_CONNECTIONS, share));
}

/** The limit on open files on Linux. On other systems Node raises it to the maximum. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}
