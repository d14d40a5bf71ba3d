import { AggregatorRegistry, Counter, Gauge, Registry } from "prom-client";
import { droppedLogLines } from "../../server/logger.js";
import {
  describeRefreshes,
  LOG_LINES_DROPPED,
  type MetricsSnapshot,
  type RefreshCounts,
  routesText,
} from "../metrics.js";
import { RouteCounter } from "../request-counters.js";

/**
 * The metrics of all workers together. The counts of a worker stay when it ends: Prometheus would take a lower sum for a
 * restart and count everything again.
 */
export class WorkerMetrics {
  /** Counters of workers that have ended. */
  readonly #ended = { process: [] as object[], routes: new RouteCounter(null) };
  readonly #own = new Registry();
  readonly #deaths: Counter;
  readonly #serving: Gauge;

  constructor(refreshes: RefreshCounts) {
    const registers = [this.#own];
    describeRefreshes(refreshes, registers);
    this.#deaths = new Counter({
      name: "routewright_worker_deaths_total",
      help: "Worker processes that ended unexpectedly.",
      registers,
    });
    this.#serving = new Gauge({
      name: "routewright_workers",
      help: "Worker processes that take connections.",
      registers,
    });
    new Counter({
      ...LOG_LINES_DROPPED,
      registers,
      collect() {
        this.reset();
        this.inc(droppedLogLines());
      },
    });
  }

  /** A worker has ended; the counters of its latest snapshot are kept. */
  retire(snapshot: MetricsSnapshot | null, died: boolean): void {
    if (died) this.#deaths.inc();
    if (snapshot === null) return;
    this.#ended.routes.add(snapshot.routes);
    this.#ended.process.push(...snapshot.process.filter(isCounter));
  }

  /** Deletes the counts of ended workers for routes that were removed. */
  forget(routes: readonly string[]): void {
    this.#ended.routes.forget(routes);
  }

  /** Prometheus text. `serving`: how many workers accept connections. */
  async text(snapshots: readonly MetricsSnapshot[], serving: number): Promise<string> {
    this.#serving.set(serving);
    const routes = new RouteCounter(null);
    for (const each of [this.#ended.routes.snapshot(), ...snapshots.map((snapshot) => snapshot.routes)])
      routes.add(each);
    const own = await this.#own.getMetricsAsJSON();
    const all = [own, this.#ended.process, ...snapshots.map((snapshot) => snapshot.process)];
    return `${await AggregatorRegistry.aggregate(all).metrics()}\n${await routesText(routes.snapshot())}`;
  }
}

/** Its values only grow over the life of a process. */
function isCounter(metric: object): boolean {
  const { type } = metric as { readonly type?: string };
  return type === "counter" || type === "histogram";
}
