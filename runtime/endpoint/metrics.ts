import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Live } from "./live.js";
import type { Observation } from "./gateway.js";

/** Upper bounds of the duration buckets, in seconds: from an answer out of memory to a statement that times out. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Methods that get a label of their own; a caller may send any word. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS"]);

/** What `/metrics` shows (decisions.md §A). Labels come from closed sets, never from what a caller sends. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<"tier" | "method" | "status">;
  readonly #durations: Histogram<"tier">;
  /** Looking a labelled counter up costs more than counting: each is looked up once. */
  readonly #counters = new Map<string, Counter.Internal>();
  readonly #timers = new Map<string, Histogram.Internal<"tier">>();

  constructor(live: Live) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#requests = new Counter({
      name: "routewright_requests_total",
      help: "Requests to the data API by the caller's tier, method and status.",
      labelNames: ["tier", "method", "status"],
      registers,
    });
    this.#durations = new Histogram({
      name: "routewright_request_duration_seconds",
      help: "Time from request to answer by the caller's tier.",
      labelNames: ["tier"],
      buckets: BUCKETS,
      registers,
    });
    describeLive(live, registers);
  }

  count({ tier, method, status, milliseconds }: Observation): void {
    this.#counter(tier, METHODS.has(method) ? method : "other", String(status)).inc();
    let timer = this.#timers.get(tier);
    if (!timer) this.#timers.set(tier, (timer = this.#durations.labels(tier)));
    timer.observe(milliseconds / 1000);
  }

  #counter(tier: string, method: string, status: string): Counter.Internal {
    const key = `${tier} ${method} ${status}`;
    let counter = this.#counters.get(key);
    if (!counter) this.#counters.set(key, (counter = this.#requests.labels(tier, method, status)));
    return counter;
  }

  /** Prometheus text. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}

/** What is in service; the hash tells replicas apart that serve different manifests. */
function describeLive(live: Live, registers: Registry[]): void {
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
