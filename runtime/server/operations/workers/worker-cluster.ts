import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import cluster from "node:cluster";
import { createServer } from "node:net";
import { CoalescingRunner } from "../../../core/model/coalescing-runner.js";
import { messageOf } from "../../../core/model/outcome.js";
import { failed, type RefreshResult } from "../../release/activate.js";
import { NOT_REFRESHED, NOT_RELOADED, reloadMessage } from "../../release/refresh.js";
import type { Release } from "../../release/release.js";
import { bind } from "../../../core/http/listen.js";
import { type Logger, sink } from "../../../core/http/logger.js";
import type { CollectedMetric, MetricsSnapshot } from "../../../core/http/prometheus.js";
import { DROPPED_LOG_LINES } from "../../../core/http/service-metrics.js";
import { BuildRecords } from "../../../core/warehouse/data-versions.js";
import type { Environment } from "../environment.js";
import { ConnectionBalance } from "./connection-balance.js";
import type { Assignment, Role, WorkerFunctions } from "./messages.js";
import { WorkerProcess } from "./worker-process.js";
import { sleep } from "../../../core/model/timer.js";

/** After a failed start: what is invalid, such as a key file, stays so for a while. A start takes a second of processor time. */
const PAUSE_MS = 2000;

interface ClusterOptions {
  /** Worker processes of each role. The ramp has its own: a crash cannot affect the data API. */
  readonly sizes: Readonly<Record<Role, number>>;
  readonly environment: Pick<Environment, "host" | "redisUrl">;
  readonly ports: Readonly<Record<Role, number>>;
  readonly log: Logger;
}

/**
 * The primary process of `serve --workers`. node:cluster shares the port, and each worker runs this command's own
 * `serve`. What 20 lines of node:cluster lacked: a refresh that reaches all (1 of 3), one cursor key, summed metrics, a
 * frozen worker replaced, and SIGHUP without a refused request.
 */
