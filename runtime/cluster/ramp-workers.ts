import { WorkerPool, type WorkerPoolOptions } from "./worker-pool.js";
import type { EnvironmentVariables } from "./messages.js";

export interface RampWorkersOptions extends Omit<
  WorkerPoolOptions,
  "role" | "size" | "assignment" | "receive" | "ended"
> {
  readonly dataDir: string;
  readonly variables: EnvironmentVariables;
}

/** The ramp's worker: one process of its own, so that nothing that befalls it befalls the data API. */
export class RampWorkers {
  readonly crew: WorkerPool;
  #variables: EnvironmentVariables;

  constructor(options: RampWorkersOptions) {
    const { dataDir, front } = options;
    this.#variables = options.variables;
    this.crew = new WorkerPool({
      ...options,
      role: "ramp",
      size: 1,
      assignment: () => ({ role: "ramp", variables: this.#variables, url: front.url, dataDir }),
      receive: () => undefined,
      ended: () => undefined,
    });
  }

  /** Renews the worker; null, or why the old one goes on. */
  async reload(variables: EnvironmentVariables): Promise<string | null> {
    const before = this.#variables;
    this.#variables = variables;
    const rolled = await this.crew.roll();
    if (rolled.ok) return null;
    this.#variables = before;
    return rolled.detail;
  }
}
