import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import { droppedLogLines } from "../http/logger.js";
import { RouteMetrics, type RouteSnapshot } from "./route-metrics.js";

/** The part of the active release that the metrics show. */
export interface ServedRelease {
  /** By path. */
  readonly endpoints: ReadonlyMap<string, unknown>;
  /** The manifest it was rendered from; null while the generated folder is served. */
  readonly manifest: {
    readonly hash: string;
    readonly loadedAt: number;
    readonly skipped: readonly unknown[];
    readonly heldBack: readonly unknown[];
  } | null;
  /** Relations that endpoints need and the database does not have. */
  readonly missingRelations: readonly string[];
}

/** Metrics of one process, fit for structured clone. */
export interface MetricsSnapshot {
  /** As prom-client's `getMetricsAsJSON` gives them. */
  readonly process: readonly object[];
  readonly routes: RouteSnapshot;
}

/** The metrics of `/metrics` (runtime/README.md, Operations). Label values are never text that a caller sends. */
export class Metrics {
  /** Counts of requests. */
  readonly routes: RouteMetrics;
  readonly #registry = new Registry();

  constructor(served: () => ServedRelease) {
    collectDefaultMetrics({ register: this.#registry });
    describeRelease(served, [this.#registry]);
    describeLog([this.#registry]);
    this.routes = new RouteMetrics(() => served().endpoints);
  }

  async snapshot(): Promise<MetricsSnapshot> {
    return { process: await this.#registry.getMetricsAsJSON(), routes: this.routes.snapshot() };
  }

  /** Prometheus text. */
  async text(): Promise<string> {
    return `${await this.#registry.metrics()}\n${await this.routes.text()}`;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}

export const LOG_LINES_DROPPED = {
  name: "routewright_log_lines_dropped_total",
  help: "Log lines lost because standard output took none: a full disk, a reader that stopped.",
};

function describeLog(registers: Registry[]): void {
  new Counter({
    ...LOG_LINES_DROPPED,
    registers,
    collect() {
      this.reset();
      this.inc(droppedLogLines());
    },
  });
}

/** Gauges of the active release. The hash shows which replicas serve different manifests. */
function describeRelease(served: () => ServedRelease, registers: Registry[]): void {
  const gauges: readonly (readonly [name: string, help: string, value: () => number])[] = [
    ["routewright_endpoints", "Endpoints in service.", () => served().endpoints.size],
    [
      "routewright_missing_relations",
      "Relations of endpoints that the database does not have.",
      () => served().missingRelations.length,
    ],
    [
      "routewright_skipped_models",
      "Models tagged for the API that the manifest in service gives no endpoint.",
      () => served().manifest?.skipped.length ?? 0,
    ],
    [
      "routewright_held_back_endpoints",
      "Endpoints whose changes the guard holds back.",
      () => served().manifest?.heldBack.length ?? 0,
    ],
  ];
  for (const [name, help, value] of gauges)
    new Gauge({
      name,
      help,
      // Workers serve the same release: a sum would count it several times.
      aggregator: "max",
      registers,
      collect() {
        this.set(value());
      },
    });
  new Gauge({
    name: "routewright_manifest_loaded_timestamp_seconds",
    help: "When the manifest in service was loaded, by its hash; absent while the generated folder is served.",
    labelNames: ["hash"],
    aggregator: "max",
    registers,
    collect() {
      const { manifest } = served();
      this.reset();
      if (manifest) this.set({ hash: manifest.hash }, manifest.loadedAt / 1000);
    },
  });
}
