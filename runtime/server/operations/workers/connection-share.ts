import type { SharedConnections } from "../../../core/http/shared-connections.js";
import type { WorkerFunctions } from "./messages.js";

/** Between two questions to the primary: a caller that makes a connection for each request would cause one for each. */
const QUESTION_MS = 25;

/** Of a worker: asks the primary as soon as it has more connections than its limit. */
export class ConnectionShare {
  readonly #connections: SharedConnections;
  readonly #shareOf: (open: number) => Promise<number>;
  #limit = 1;
  #isAsking = false;

  constructor(connections: SharedConnections, shareOf: (open: number) => Promise<number>) {
    this.#connections = connections;
    this.#shareOf = shareOf;
    connections.onAccepted(() => {
      if (!this.#isAsking && connections.open > this.#limit) void this.#ask();
    });
  }

  /** What the primary calls. */
  get functions(): Pick<WorkerFunctions, "connections" | "limitConnections" | "pauseAccepting"> {
    return {
      connections: () => Promise.resolve(this.#connections.open),
      limitConnections: (limit) => Promise.resolve(this.#keepTo(limit)),
      pauseAccepting: (milliseconds) => this.#connections.pauseAccepting(milliseconds),
    };
  }

  #keepTo(limit: number): void {
    this.#limit = limit;
    this.#connections.closeNext(Math.max(0, Math.floor(this.#connections.open - limit)));
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    // Of a primary that does not answer the limit stays.
    this.#limit = await this.#shareOf(this.#connections.open).catch(() => this.#limit);
    setTimeout(() => (this.#isAsking = false), QUESTION_MS).unref();
  }
}
