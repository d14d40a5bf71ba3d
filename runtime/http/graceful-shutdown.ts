import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { resetSocket } from "./reset.js";

/** How long a shutdown waits for running requests. */
const SHUTDOWN_TIMEOUT_MS = 10_000;
/**
 * A connection without traffic for this long is closed. A client that sends often sends within this time, and gets
 * `Connection: close` with the response.
 */
const IDLE_MS = 500;
/** How often a shutdown checks the connections. */
const CHECK_MS = 25;

interface Connection {
  /** The response to its latest request; null before the first one. */
  latest: ServerResponse | null;
}

/** Bytes transferred so far, and the start of the idle time. */
interface Traffic {
  readonly bytes: number;
  readonly idleSince: number;
}

/** Tracks a server's connections, so that a shutdown completes running requests. */
export class GracefulShutdown {
  readonly #open = new Map<Socket, Connection>();
  #hasBegun = false;

  constructor(server: Server) {
    server.on("connection", (socket: Socket) => {
      this.#open.set(socket, { latest: null });
      socket.once("close", () => this.#open.delete(socket));
    });
  }

  /** Must be called for each request before it is handled. */
  track({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection) connection.latest = response;
    // The client sends its next request on a new connection (RFC 9112 §9.6).
    if (this.#hasBegun) response.shouldKeepAlive = false;
  }

  /** Resolves once all are closed: busy ones after their response, idle ones after 500 ms, the rest after 10 s. */
  async run(): Promise<void> {
    this.#hasBegun = true;
    for (const { latest } of this.#open.values())
      if (latest?.headersSent === false) latest.shouldKeepAlive = false;
    const end = performance.now() + SHUTDOWN_TIMEOUT_MS;
    const seen = new Map<Socket, Traffic>();
    while (this.#open.size > 0) {
      this.#check(seen, end);
      await sleep(CHECK_MS);
      // Reads what has arrived: closing a connection with unread data resets it.
      await nextTurn();
    }
  }

  #check(seen: Map<Socket, Traffic>, end: number): void {
    const now = performance.now();
    for (const [socket, connection] of this.#open) {
      const bytes = socket.bytesRead + socket.bytesWritten;
      const before = seen.get(socket);
      const isIdle = before?.bytes === bytes && !isBusy(socket, connection);
      const idleSince = isIdle ? before.idleSince : now;
      seen.set(socket, { bytes, idleSince });
      if (now >= end && isBusy(socket, connection)) resetSocket(socket);
      else if (now >= end || now - idleSince >= IDLE_MS) socket.destroy();
    }
  }
}

/** Whether a request is running or arriving. */
function isBusy(socket: Socket, { latest }: Connection): boolean {
  return latest === null ? socket.bytesRead > 0 : !latest.writableFinished;
}
