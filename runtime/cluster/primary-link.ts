import type { Socket } from "node:net";
import type { ConnectionSource } from "../http/server.js";
import type { Question, ToPrimary, ToWorker } from "./messages.js";
import { Questions } from "./questions.js";

/** How often the primary is told how many connections are open, where it is not told with a new one. */
const TELL_OPEN_MS = 100;

/** The primary, as a worker process sees it. */
export class PrimaryLink {
  readonly #questions = new Questions();
  readonly #sockets = new Set<Socket>();
  #accept: (socket: Socket) => void = (socket) => void socket.destroy();
  #timer: NodeJS.Timeout | null = null;

  /** `done`: called once it is sent. */
  tell(message: ToPrimary, done: () => void = () => undefined): void {
    process.send?.(message, undefined, undefined, done);
  }

  ask<T>(question: Question): Promise<T> {
    return this.#questions.ask<T>((id) => this.tell({ kind: "question", id, question }));
  }

  /** The primary has answered a question. */
  answered({ id, value }: Extract<ToWorker, { kind: "answer" }>): void {
    this.#questions.settle(id, value);
  }

  /** The connections that the primary hands over; `url` is its address. */
  intakeAt(url: string): ConnectionSource {
    return (accept) => {
      this.#accept = accept;
      return Promise.resolve({ url, close: () => undefined });
    };
  }

  /** Takes a connection; a caller who has gone has left none. */
  take(id: number, socket: Socket | undefined): void {
    if (socket) this.#sockets.add(socket);
    this.tell({ kind: "taken", id, open: this.#sockets.size });
    if (!socket) return;
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#timer ??= setTimeout(() => this.#tellOpen(), TELL_OPEN_MS);
    });
    this.#accept(socket);
  }

  #tellOpen(): void {
    this.#timer = null;
    this.tell({ kind: "open", open: this.#sockets.size });
  }
}
