import { createServer, type Server, type Socket } from "node:net";
import { bind } from "../../server/listen.js";

/** A connection that no worker accepts within this time is closed. */
const WAIT_MS = 30_000;
/** Connections sent to a worker and not yet accepted; more would wait behind a busy worker. */
const MAX_UNCONFIRMED = 4;

/** A process that accepts connections. */
export interface ConnectionWorker {
  /** The worker confirms with `accepted`. */
  dispatch(id: number, socket: Socket): void;
}

interface Slot {
  readonly unconfirmed: Map<number, Socket>;
  /** Open connections, as last reported. */
  open: number;
  /** Number of the latest connection sent to it. */
  latest: number;
  /** Whether it gets more. */
  isAccepting: boolean;
}

/**
 * A port whose connections go to the worker with the fewest. The primary listens, so the port stays open while workers
 * restart.
 *
 * `node:cluster` dispatches connections too, but there the port closes when the last worker dies, and a connection on its
 * way to a worker that dies is lost. Here it goes to another worker.
 */
export class ConnectionDispatcher {
  readonly url: string;
  readonly #server: Server;
  readonly #slots = new Map<ConnectionWorker, Slot>();
  readonly #waiting = new Set<Socket>();
  #last = 0;
  #maxUnconfirmed = MAX_UNCONFIRMED;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
    server.on("connection", (socket: Socket) => this.#receive(socket));
  }

  /** Rejects with what to do when the port cannot be opened. */
  static async open(host: string, port: number): Promise<ConnectionDispatcher> {
    // Only the worker reads from the connection.
    const server = createServer({ pauseOnConnect: true, noDelay: true });
    return new ConnectionDispatcher(server, await bind(server, host, port));
  }

  /** Starts to send connections to a worker. */
  add(worker: ConnectionWorker): void {
    this.#slots.set(worker, { unconfirmed: new Map(), open: 0, latest: 0, isAccepting: true });
    this.#dispatchWaiting();
  }

  /** Sends no more connections to a worker. */
  stopDispatching(worker: ConnectionWorker): void {
    const slot = this.#slots.get(worker);
    if (slot) slot.isAccepting = false;
  }

  /** The worker has ended; connections it had not accepted go to others. */
  remove(worker: ConnectionWorker): void {
    const slot = this.#slots.get(worker);
    this.#slots.delete(worker);
    for (const socket of slot?.unconfirmed.values() ?? []) this.#waiting.add(socket);
    this.#dispatchWaiting();
  }

  /** The worker has received a connection. */
  accepted(worker: ConnectionWorker, id: number): void {
    const slot = this.#slots.get(worker);
    slot?.unconfirmed.get(id)?.destroy();
    slot?.unconfirmed.delete(id);
  }

  /** Records how many connections a worker has. */
  opened(worker: ConnectionWorker, open: number): void {
    const slot = this.#slots.get(worker);
    if (slot) slot.open = open;
    this.#dispatchWaiting();
  }

  /** Closes the port. Waiting connections go to the workers; without any they are closed. */
  close(): void {
    this.#server.close();
    this.#maxUnconfirmed = Infinity;
    this.#dispatchWaiting();
    for (const socket of this.#waiting) socket.destroy();
  }

  #receive(socket: Socket): void {
    // Client disconnected; not an error.
    socket.on("error", () => undefined);
    socket.setTimeout(WAIT_MS, () => socket.destroy());
    socket.once("close", () => this.#waiting.delete(socket));
    this.#waiting.add(socket);
    this.#dispatchWaiting();
  }

  #dispatchWaiting(): void {
    for (const socket of this.#waiting) {
      const next = this.#next();
      if (next === null) return;
      const [worker, slot] = next;
      this.#waiting.delete(socket);
      if (socket.destroyed) continue;
      slot.latest = ++this.#last;
      slot.unconfirmed.set(this.#last, socket);
      worker.dispatch(this.#last, socket);
    }
  }

  /** The worker with the fewest connections, at equal numbers the one that waits longest; null while all are busy. */
  #next(): [ConnectionWorker, Slot] | null {
    let best: [ConnectionWorker, Slot] | null = null;
    for (const each of this.#slots) {
      const [, slot] = each;
      if (!slot.isAccepting || slot.unconfirmed.size >= this.#maxUnconfirmed) continue;
      if (best === null || comesBefore(slot, best[1])) best = each;
    }
    return best;
  }
}

function comesBefore(a: Slot, b: Slot): boolean {
  const difference = a.open + a.unconfirmed.size - (b.open + b.unconfirmed.size);
  return difference === 0 ? a.latest < b.latest : difference < 0;
}
