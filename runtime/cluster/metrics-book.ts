import { CombinedMetrics } from "./metrics-text.js";

/**
 * The metrics of all workers together. What a worker has counted stays when it ends: were it to fall out of the sum,
 * the sum would fall, and whoever reads it would take that for a restart and count all once more.
 */
export class MetricsBook {
  /** What each worker has told last. */
  readonly #latest = new Map<number, string>();
  readonly #gone = new CombinedMetrics();
  /** Changes to what is kept of the workers that are gone come one after the other. */
  #kept: Promise<void> = Promise.resolve();
  #deaths = 0;

  /** A worker tells its metrics. */
  note(worker: number, text: string): void {
    this.#latest.set(worker, text);
  }

  /** A worker has ended; what it has told last is kept. */
  retire(worker: number, died: boolean): void {
    const text = this.#latest.get(worker) ?? "";
    this.#latest.delete(worker);
    if (died) this.#deaths++;
    this.#kept = this.#kept.then(() => this.#gone.add(text, true));
  }

  /** Forgets what workers that are gone have counted of routes that are gone too. */
  forget(routes: readonly string[]): void {
    if (routes.length > 0) this.#kept = this.#kept.then(() => this.#gone.forget(routes));
  }

  /** Prometheus text. `serving`: how many workers take connections. */
  async text(serving: number): Promise<string> {
    const texts = [...this.#latest.values()];
    // A worker that ends from here on is among the texts, and must not be among those that are gone as well.
    const gone = this.#kept.then(() => this.#gone.text());
    this.#kept = gone.then(() => undefined);
    const all = new CombinedMetrics();
    for (const text of texts) await all.add(text);
    await all.add(await gone);
    await all.add(ownText(serving, this.#deaths));
    return all.text();
  }
}

function ownText(serving: number, deaths: number): string {
  return [
    "# HELP routewright_workers Worker processes that take connections.",
    "# TYPE routewright_workers gauge",
    `routewright_workers ${String(serving)}`,
    "# HELP routewright_worker_deaths_total Worker processes that ended unasked.",
    "# TYPE routewright_worker_deaths_total counter",
    `routewright_worker_deaths_total ${String(deaths)}`,
  ].join("\n");
}
