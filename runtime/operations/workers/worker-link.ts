import cluster from "node:cluster";
import type { MetricsSnapshot } from "./worker-metrics.js";
import { type Message, MessageChannel, type PrimaryFunctions, type WorkerFunctions } from "./messages.js";

/** What a worker lets the primary do. */
export type ServedFunctions = Omit<WorkerFunctions, "stop" | "exit" | "ping">;

/** A worker's connection to the primary. node:cluster ends the process when it is lost. */
export class WorkerLink {
  readonly primary: MessageChannel<WorkerFunctions, PrimaryFunctions>;
  /** Resolves once the primary asks this worker to stop. */
  readonly stopRequested: Promise<void>;
  #functions: (functions: ServedFunctions) => void = () => undefined;
  #stopped: (metrics: MetricsSnapshot) => void = () => undefined;

  constructor() {
    // A terminal and a process manager send these signals to all processes; the primary stops its workers.
    for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.on(signal, () => undefined);
    let requestStop: () => void = () => undefined;
    this.stopRequested = new Promise((resolve) => (requestStop = resolve));
    const stopped = new Promise<MetricsSnapshot>((resolve) => (this.#stopped = resolve));
    const served = new Promise<ServedFunctions>((resolve) => (this.#functions = resolve));
    const functions: WorkerFunctions = {
      activate: async (release) => (await served).activate(release),
      recordBuilds: async (builds, tests) => (await served).recordBuilds(builds, tests),
      refresh: async () => (await served).refresh(),
      metrics: async () => (await served).metrics(),
      stop: () => {
        requestStop();
        return stopped;
      },
      exit: () => process.exit(0),
      ping: () => Promise.resolve(),
    };
    this.primary = new MessageChannel(functions, (message) => {
      process.send?.(message, undefined, undefined, () => undefined);
    });
    process.on("message", (message: Message) => void this.primary.receive(message));
  }

  /** This process serves. */
  async serves(functions: ServedFunctions, facts: object): Promise<void> {
    this.#functions(functions);
    await this.primary.call("serves", facts);
  }

  /** This process has stopped: the primary ends it. */
  stopped(metrics: MetricsSnapshot): void {
    this.#stopped(metrics);
  }
}

let link: WorkerLink | null = null;

/** The link of a worker process; null in any other. */
export function openWorkerLink(): WorkerLink | null {
  if (cluster.isWorker) link ??= new WorkerLink();
  return link;
}
