import type { Worker } from "node:cluster";
import { messageOf } from "../../model/error-message.js";
import type { RefreshResult, ReleaseStatus } from "../../release/activate.js";
import type { ReleaseTarget } from "../../release/refresh.js";
import type { Release } from "../../release/release.js";
import type { BuildRecords, NodeBuild, TestRun } from "../../warehouse/data-versions.js";
import type { DataAssignment, KeyOwners, PrimaryFunctions, WorkerFunctions } from "./messages.js";
import { WorkerMetrics } from "./worker-metrics.js";
import { WorkerPool, type WorkerPoolOptions } from "./worker-pool.js";
import { WorkerProcess } from "./worker-process.js";

/** A worker that takes longer to activate a release or keys is stuck. */
const CHANGE_MS = 15_000;
/** A worker that takes longer to send its metrics is shown with its last known ones. */
const METRICS_MS = 1000;

/** What all workers serve; what dbt has built is kept apart. */
export type DataConfig = Omit<DataAssignment, "role" | "builds" | "tests">;

export interface DataWorkersOptions extends Pick<WorkerPoolOptions, "size" | "onUnrecoverable" | "log"> {
  readonly fork: () => Worker;
  readonly config: DataConfig;
  readonly builds: BuildRecords;
  /** Re-reads the manifest. */
  readonly refresh: () => Promise<RefreshResult>;
}

/** The workers of the data API, and the state that all of them share: a worker that starts later gets the same. */
export class DataWorkers implements ReleaseTarget {
  readonly pool: WorkerPool;
  readonly #metrics: WorkerMetrics;
  #config: DataConfig;

  constructor({ fork, config, builds, refresh, ...options }: DataWorkersOptions) {
    this.#config = config;
    this.#metrics = new WorkerMetrics(() => this.pool.serving.length);
    const functions: PrimaryFunctions = { refresh, metricsText: () => this.#metricsText() };
    const assignment = (): DataAssignment => ({
      role: "data",
      ...this.#config,
      builds: builds.allBuilds,
      tests: builds.allTests,
    });
    this.pool = new WorkerPool({
      ...options,
      role: "data",
      launch: () => new WorkerProcess(fork(), assignment(), functions),
      onEnded: ({ metrics, isStopRequested }) => void this.#metrics.retire(metrics ?? [], !isStopRequested),
    });
  }

  get status(): ReleaseStatus {
    const { release } = this.#config;
    return { manifest: release.manifest, endpoints: release.modules.length };
  }

  /** Resolves once no worker serves the old release. Rejects when none activates the new one: all keep the old one then. */
  async activate(release: Release): Promise<RefreshResult> {
    const done = new Set<WorkerProcess>();
    const offer = async (worker: WorkerProcess): Promise<RefreshResult> => {
      const result = await worker.call(CHANGE_MS, "activate", release);
      done.add(worker);
      return result;
    };
    const results = await Promise.allSettled(this.pool.serving.map(offer));
    const result = results.find((each) => each.status === "fulfilled")?.value;
    if (result === undefined) throw results.find((each) => each.status === "rejected")?.reason ?? NONE_SERVES;
    this.#config = { ...this.#config, release };
    // Those that failed, and those that have started meanwhile.
    const others = this.pool.members.filter((worker) => !done.has(worker));
    await Promise.all(others.map((worker) => this.#change(worker, "activate", release)));
    return result;
  }

  /** Replaces the API keys in all workers. */
  async setKeys(keys: KeyOwners): Promise<void> {
    this.#config = { ...this.#config, keys };
    await Promise.all(this.pool.members.map((worker) => this.#change(worker, "setKeys", keys)));
  }

  /** Sends the workers what dbt has built and tested. */
  recordBuilds(builds: readonly NodeBuild[], tests: readonly TestRun[]): void {
    for (const worker of this.pool.members) void this.#change(worker, "recordBuilds", builds, tests);
  }

  /**
   * Restarts the workers one by one, with the release of the config or the one that they serve. If no new worker starts,
   * nothing changes but the keys. Null, or why it failed.
   */
  async reload(config: DataConfig, keepsRelease: boolean): Promise<string | null> {
    const before = this.#config;
    this.#config = keepsRelease ? { ...config, release: before.release } : config;
    const { replaced, problem } = await this.pool.restartAll();
    if (problem !== null && replaced === 0) this.#config = { ...before, keys: this.#config.keys };
    return problem;
  }

  /** Changes a worker once it has started. One that cannot change is ended, and the pool replaces it. */
  async #change<K extends keyof WorkerFunctions>(
    worker: WorkerProcess,
    name: K,
    ...args: Parameters<WorkerFunctions[K]>
  ): Promise<void> {
    if (!(await worker.ready) || worker.state !== "serving") return;
    try {
      await worker.call(CHANGE_MS, name, ...args);
    } catch (error) {
      worker.kill(`${name} failed: ${messageOf(error)}`);
      await worker.ended;
    }
  }

  async #metricsText(): Promise<string> {
    const { serving } = this.pool;
    const read = async (worker: WorkerProcess): Promise<void> => {
      worker.metrics = await worker.call(METRICS_MS, "metrics").catch(() => worker.metrics);
    };
    await Promise.all(serving.map(read));
    const snapshots = this.pool.members.map(({ metrics }) => metrics ?? []);
    return this.#metrics.text(snapshots);
  }
}

const NONE_SERVES = new Error("No worker serves. The next refresh tries again.");
