import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/** How long a stop waits for requests under way. */
const DRAIN_MS = 10_000;
/**
 * A connection that nothing came over for this long is closed. A caller that is about to send a request on one would
 * lose it: whoever sends again and again does so sooner than this, and is told to leave with the answer.
 */
const QUIET_MS = 500;
/** How often a stop looks at its connections. */
const LOOK_MS = 25;

interface Connection {
  /** The answer to its latest request; null before the first one. */
  latest: ServerResponse | null;
}

/** What a stop has seen of a connection. */
interface Sight {
  readonly bytes: number;
  /** Since when nothing came or went, in milliseconds. */
  readonly since: number;
}

/** The connections of a server, which it lets go of when it stops without cutting anybody off. */
export class Connections {
  readonly #open = new Map<Socket, Connection>();
  #draining = false;

  constructor(server: Server) {
    server.on("connection", (socket: Socket) => {
      this.#open.set(socket, { latest: null });
      socket.once("close", () => this.#open.delete(socket));
    });
  }

  /** Told of each request before it is handled. */
  note({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection) connection.latest = response;
    // The caller learns that its next request belongs elsewhere (RFC 9112 §9.6).
    if (this.#draining) response.shouldKeepAlive = false;
  }

  /** Resolves once all are closed: each after its answer, those that are quiet by and by, the rest when time is up. */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const { latest } of this.#open.values())
      if (latest?.headersSent === false) latest.shouldKeepAlive = false;
    const end = performance.now() + DRAIN_MS;
    const seen = new Map<Socket, Sight>();
    while (this.#open.size > 0) {
      this.#look(seen, end);
      await sleep(LOOK_MS);
      // What has arrived meanwhile is read first: to close a connection with something unread in it is to reset it.
      await nextTurn();
    }
  }

  #look(seen: Map<Socket, Sight>, end: number): void {
    const now = performance.now();
    for (const [socket, connection] of this.#open) {
      const bytes = socket.bytesRead + socket.bytesWritten;
      const before = seen.get(socket);
      const since = before?.bytes === bytes && !isUnderWay(socket, connection) ? before.since : now;
      seen.set(socket, { bytes, since });
      if (now >= end || now - since >= QUIET_MS) socket.destroy();
    }
  }
}

/** Whether a request is, or is on its way in. */
function isUnderWay(socket: Socket, { latest }: Connection): boolean {
  return latest === null ? socket.bytesRead > 0 : !latest.writableFinished;
}
