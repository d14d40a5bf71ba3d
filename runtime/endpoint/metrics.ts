import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Live } from "./live.js";
import type { Observation } from "./gateway.js";

/** Upper bounds of the duration buckets, in seconds: from an answer out of memory to a statement that times out. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Methods that get a label of their own; a caller may send any word. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS"]);

/** Requests of one kind. */
interface Count {
  readonly labels: { readonly tier: string; readonly method: string; readonly status: string };
  number: number;
}

/** What `/metrics` shows (decisions.md §A). Labels come from closed sets, never from what a caller sends. */
export class Metrics {
  readonly #registry = new Registry();
  /** Counted here and handed over when somebody looks: a request must not pay for the labels. */
  readonly #counts = new Map<string, Count>();
  readonly #durations: Histogram<"tier">;
  readonly #timers = new Map<string, Histogram.Internal<"tier">>();

  constructor(live: Live) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    describeRequests(this.#counts, registers);
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
    const key = `${tier} ${method} ${status}`;
    const count = this.#counts.get(key) ?? this.#newCount(key, tier, method, status);
    count.number++;
    let timer = this.#timers.get(tier);
    if (!timer) this.#timers.set(tier, (timer = this.#durations.labels(tier)));
    timer.observe(milliseconds / 1000);
  }

  /** Of a method that nobody knows, only that it was another one is kept. */
  #newCount(key: string, tier: string, method: string, status: number): Count {
    const known = METHODS.has(method) ? method : "other";
    const kept = METHODS.has(method) ? key : `${tier} other ${status}`;
    const count = this.#counts.get(kept) ?? {
      labels: { tier, method: known, status: String(status) },
      number: 0,
    };
    this.#counts.set(kept, count);
    return count;
  }

  /** Prometheus text. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}

function describeRequests(counts: ReadonlyMap<string, Count>, registers: Registry[]): void {
  new Counter({
    name: "routewright_requests_total",
    help: "Requests to the data API by the caller's tier, method and status.",
    labelNames: ["tier", "method", "status"],
    registers,
    collect() {
      this.reset();
      for (const { labels, number } of counts.values()) this.inc(labels, number);
    },
  });
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
