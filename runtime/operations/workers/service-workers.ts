import type { NodeBuild, BuildRecords, TestRun } from "../../warehouse/data-versions.js";
import type { Release } from "../../release/release.js";
import type { RefreshResult, ReleaseStatus } from "../../release/activate.js";
import type { ReleaseTarget } from "../../release/refresh.js";
import type { Logger } from "../../server/logger.js";
import { WorkerPool, type WorkerPoolOptions } from "./worker-pool.js";
import type { Activation, DataAssignment, WorkerMessage, EnvironmentVariables } from "./messages.js";
import type { MetricsSnapshot } from "../metrics.js";
import { WorkerMetrics } from "./worker-metrics.js";
import type { WorkerProcess } from "./worker-process.js";
/** A worker that takes longer to activate a release is stuck. */
const ACTIVATION_MS = 15_000;
/** The same for a worker that is still starting. */
const ACTIVATION_AT_START_MS = 150_000;
/** A worker that takes longer to send its metrics is shown with its last known ones. */
const METRICS_MS = 1000;

export type DataWorkerConfig = Pick<DataAssignment, "variables" | "keysFile" | "title">;

export interface DataWorkersOptions extends Omit<
  WorkerPoolOptions,
  "role" | "assignment" | "receive" | "ended" | "log"
> {
  readonly databaseUrl: string;
  readonly config: DataWorkerConfig;
  readonly release: Release;
  readonly builds: BuildRecords;
  /** Re-reads the manifest. */
  readonly refresh: () => Promise<RefreshResult>;
  readonly log: Logger;
}

/** The workers of the data API, and the state that all of them share: a worker that starts later gets the same. */
export class DataWorkers implements ReleaseTarget {
  readonly pool: WorkerPool;
  readonly #options: DataWorkersOptions;
  readonly #metrics = new WorkerMetrics();
  /** Digests of the modules that a worker has. */
  readonly #known = new WeakMap<WorkerProcess, ReadonlySet<string>>();
  #config: DataWorkerConfig;
  #release: Release;

  constructor(options: DataWorkersOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#release = options.release;
    this.pool = new WorkerPool({
      ...options,
      role: "data",
      assignment: () => this.#assignment(),
      receive: (worker, message) => void this.#receive(worker, message),
      ended: ({ id, isStopRequested }) => void this.#metrics.retire(id, !isStopRequested),
    });
  }

  get status(): ReleaseStatus {
    return { manifest: this.#release.manifest, endpoints: this.#release.modules.length };
  }

  /** Resolves once no worker serves the old release. */
  async activate(release: Release): Promise<RefreshResult> {
    const up = this.pool.members.filter(isUp);
    const activations = await Promise.all(up.map((worker) => this.#offer(worker, release, ACTIVATION_MS)));
    const result = activations.find((activation) => activation?.ok === true)?.result;
    if (result === undefined) throw new Error(reasonOf(activations));
    this.#release = release;
    await Promise.all(up.filter((_, i) => activations[i]?.ok !== true).map((worker) => this.#end(worker)));
    await this.#activateInOthers(up, release);
    if (result.status === "reloaded") this.#metrics.forget(result.removed);
    return result;
  }

  /** Sends the workers what dbt has built and tested. */
  recordBuilds(builds: readonly NodeBuild[], tests: readonly TestRun[] = []): void {
    for (const worker of this.pool.members) worker.send({ kind: "built", builds, tests });
  }

  /**
   * Restarts the workers one by one, with another release unless that is null. If no new worker starts, nothing changes.
   */
  async reload(config: DataWorkerConfig, release: Release | null): Promise<string | null> {
    const before = { config: this.#config, release: this.#release };
    this.#config = config;
    if (release !== null) this.#release = release;
    const restart = await this.pool.restartAll();
    if (restart.ok) return null;
    if (restart.replaced === 0) {
      this.#config = before.config;
      if (this.#release === release) this.#release = before.release;
    }
    return restart.detail;
  }

  #assignment(): DataAssignment {
    const { databaseUrl, dispatcher, builds } = this.#options;
    return {
      role: "data",
      ...this.#config,
      url: dispatcher.url,
      databaseUrl,
      release: this.#release,
      builds: builds.allBuilds,
      tests: builds.allTests,
    };
  }

  async #offer(worker: WorkerProcess, release: Release, withinMs: number): Promise<Activation | null> {
    const message = without(this.#known.get(worker), release);
    const activation = await worker.ask<Activation>(
      (id) => ({ kind: "activate", id, release: message }),
      withinMs,
    );
    if (activation?.ok === true) this.#known.set(worker, digestsOf(release));
    return activation;
  }

  /** Workers that started meanwhile. One that is still starting gets the release before its first connection. */
  async #activateInOthers(done: readonly WorkerProcess[], release: Release): Promise<void> {
    const late = this.pool.members.filter((worker) => !done.includes(worker));
    const serving = late.filter(isUp);
    const activate = async (worker: WorkerProcess, withinMs: number): Promise<void> => {
      const activation = await this.#offer(worker, release, withinMs);
      if (activation?.ok !== true) await this.#end(worker);
    };
    for (const worker of late) if (!serving.includes(worker)) void activate(worker, ACTIVATION_AT_START_MS);
    await Promise.all(serving.map((worker) => activate(worker, ACTIVATION_MS)));
  }

  /** Ends a worker that could not activate the release; the pool replaces it. */
  async #end(worker: WorkerProcess): Promise<void> {
    if (worker.state === "ended") return;
    this.#options.log.error({ worker: worker.id, pid: worker.pid }, "worker did not activate the release");
    worker.kill();
    await worker.ended;
  }

  async #receive(worker: WorkerProcess, message: WorkerMessage): Promise<void> {
    if (message.kind === "metrics") this.#metrics.update(worker.id, message.snapshot);
    if (message.kind !== "request") return;
    const { id, request } = message;
    const value = await (request === "refresh" ? this.#options.refresh() : this.#metricsText());
    worker.send({ kind: "response", id, value });
  }

  async #metricsText(): Promise<string> {
    const gather = async (worker: WorkerProcess): Promise<void> => {
      const snapshot = await worker.ask<MetricsSnapshot>((id) => ({ kind: "metrics", id }), METRICS_MS);
      if (snapshot !== null && worker.state !== "ended") this.#metrics.update(worker.id, snapshot);
    };
    await Promise.all(this.pool.members.filter(isUp).map(gather));
    return this.#metrics.text(this.pool.serving.length);
  }
}

/** A worker that is stopping still serves its open connections. */
function isUp({ state }: WorkerProcess): boolean {
  return state === "serving" || state === "leaving";
}

function digestsOf({ modules }: Release): ReadonlySet<string> {
  return new Set(modules.map(({ digest }) => digest));
}

/** A release without the scripts of modules that a worker has: most of a catalogue stays as it is. */
function without(known: ReadonlySet<string> | undefined, release: Release): Release {
  if (known === undefined) return release;
  const modules = release.modules.map((each) => (known.has(each.digest) ? { ...each, script: "" } : each));
  return { ...release, modules };
}

function reasonOf(activations: readonly (Activation | null)[]): string {
  for (const activation of activations) if (activation?.ok === false) return activation.detail;
  return "No worker could activate the release. The next refresh tries again.";
}

interface RampWorkersOptions extends Omit<
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
