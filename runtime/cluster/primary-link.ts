import type { Socket } from "node:net";
import type { ConnectionSource } from "../http/listen.js";
import { type WorkerRequest, type ToPrimary, type ToWorker, PendingRequests } from "./messages.js";
/** How often the number of open connections is sent, where no new connection sends it. */
const OPEN_INTERVAL_MS = 100;

/** The primary, as a worker process sees it. */
export class PrimaryLink {
  readonly #requests = new PendingRequests();
  readonly #sockets = new Set<Socket>();
  #accept: (socket: Socket) => void = (socket) => void socket.destroy();
  #timer: NodeJS.Timeout | null = null;

  /** `done`: called once it is sent. */
  send(message: ToPrimary, done: () => void = () => undefined): void {
    process.send?.(message, undefined, undefined, done);
  }

  ask<T>(request: WorkerRequest): Promise<T> {
    return this.#requests.ask<T>((id) => this.send({ kind: "request", id, request }));
  }

  /** The primary has responded to a request. */
  responded({ id, value }: Extract<ToWorker, { kind: "answer" }>): void {
    this.#requests.settle(id, value);
  }

  /** The connections that the primary hands over; `url` is its address. */
  intakeAt(url: string): ConnectionSource {
    return (accept) => {
      this.#accept = accept;
      return Promise.resolve({ url, close: () => undefined });
    };
  }

  /** Receives a connection; it is undefined when the client disconnected on the way. */
  take(id: number, socket: Socket | undefined): void {
    if (socket) this.#sockets.add(socket);
    this.send({ kind: "accepted", id, open: this.#sockets.size });
    if (!socket) return;
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#timer ??= setTimeout(() => this.#sendOpen(), OPEN_INTERVAL_MS);
    });
    this.#accept(socket);
  }

  #sendOpen(): void {
    this.#timer = null;
    this.send({ kind: "open", open: this.#sockets.size });
  }
}
