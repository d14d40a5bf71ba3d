import { AggregatorRegistry, Counter, Gauge, Registry } from "prom-client";
import { droppedLogLines } from "../../server/logger.js";
import { LOG_LINES_DROPPED, type MetricsSnapshot, routesText } from "../metrics.js";
import { RouteCounter } from "../request-counters.js";

/**
 * The metrics of all workers together. The counts of a worker stay when it ends: Prometheus would take a lower sum for a
 * restart and count everything again.
 */
export class WorkerMetrics {
  /** The latest snapshot of each worker. */
  readonly #latest = new Map<number, MetricsSnapshot>();
  /** Counters of workers that have ended. */
  readonly #ended = { process: [] as object[], routes: new RouteCounter(null) };
  readonly #own = new Registry();
  readonly #deaths: Counter;
  #serving = 0;

  constructor() {
    const registers = [this.#own];
    this.#deaths = new Counter({
      name: "routewright_worker_deaths_total",
      help: "Worker processes that ended unexpectedly.",
      registers,
    });
    const serving = (): number => this.#serving;
    new Gauge({
      name: "routewright_workers",
      help: "Worker processes that take connections.",
      registers,
      collect() {
        this.set(serving());
      },
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

  update(worker: number, snapshot: MetricsSnapshot): void {
    this.#latest.set(worker, snapshot);
  }

  /** A worker has ended; the counters of its latest snapshot are kept. */
  async retire(worker: number, died: boolean): Promise<void> {
    const snapshot = this.#latest.get(worker);
    this.#latest.delete(worker);
    if (died) this.#deaths.inc();
    if (snapshot === undefined) return;
    this.#ended.routes.add(snapshot.routes);
    const counters = snapshot.process.filter(isCounter);
    const all = AggregatorRegistry.aggregate([this.#ended.process, counters]);
    this.#ended.process = await all.getMetricsAsJSON();
  }

  /** Deletes the counts of ended workers for routes that were removed. */
  forget(routes: readonly string[]): void {
    this.#ended.routes.forget(routes);
  }

  /** Prometheus text. `serving`: how many workers take connections. */
  async text(serving: number): Promise<string> {
    this.#serving = serving;
    const snapshots = [...this.#latest.values()];
    const routes = new RouteCounter(null);
    for (const each of [this.#ended.routes.snapshot(), ...snapshots.map((snapshot) => snapshot.routes)])
      routes.add(each);
    const own = await this.#own.getMetricsAsJSON();
    const processes = [own, this.#ended.process, ...snapshots.map((snapshot) => snapshot.process)];
    const text = await AggregatorRegistry.aggregate(processes).metrics();
    return `${text}\n${await routesText(routes.snapshot())}`;
  }
}

/** Its values only grow over the life of a process. */
function isCounter(metric: object): boolean {
  const { type } = metric as { readonly type?: string };
  return type === "counter" || type === "histogram";
}
