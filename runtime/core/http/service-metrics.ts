import { type CachedService, cacheBytes } from "./bounded-cache.js";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { droppedLogLines } from "./logger.js";

/** What a service counts of each response, beside its own labels. */
interface CountedResponse {
  readonly method: string;
  readonly status: number;
  readonly milliseconds: number;
}

/** Of the names of metrics. */
const PREFIXES: Readonly<Record<CachedService, string>> = { data: "routewright", ramp: "routewright_ramp" };

/** Methods with a label value of their own. Others share one, since a caller may send any word. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "QUERY", "OPTIONS"]);

export interface CollectedMetric {
  readonly name: string;
  readonly help: string;
  readonly label?: string | undefined;
  /** How the values of several workers combine: a sum, unless all of them show the same. */
  readonly aggregator?: "sum" | "max";
  /** The value, or one for each value of the label. */
  readonly values: () => number | Iterable<readonly [string, number]>;
}

/**
 * The metrics of one service: of its process, its log and its requests. Each service has a registry of its own: the two
 * have different readers, and Prometheus scrapes both ports and would count each request twice.
 */
export class ServiceMetrics<Label extends string> {
  readonly registry = new Registry();
  readonly #buckets: number[];
  readonly #requests: Counter;
  readonly #durations: Histogram;

  /** `labels` say which operation, and for whom; `buckets`: in seconds. */
  constructor(service: CachedService, labels: readonly Label[], buckets: number[]) {
    const prefix = PREFIXES[service];
    this.#buckets = buckets;
    collectDefaultMetrics({ register: this.registry });
    addMetric(this.registry, DROPPED_LOG_LINES);
    addMetric(this.registry, {
      name: `${prefix}_cache_bytes`,
      help: "Memory of a cache, by its name.",
      label: "cache",
      values: () => cacheBytes(service),
    });
    const [total, duration] = [`${prefix}_requests_total`, `${prefix}_request_duration_seconds`];
    this.#requests = this.counter(
      total,
      "Requests by operation, method and status.",
      ...labels,
      "method",
      "status",
    );
    this.#durations = this.histogram(duration, "From a request to the end of its response.", labels);
  }

  protected counter(name: string, help: string, ...labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  protected histogram(name: string, help: string, labelNames: readonly string[]): Histogram {
    return new Histogram({ name, help, labelNames, buckets: this.#buckets, registers: [this.registry] });
  }

  count(labels: Readonly<Record<Label, string>>, { method, status, milliseconds }: CountedResponse): void {
    // Not a spread, which makes a hidden class of each object: 400 bytes of the old generation for each request, until it is collected.
    const counted = { method: METHODS.has(method) ? method : "other", status };
    this.#requests.inc(Object.assign({}, labels, counted));
    this.#durations.observe(labels, milliseconds / 1000);
  }
}

const RECENT_MS = 1000;

/**
 * What `make` has made within a second, or makes now: for readers of `/metrics` that only METRICS_PUBLIC lets in. Nothing limits how
 * often they read. With 503 endpoints, 8 connections that read the 800 kB made everybody else wait 0.8 to 2.1 s, now 14 to 145 ms.
 */
export function recentText(make: () => Promise<string>): () => Promise<string> {
  let kept: { readonly text: Promise<string>; readonly since: number } | null = null;
  return () => {
    const now = performance.now();
    if (kept === null || now - kept.since >= RECENT_MS) {
      kept = { text: make(), since: now };
      kept.text.catch(() => (kept = null));
    }
    return kept.text;
  };
}

export const DROPPED_LOG_LINES: CollectedMetric = {
  name: "routewright_log_lines_dropped_total",
  help: "Log lines lost because standard output took none: a full disk, a reader that stopped.",
  values: droppedLogLines,
};

/** Adds a metric that is read at each scrape: a counter if its name ends in `_total`, otherwise a gauge. */
export function addMetric(registry: Registry, metric: CollectedMetric): void {
  const { name, help, label, aggregator = "sum", values } = metric;
  const Metric = name.endsWith("_total") ? Counter : Gauge;
  new Metric({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    aggregator,
    registers: [registry],
    collect(this: Counter | Gauge) {
      this.reset();
      const found = values();
      if (typeof found === "number") this.inc(found);
      else for (const [value, number] of found) this.inc({ [label ?? ""]: value }, number);
    },
  });
}
