import { setImmediate as nextTurn } from "node:timers/promises";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { ActiveRelease } from "../data-api/active-release.js";
import type { RequestRecord } from "../data-api/gateway.js";
import { RouteMetrics } from "./route-metrics.js";

/** What `/metrics` shows (decisions.md §A). Labels come from closed sets, never from what a caller sends. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #routes: RouteMetrics;

  constructor(live: ActiveRelease) {
    collectDefaultMetrics({ register: this.#registry });
    describeLive(live, [this.#registry]);
    this.#routes = new RouteMetrics(() => live.current.endpoints);
  }

  count(observation: RequestRecord): void {
    this.#routes.count(observation);
  }

  /** Prometheus text. With thousands of routes it is long: requests get their turn while it is written. */
  async text(): Promise<string> {
    const pieces = [await this.#registry.metrics(), "\n"];
    for (const piece of this.#routes.text()) {
      pieces.push(piece);
      await nextTurn();
    }
    return pieces.join("");
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}

/** What is in service; the hash tells replicas apart that serve different manifests. */
function describeLive(live: ActiveRelease, registers: Registry[]): void {
  new Gauge({
    name: "routewright_endpoints",
    help: "Endpoints in service.",
    registers,
    collect() {
      this.set(live.current.routes.size);
    },
  });
  new Gauge({
    name: "routewright_manifest_loaded_timestamp_seconds",
    help: "When the manifest in service was loaded, by its hash; absent while the generated folder is served.",
    labelNames: ["hash"],
    registers,
    collect() {
      const { manifest } = live.current;
      this.reset();
      if (manifest) this.set({ hash: manifest.hash }, manifest.loadedAt / 1000);
    },
  });
}
