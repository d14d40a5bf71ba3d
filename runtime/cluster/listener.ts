import { createServer, type Server, type Socket } from "node:net";
import { bind } from "../http/server.js";

/** A connection that no worker has taken by then is closed. */
const WAIT_MS = 30_000;
/** Connections that a worker has not yet confirmed: with more of them, one that is busy would keep others waiting. */
const IN_HAND = 4;

/** A process that takes connections. */
export interface ConnectionWorker {
  /** The taker says that it has it by `taken`. */
  hand(id: number, socket: Socket): void;
}

interface Place {
  readonly inHand: Map<number, Socket>;
  /** Connections that it has, as far as it has told. */
  open: number;
  /** Number of the latest connection that it was given. */
  latest: number;
  /** Whether it takes more. */
  isTaking: boolean;
}

/**
 * A port, and the processes that share its connections. The port is the primary's own and open as long as that one
 * lives, so no caller is refused while workers come and go; a connection goes to the worker that has the fewest.
 *
 * `node:cluster` has a distribution of its own, but there the port closes when the last worker dies, and a caller who is
 * being handed to a worker that dies waits for ever. Here such a connection is handed to another worker.
 */
export class ConnectionDispatcher {
  readonly url: string;
  readonly #server: Server;
  readonly #places = new Map<ConnectionWorker, Place>();
  readonly #waiting = new Set<Socket>();
  #last = 0;
  #inHand = IN_HAND;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
    server.on("connection", (socket: Socket) => this.#receive(socket));
  }

  /** Rejects with what to do when the port cannot be had. */
  static async open(host: string, port: number): Promise<ConnectionDispatcher> {
    // What a connection carries is read by the worker alone.
    const server = createServer({ pauseOnConnect: true, noDelay: true });
    return new ConnectionDispatcher(server, await bind(server, host, port));
  }

  /** From here on the taker is given connections. */
  join(taker: ConnectionWorker): void {
    this.#places.set(taker, { inHand: new Map(), open: 0, latest: 0, isTaking: true });
    this.#handOut();
  }

  /** From here on the taker is given no more. */
  leave(taker: ConnectionWorker): void {
    const place = this.#places.get(taker);
    if (place) place.isTaking = false;
  }

  /** The taker is gone; what it had not confirmed goes to others. */
  lost(taker: ConnectionWorker): void {
    const place = this.#places.get(taker);
    this.#places.delete(taker);
    for (const socket of place?.inHand.values() ?? []) this.#waiting.add(socket);
    this.#handOut();
  }

  /** The taker has a connection that it was handed. */
  taken(taker: ConnectionWorker, id: number): void {
    const place = this.#places.get(taker);
    place?.inHand.get(id)?.destroy();
    place?.inHand.delete(id);
  }

  /** How many connections the taker has. */
  opened(taker: ConnectionWorker, open: number): void {
    const place = this.#places.get(taker);
    if (place) place.open = open;
    this.#handOut();
  }

  /** Closes the port. What is waiting goes to those who take connections; it is closed where there are none. */
  close(): void {
    this.#server.close();
    this.#inHand = Infinity;
    this.#handOut();
    for (const socket of this.#waiting) socket.destroy();
  }

  #receive(socket: Socket): void {
    // A caller who has gone is no concern of ours.
    socket.on("error", () => undefined);
    socket.setTimeout(WAIT_MS, () => socket.destroy());
    socket.once("close", () => this.#waiting.delete(socket));
    this.#waiting.add(socket);
    this.#handOut();
  }

  #handOut(): void {
    for (const socket of this.#waiting) {
      const next = this.#next();
      if (next === null) return;
      const [taker, place] = next;
      this.#waiting.delete(socket);
      if (socket.destroyed) continue;
      place.latest = ++this.#last;
      place.inHand.set(this.#last, socket);
      taker.hand(this.#last, socket);
    }
  }

  /** Who has the fewest connections, among equals the one whose last is the longest ago; null while all are busy. */
  #next(): [ConnectionWorker, Place] | null {
    let best: [ConnectionWorker, Place] | null = null;
    for (const each of this.#places) {
      const [, place] = each;
      if (!place.isTaking || place.inHand.size >= this.#inHand) continue;
      if (best === null || comesBefore(place, best[1])) best = each;
    }
    return best;
  }
}

function comesBefore(a: Place, b: Place): boolean {
  const difference = a.open + a.inHand.size - (b.open + b.inHand.size);
  return difference === 0 ? a.latest < b.latest : difference < 0;
}
