import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { resetSocket } from "./reset.js";

/** How long a stop waits for requests under way. */
const DRAIN_MS = 10_000;
/**
 * A connection with no traffic for this long is closed; a request that is about to be sent on it is lost. Clients that send
 * often do so sooner than this, and get `Connection: close` with the response.
 */
const IDLE_MS = 500;
/** How often a stop checks its connections. */
const CHECK_MS = 25;

interface Connection {
  /** The response to its latest request; null before the first one. */
  latest: ServerResponse | null;
}

/** A connection's traffic so far, and since when there was none, in milliseconds. */
interface Traffic {
  readonly bytes: number;
  readonly idleSince: number;
}

/** The connections of a server, for a stop that cuts no request off. */
export class Connections {
  readonly #open = new Map<Socket, Connection>();
  #draining = false;

  constructor(server: Server) {
    server.on("connection", (socket: Socket) => {
      this.#open.set(socket, { latest: null });
      socket.once("close", () => this.#open.delete(socket));
    });
  }

  /** Must be called with each request before it is handled. */
  note({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection) connection.latest = response;
    // The client sends its next request on a new connection (RFC 9112 §9.6).
    if (this.#draining) response.shouldKeepAlive = false;
  }

  /** Resolves once all are closed: busy ones after their response, idle ones after 500 ms, the rest after 10 s. */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const { latest } of this.#open.values())
      if (latest?.headersSent === false) latest.shouldKeepAlive = false;
    const end = performance.now() + DRAIN_MS;
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
      const isIdle = before?.bytes === bytes && !isUnderWay(socket, connection);
      const idleSince = isIdle ? before.idleSince : now;
      seen.set(socket, { bytes, idleSince });
      if (now >= end && isUnderWay(socket, connection)) resetSocket(socket);
      else if (now >= end || now - idleSince >= IDLE_MS) socket.destroy();
    }
  }
}

/** Whether a request is, or is on its way in. */
function isUnderWay(socket: Socket, { latest }: Connection): boolean {
  return latest === null ? socket.bytesRead > 0 : !latest.writableFinished;
}
