import { Server } from "node:net";
import { Timer } from "../model/timer.js";
import type { OpenConnections } from "./open-connections.js";

const RETRY_MS = 1_000;

/** The connections of a server whose port other processes accept from too. */
export class SharedConnections {
  readonly #server: Server;
  readonly #connections: OpenConnections;
  readonly #listen: () => Promise<unknown>;
  #pause: Timer | null = null;
  #last: Promise<void> = Promise.resolve();

  /** `listen`: makes the server listen on its port again. */
  constructor(server: Server, connections: OpenConnections, listen: () => Promise<unknown>) {
    this.#server = server;
    this.#connections = connections;
    this.#listen = listen;
  }

  /** How many are open. */
  get open(): number {
    return this.#connections.open;
  }

  onAccepted(act: () => void): void {
    this.#server.on("connection", act);
  }

  /** Leaves new ones to the other processes for so long; 0 ends a pause. Those that are open stay. */
  pauseAccepting(milliseconds: number): Promise<void> {
    this.#pause?.stop();
    // A server whose `listen` is under way is neither listening nor can it listen again.
    this.#last = this.#last.then(() => (milliseconds === 0 ? this.#accept() : this.#leave(milliseconds)));
    return this.#last;
  }

  /** So many close with their next response. */
  closeNext(count: number): void {
    this.#connections.closeNext = count;
  }

  #leave(milliseconds: number): void {
    this.#acceptIn(milliseconds);
    Server.prototype.close.call(this.#server);
  }

  #acceptIn(milliseconds: number): void {
    this.#pause = new Timer(milliseconds, () => void this.pauseAccepting(0));
  }

  async #accept(): Promise<void> {
    if (this.#server.listening || this.#connections.isStopping) return;
    // A host's name that is not found now, or no free descriptor: later again.
    await this.#listen().catch(() => this.#acceptIn(RETRY_MS));
  }
}
