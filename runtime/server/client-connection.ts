import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ServerLimits } from "./limits.js";
import { ReadProgress } from "./slow-readers.js";

/** Writes the response, head and body, to what cannot become a request. The connection closes after it. */
export type EarlyError = (status: number, socket: Socket) => Promise<string>;

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Node's keep-alive timer fires first. This one catches clients that keep resetting it, for example with empty lines. */
const KEEP_ALIVE_GRACE_MS = 3000;

/**
 * One client's connection. Pipelined requests run one after the other: pending results and unread responses take memory,
 * and the client must not choose how much.
 */
export class ClientConnection {
  readonly socket: Socket;
  readonly #limits: ServerLimits;
  readonly #earlyError: EarlyError;
  /** The request that is running, or that ran last. */
  #current: Exchange | null = null;
  /** The request received last. */
  #latest: Exchange | null = null;
  readonly #waiting: (() => void)[] = [];
  /** Whether no further request is accepted. */
  #isClosing = false;
  /** Deadline for closing, while it is closing. */
  #endsAt = Infinity;
  /** Start of the idle time; null while a request runs. */
  #idleSince: number | null = performance.now();
  readonly #progress = new ReadProgress();

  constructor(socket: Socket, limits: ServerLimits, earlyError: EarlyError) {
    this.socket = socket;
    this.#limits = limits;
    this.#earlyError = earlyError;
    // Node calls `destroySoon` after a response with `Connection: close`. While a request body still arrives that would
    // reset the socket and lose the response: of 50 clients that sent 4 MB before they read, all got their 413, and
    // without this none. Node has no other hook.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => this.#close(destroySoon);
  }

  /** Whether no response is pending. */
  get isIdle(): boolean {
    if (this.#endsAt < Infinity) return true;
    const response = this.#current?.response;
    return this.#waiting.length === 0 && (!response || response.writableFinished || response.destroyed);
  }

  /** Start of the idle time by `performance.now()`; infinity while a request runs. */
  get idleSince(): number {
    return this.#idleSince ?? Infinity;
  }

  /** Runs a request after those before it. With too many pipelined requests the connection closes after the accepted ones. */
  enqueue(exchange: Exchange, run: () => void): void {
    if (this.#isClosing) return;
    if (!this.isIdle && this.#waiting.length >= this.#limits.pipelined) {
      this.#isClosing = true;
      if (this.#latest) this.#latest.response.shouldKeepAlive = false;
      return void this.socket.pause();
    }
    this.#latest = exchange;
    this.#inTurn(() => {
      this.#current = exchange;
      this.#idleSince = null;
      run();
    });
  }

  /** Rejects the latest request, or input that is no request, after the responses before it. */
  fail(status: number): void {
    if (this.#isClosing) return;
    const { request, response } = this.#latest ?? {};
    const isInBody = request?.complete === false;
    // A load balancer that opens spare connections would take an error for the response to its first request.
    if (this.socket.bytesRead === 0 || (isInBody && response?.headersSent)) {
      this.socket.destroy();
    } else if (isInBody && this.#latest === this.#current) {
      this.reject(status, response);
    } else {
      if (isInBody) this.#waiting.pop();
      this.#inTurn(() => this.reject(status));
      this.#isClosing = true;
    }
  }

  /** Sends an error as the last response; only closes if `response` has begun. */
  reject(status: number, response?: ServerResponse): void {
    this.#beginClose();
    void this.#earlyError(status, this.socket).then((text) =>
      this.socket.end(response?.headersSent ? "" : text),
    );
  }

  /** Closes the connection when it has exceeded a limit. */
  check(now: number): void {
    if (now >= this.#endsAt || this.#isIdleTooLong(now)) this.socket.destroy();
    else if (this.#progress.isBelow(this.#limits.minimumRate, this.socket, now)) {
      if (this.#current === null) resetSocket(this.socket);
      else resetConnection(this.#current.response, new Error("The client reads too slowly."));
    }
  }

  #isIdleTooLong(now: number): boolean {
    if (!this.isIdle) return false;
    this.#idleSince ??= now;
    return now - this.#idleSince >= this.#limits.keepAliveMs + KEEP_ALIVE_GRACE_MS;
  }

  #inTurn(run: () => void): void {
    if (this.isIdle) return run();
    this.#waiting.push(run);
    if (this.#waiting.length === 1) this.#current?.response.once("close", this.#next);
  }

  readonly #next = (): void => {
    const run = this.#waiting.shift();
    if (!run || this.socket.destroyed) return;
    run();
    if (this.#waiting.length > 0) this.#current?.response.once("close", this.#next);
  };

  #close(destroySoon: () => void): void {
    this.#beginClose();
    if (this.#latest?.request.complete === false) this.socket.end();
    else destroySoon();
  }

  #beginClose(): void {
    this.#isClosing = true;
    this.#waiting.length = 0;
    this.#endsAt = performance.now() + this.#limits.lingerMs;
  }
}

/** Share of the connections that is evicted at a time: finding idle ones scans all of them. */
const EVICTED_SHARE = 1 / 100;

/** Without a listener an error on a connection would end the process. */
const ignored = (): void => undefined;

/**
 * The connections of a server. At the limit new connections evict idle ones, so that a flood of idle connections cannot
 * block other clients.
 */
export class OpenConnections {
  readonly #limits: ServerLimits;
  readonly #earlyError: EarlyError;
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

  #evictIdle(): void {
    const most = Math.max(1, Math.floor(this.#limits.connections * EVICTED_SHARE));
    const idle = [...this.#open.values()].filter(({ isIdle }) => isIdle);
    for (const { socket } of longestIdle(idle, most)) {
      this.#open.delete(socket);
      socket.destroy();
    }
  }
}

/** The longest idle connections: of the address with the most idle ones, or of all if no address has more than `most`. */
function longestIdle(idle: readonly ClientConnection[], most: number): readonly ClientConnection[] {
  const largest = largestGroup(idle);
  const candidates = largest.length > most ? [...largest] : [...idle];
  return candidates.sort((a, b) => (a.idleSince < b.idleSince ? -1 : 1)).slice(0, most);
}

function largestGroup(connections: readonly ClientConnection[]): readonly ClientConnection[] {
  const byAddress = new Map<string, ClientConnection[]>();
  for (const connection of connections) {
    const address = connection.socket.remoteAddress ?? "";
    const group = byAddress.get(address);
    if (group) group.push(connection);
    else byAddress.set(address, [connection]);
  }
  return [...byAddress.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
}

/**
 * Aborts a response; `reason` becomes its `errored`. An orderly close would end a body without a length as if it were
 * complete (HTTP/1.0, which proxies use); a reset does not.
 */
export function resetConnection(response: ServerResponse, reason: Error): void {
  if (response.socket !== null) resetSocket(response.socket);
  response.destroy(reason);
}

export function resetSocket(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    // Only TCP sockets can be reset.
    socket.destroy();
  }
}