export class WorkerCluster {
  readonly #options: ClusterOptions;
  /** Bounded by the number of workers. */
  readonly #members = new Set<WorkerProcess>();
  readonly #metrics = new WorkerMetrics(() => this.#serving("data").length);
  readonly #balance = new ConnectionBalance(() => this.#serving("data"));
  readonly #builds = new BuildRecords();
  readonly #cursorKey = randomBytes(32);
  readonly #reloads = new CoalescingRunner(() => this.#reload());
  readonly #stopping = new AbortController();
  #ports: Readonly<Record<Role, number>> = { data: 0, ramp: 0 };
  #release: Release | null = null;

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  /** Resolves once workers serve. Rejects with a clear message when they cannot; `stop` ends what was started. */
  async start(): Promise<void> {
    const { sizes, environment, ports, log } = this.#options;
    const { host, redisUrl } = environment;
    // Workers accept connections themselves. By round robin a client hung when the worker was killed that its connection was
    // on its way to (1 a kill under 8 callers), and new connections were 4,200 a second instead of 7,300. A port of each worker
    // (`reusePort` of Node 22.12) spreads connections best, 12 or 13 of 24, but the kernel goes on giving a frozen worker its
    // half (10 to 14 of 24 without an answer), and a worker that stops listening resets those that wait (8 of 3,111 requests in
    // 10 replacements, none of 3,589 here).
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    // Two processes cannot share a non-blocking output: this one writes the workers' log.
    cluster.setupPrimary({ serialization: "advanced", stdio: ["ignore", "pipe", "inherit", "ipc"] });
    this.#ports = {
      data: sizes.data > 0 ? await freePort(host, ports.data) : 0,
      ramp: sizes.ramp > 0 ? await freePort(host, ports.ramp) : 0,
    };
    if (sizes.data > 1 && redisUrl === null) log.warn({ workers: sizes.data }, LIMITS_PER_WORKER);
    await Promise.all([this.#startAll("data", sizes.data), this.#startAll("ramp", sizes.ramp)]);
    const [first] = this.#serving("data");
    if (first) log.info({ ...first.facts, workers: sizes.data }, "listening");
  }

  /** Re-reads the manifest and activates what changed in all workers. One worker at a time renders it. Never rejects. */
  async refresh(): Promise<RefreshResult> {
    const [first] = this.#serving("data");
    const refreshed = first?.call("refresh") ?? Promise.reject(new Error("No worker serves."));
    return refreshed.catch((error: unknown) => {
      const { manifest = null, modules = [] } = this.#release ?? {};
      return failed({ manifest, endpoints: modules.length }, messageOf(error));
    });
  }

  /** Records what dbt has built, for present and future workers. */
  recordBuilds(...results: Parameters<WorkerFunctions["recordBuilds"]>): void {
    this.#builds.record(...results);
    for (const worker of this.#of("data")) void worker.change("recordBuilds", ...results);
  }

  /** Replaces all workers, one at a time. Never rejects: what is invalid is logged, and the old workers keep serving. */
  reload(): Promise<void> {
    return this.#reloads.run();
  }

  /** Stops all workers gracefully. May be called at any time. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#balance.close();
    await Promise.all([...this.#members].map((worker) => worker.stop()));
  }

  #of(role: Role): readonly WorkerProcess[] {
    return [...this.#members].filter((worker) => worker.role === role);
  }

  #serving(role: Role): readonly WorkerProcess[] {
    return this.#of(role).filter(({ isServing }) => isServing);
  }

  async #startAll(role: Role, size: number): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const workers = Array.from({ length: size }, () => this.#launch(role));
    const up = await Promise.all(workers.map(({ ready }) => ready));
    const [first] = workers;
    if (first && !up.includes(true)) throw new Error(`No worker process starts: ${await first.ended}.`);
  }

  #launch(role: Role): WorkerProcess {
    const { log } = this.#options;
    const forked = cluster.fork();
    if (forked.process.stdout) forwardLog(forked.process.stdout);
    const worker: WorkerProcess = new WorkerProcess(forked, role, {
      join: () => Promise.resolve(this.#assignment(role)),
      share: (release) => this.#share(release, worker),
      refresh: () => this.refresh(),
      metricsText: () => this.#metricsText(),
      shareOf: (open) => this.#balance.shareOf(worker, open),
    });
    this.#members.add(worker);
    log.info(worker.fields, "worker starting");
    void worker.ready.then((isUp) => {
      if (isUp) log.info(worker.fields, "worker serves");
    });
    void worker.ended.then((reason) => this.#onEnded(worker, reason));
    return worker;
  }

  async #share(release: Release, from: WorkerProcess): Promise<void> {
    this.#release = release;
    const others = this.#of("data").filter((worker) => worker !== from);
    await Promise.all(others.map((worker) => worker.change("activate", release)));
  }

  #assignment(role: Role): Assignment {
    const { builds, tests, checks } = this.#builds;
    return {
      role,
      port: this.#ports[role],
      cursorKey: this.#cursorKey,
      release: this.#release,
      builds: [...builds.values()],
      tests: [...tests.values()],
      checks: [...checks.values()],
    };
  }

  #onEnded(worker: WorkerProcess, reason: string): void {
    const { log } = this.#options;
    const { role, fields, isStopRequested, hasServed, metrics } = worker;
    this.#members.delete(worker);
    void this.#balance.resume();
    if (role === "data") this.#metrics.retire(metrics, !isStopRequested);
    if (isStopRequested) return log.info(fields, "worker ended");
    log.error({ ...fields, detail: reason }, hasServed ? "worker died" : "worker did not start");
    void this.#fill(role, hasServed ? 0 : PAUSE_MS);
  }

  /** Starts a process, unless there are enough: the one that ended may have had its replacement already. */
  async #fill(role: Role, pauseMs: number): Promise<void> {
    const { signal } = this.#stopping;
    await sleep(pauseMs, signal).catch(() => null);
    const staying = this.#of(role).filter(({ isStopRequested }) => !isStopRequested);
    if (!signal.aborted && staying.length < this.#options.sizes[role]) this.#launch(role);
  }

  async #reload(): Promise<void> {
    const { log } = this.#options;
    for (const old of [...this.#members]) {
      if (!(await old.ready) || !old.isServing) continue;
      const problem = await this.#replace(old);
      if (this.#stopping.signal.aborted) return;
      if (problem !== null) return log.error({ detail: problem }, NOT_RELOADED);
    }
    // With another folder the manifest must be rendered again.
    const refreshed = this.#release === null ? null : await this.refresh();
    if (refreshed?.status === "error") log.error({ detail: refreshed.detail }, NOT_REFRESHED);
    else log.info(reloadMessage(this.#release?.manifest ?? null));
  }

  /** Null, or why no new worker started; then the old one keeps serving. */
  async #replace(old: WorkerProcess): Promise<string | null> {
    if (this.#stopping.signal.aborted) return "the server is stopping";
    const fresh = this.#launch(old.role);
    if (!(await fresh.ready)) return fresh.ended;
    await old.stop();
    return null;
  }

  async #metricsText(): Promise<string> {
    const read = async (worker: WorkerProcess): Promise<void> => {
      worker.metrics = await worker.call("metrics").catch(() => worker.metrics);
    };
    await Promise.all(this.#serving("data").map(read));
    return this.#metrics.text(this.#of("data").map(({ metrics }) => metrics));
  }
}

/** Finds out whether the port is free, and chooses one for port 0: all workers must listen on the same. */
async function freePort(host: string, port: number): Promise<number> {
  const server = createServer();
  const url = await bind(server, host, port);
  server.close();
  return Number(new URL(url).port);
}

const LIMITS_PER_WORKER =
  "rate limits are counted per worker, so a caller may get its limit several times: set REDIS_URL to count them together";

/**
 * The metrics of all workers together. The counts of a worker stay when it ends: Prometheus would take a lower sum for a
 * restart and count everything again.
 */
export class WorkerMetrics {
  /** Counters of workers that have ended. */
  #ended: Promise<MetricsSnapshot> = Promise.resolve([]);
  #deaths = 0;
  readonly #own: readonly CollectedMetric[];

  /** `serving`: how many workers accept connections. */
  constructor(serving: () => number) {
    this.#own = [
      {
        name: "routewright_worker_deaths_total",
        help: "Worker processes that ended unexpectedly.",
        values: () => this.#deaths,
      },
      {
        name: "routewright_workers",
        help: "Worker processes that take connections.",
        values: serving,
      },
      DROPPED_LOG_LINES,
    ];
  }

  /** A worker has ended; the counters of its latest snapshot are kept. */
  retire(snapshot: MetricsSnapshot, died: boolean): void {
    if (died) this.#deaths++;
    const before = this.#ended;
    const both = async (): Promise<MetricsSnapshot> => {
      const { combined } = await import("../../../core/http/prometheus.js");
      return combined([await before, snapshot.filter(isCounter)]);
    };
    // Nobody waits for it: a rejection would end all workers.
    this.#ended = both().catch(() => before);
  }

  /** Prometheus text. */
  async text(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    const { prometheusText, snapshotOf } = await import("../../../core/http/prometheus.js");
    return prometheusText([...snapshots, await this.#ended, snapshotOf(this.#own)]);
  }
}

/** Its values only grow over the life of a process. */
function isCounter(metric: object): boolean {
  const { type } = metric as { readonly type?: string };
  return type === "counter" || type === "histogram";
}

/**
 * Forwards a worker's log to this process's. Two processes cannot share a non-blocking output: each child process that
 * starts or ends makes it blocking again. Workers that shared it had not ended 10 s after SIGTERM while nobody read it,
 * and mixed 20 of 1,453 lines while it was read slowly.
 */
function forwardLog(worker: Readable): void {
  let rest = "";
  worker.setEncoding("utf8").on("data", (text: string) => {
    const end = text.lastIndexOf("\n") + 1;
    const lines = end > 0 ? (rest + text.slice(0, end)).split(/(?<=\n)/) : [];
    for (const line of process.stdout.isTTY ? lines : [lines.join("")]) if (line !== "") sink.write(line);
    rest = end > 0 ? text.slice(end) : rest + text;
  });
}
