import { WorkerPool, type WorkerPoolOptions } from "./worker-pool.js";
import type { EnvironmentVariables } from "./messages.js";

export interface RampWorkersOptions extends Omit<
  WorkerPoolOptions,
  "role" | "size" | "assignment" | "receive" | "ended"
> {
  readonly dataDir: string;
  readonly variables: EnvironmentVariables;
}

/** The ramp's worker: its own process, so that a crash cannot affect the data API. */
export class RampWorkers {
  readonly pool: WorkerPool;
  #variables: EnvironmentVariables;

  constructor(options: RampWorkersOptions) {
    const { dataDir, dispatcher } = options;
    this.#variables = options.variables;
    this.pool = new WorkerPool({
      ...options,
      role: "ramp",
      size: 1,
      assignment: () => ({ role: "ramp", variables: this.#variables, url: dispatcher.url, dataDir }),
      receive: () => undefined,
      ended: () => undefined,
    });
  }

  /** Restarts the worker. Null, or why the old one keeps serving. */
  async reload(variables: EnvironmentVariables): Promise<string | null> {
    const before = this.#variables;
    this.#variables = variables;
    const restart = await this.pool.restartAll();
    if (restart.ok) return null;
    this.#variables = before;
    return restart.detail;
  }
}
