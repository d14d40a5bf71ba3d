import type { Build, BuildTimes, TestRun } from "../data-api/data-versions.js";
import type { Release } from "../data-api/release.js";
import type { RefreshResult, ReleaseTarget, ReleaseStatus } from "../data-api/refresh.js";
import type { Logger } from "../http/logger.js";
import { WorkerPool, type WorkerPoolOptions } from "./worker-pool.js";
import type { Adoption, DataAssignment, News } from "./messages.js";
import type { MetricsSnapshot } from "../observability/metrics.js";
import { WorkerMetrics } from "./worker-metrics.js";
import type { WorkerProcess } from "./worker-process.js";

/** A worker that has not swapped routes by then is stuck. */
const ADOPT_MS = 15_000;
/** One that has not come up yet swaps them once it has. */
const ADOPT_WHEN_UP_MS = 150_000;
/** Of a worker that does not tell its metrics by then, the last ones known are shown. */
const METRICS_MS = 1000;

export type DataBlueprint = Pick<DataAssignment, "variables" | "keysFile" | "title">;

export interface DataWorkersOptions extends Omit<
  WorkerPoolOptions,
  "role" | "assignment" | "receive" | "ended" | "log"
> {
  readonly databaseUrl: string;
  readonly blueprint: DataBlueprint;
  readonly edition: Release;
  readonly builds: BuildTimes;
  /** Re-reads the manifest. */
  readonly refresh: () => Promise<RefreshResult>;
  readonly log: Logger;
}

/** The workers of the data API, and the state that all of them share: one that starts later comes up with it. */
export class DataWorkers implements ReleaseTarget {
  readonly crew: WorkerPool;
  readonly #options: DataWorkersOptions;
  readonly #metrics = new WorkerMetrics();
  /** Digests of the modules that a worker has, where it has told. */
  readonly #known = new WeakMap<WorkerProcess, ReadonlySet<string>>();
  #blueprint: DataBlueprint;
  #edition: Release;

  constructor(options: DataWorkersOptions) {
    this.#options = options;
    this.#blueprint = options.blueprint;
    this.#edition = options.edition;
    this.crew = new WorkerPool({
      ...options,
      role: "data",
      assignment: () => this.#assignment(),
      receive: (worker, news) => void this.#answer(worker, news),
      ended: ({ id, wasToLeave }) => void this.#metrics.retire(id, !wasToLeave),
    });
  }

  get standing(): ReleaseStatus {
    return { manifest: this.#edition.manifest, endpoints: this.#edition.modules.length };
  }

  /** Resolves once no worker serves the old edition any more. */
  async adopt(edition: Release): Promise<RefreshResult> {
    const asked = this.crew.members.filter(isUp);
    const adoptions = await Promise.all(asked.map((worker) => this.#offer(worker, edition, ADOPT_MS)));
    const answer = adoptions.find((adoption) => adoption?.ok === true)?.answer;
    if (answer === undefined) throw new Error(refusalOf(adoptions));
    this.#edition = edition;
    await Promise.all(asked.filter((_, i) => adoptions[i]?.ok !== true).map((worker) => this.#end(worker)));
    await this.#bringLateOnes(asked, edition);
    if (answer.status === "reloaded") this.#metrics.forget(answer.removed);
    return answer;
  }

  /** Tells the workers what dbt has built and tested. */
  built(builds: readonly Build[], tests: readonly TestRun[] = []): void {
    for (const worker of this.crew.members) worker.tell({ kind: "built", builds, tests });
  }

  /**
   * Renews the workers. What a manifest has brought into service stays, else the generated folder's edition is served
   * from here on. When not one new worker comes up, all is as before.
   */
  async reload(blueprint: DataBlueprint, edition: Release): Promise<string | null> {
    const before = { blueprint: this.#blueprint, edition: this.#edition };
    this.#blueprint = blueprint;
    if (before.edition.manifest === null) this.#edition = edition;
    const rolled = await this.crew.roll();
    if (rolled.ok) return null;
    if (rolled.replaced === 0) {
      this.#blueprint = before.blueprint;
      if (this.#edition === edition) this.#edition = before.edition;
    }
    return rolled.detail;
  }

  #assignment(): DataAssignment {
    const { databaseUrl, front, builds } = this.#options;
    return {
      role: "data",
      ...this.#blueprint,
      url: front.url,
      databaseUrl,
      edition: this.#edition,
      builds: builds.all,
      tests: builds.allTests,
    };
  }

  async #offer(worker: WorkerProcess, edition: Release, withinMs: number): Promise<Adoption | null> {
    const news = without(this.#known.get(worker), edition);
    const adoption = await worker.ask<Adoption>((id) => ({ kind: "adopt", id, edition: news }), withinMs);
    if (adoption?.ok === true) this.#known.set(worker, digestsOf(edition));
    return adoption;
  }

  /** Those that came up meanwhile serve already; the others take connections only behind the edition that is sent here. */
  async #bringLateOnes(asked: readonly WorkerProcess[], edition: Release): Promise<void> {
    const late = this.crew.members.filter((worker) => !asked.includes(worker));
    const serving = late.filter(isUp);
    const bring = async (worker: WorkerProcess, withinMs: number): Promise<void> => {
      const adoption = await this.#offer(worker, edition, withinMs);
      if (adoption?.ok !== true) await this.#end(worker);
    };
    for (const worker of late) if (!serving.includes(worker)) void bring(worker, ADOPT_WHEN_UP_MS);
    await Promise.all(serving.map((worker) => bring(worker, ADOPT_MS)));
  }

  /** Ends a worker that cannot do what its siblings can, or is stuck; the crew replaces it. */
  async #end(worker: WorkerProcess): Promise<void> {
    if (worker.state === "ended") return;
    this.#options.log.error({ worker: worker.id, pid: worker.pid }, "worker did not take the manifest");
    worker.kill();
    await worker.ended;
  }

  async #answer(worker: WorkerProcess, news: News): Promise<void> {
    if (news.kind === "metrics") this.#metrics.note(worker.id, news.snapshot);
    if (news.kind !== "question") return;
    const { id, question } = news;
    const value = await (question === "refresh" ? this.#options.refresh() : this.#metricsText());
    worker.tell({ kind: "answer", id, value });
  }

  async #metricsText(): Promise<string> {
    const gather = async (worker: WorkerProcess): Promise<void> => {
      const snapshot = await worker.ask<MetricsSnapshot>((id) => ({ kind: "metrics", id }), METRICS_MS);
      if (snapshot !== null && worker.state !== "ended") this.#metrics.note(worker.id, snapshot);
    };
    await Promise.all(this.crew.members.filter(isUp).map(gather));
    return this.#metrics.text(this.crew.serving.length);
  }
}

/** One that leaves answers on the connections that it still has. */
function isUp({ state }: WorkerProcess): boolean {
  return state === "serving" || state === "leaving";
}

function digestsOf({ modules }: Release): ReadonlySet<string> {
  return new Set(modules.map(({ digest }) => digest));
}

/** An edition without the scripts of modules that a worker has: most of a catalogue stays as it is. */
function without(known: ReadonlySet<string> | undefined, edition: Release): Release {
  if (known === undefined) return edition;
  const modules = edition.modules.map((each) => (known.has(each.digest) ? { ...each, script: "" } : each));
  return { ...edition, modules };
}

function refusalOf(adoptions: readonly (Adoption | null)[]): string {
  for (const adoption of adoptions) if (adoption?.ok === false) return adoption.detail;
  return "No worker could take the manifest; it is tried again at the next refresh.";
}
