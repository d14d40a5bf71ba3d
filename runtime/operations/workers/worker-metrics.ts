import { AggregatorRegistry, Counter, Registry } from "prom-client";
import { addMetric, DROPPED_LOG_LINES } from "../../http/service-metrics.js";

/** Metrics of one process, as prom-client's `getMetricsAsJSON` gives them. */
export type MetricsSnapshot = readonly object[];

/**
 * The metrics of all workers together. The counts of a worker stay when it ends: Prometheus would take a lower sum for a
 * restart and count everything again.
 */
export class WorkerMetrics {
  /** Counters of workers that have ended. */
  #ended: MetricsSnapshot = [];
  readonly #own = new Registry();
  readonly #deaths = new Counter({
    name: "routewright_worker_deaths_total",
    help: "Worker processes that ended unexpectedly.",
    registers: [this.#own],
  });

  /** `serving`: how many workers accept connections. */
  constructor(serving: () => number) {
    addMetric(this.#own, {
      name: "routewright_workers",
      help: "Worker processes that take connections.",
      values: serving,
    });
    addMetric(this.#own, DROPPED_LOG_LINES);
  }

  /** A worker has ended; the counters of its latest snapshot are kept. */
  async retire(snapshot: MetricsSnapshot, died: boolean): Promise<void> {
    if (died) this.#deaths.inc();
    const counters = snapshot.filter(isCounter);
    this.#ended = await AggregatorRegistry.aggregate([this.#ended as object[], counters]).getMetricsAsJSON();
  }

  /** Prometheus text. */
  async text(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    const all = [...snapshots, this.#ended, await this.#own.getMetricsAsJSON()];
    return AggregatorRegistry.aggregate(all).metrics();
  }
}

/** Its values only grow over the life of a process. */
function isCounter(metric: object): boolean {
  const { type } = metric as { readonly type?: string };
  return type === "counter" || type === "histogram";
}
