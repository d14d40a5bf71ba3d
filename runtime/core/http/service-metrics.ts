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
const METHODS = ["GET", "HEAD", "POST", "QUERY", "OPTIONS", "other"];
const OTHER = METHODS.indexOf("other");

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
  readonly #labels: readonly Label[];
  readonly #buckets: number[];
  /** In the order of their first requests. Bounded by labels, methods and statuses. */
  readonly #series: RequestSeries[] = [];
  /** By the values of their labels. Bounded by these: they come from closed sets. */
  readonly #responses = new Map<string, ResponseCounts<Label>>();

  /** `labels` say which operation, and for whom; `buckets`: in seconds. */
  constructor(service: CachedService, labels: readonly Label[], buckets: number[]) {
    const prefix = PREFIXES[service];
    this.#labels = labels;
    this.#buckets = buckets;
    collectDefaultMetrics({ register: this.registry });
    addMetric(this.registry, DROPPED_LOG_LINES);
    addMetric(this.registry, {
      name: `${prefix}_cache_bytes`,
      help: "Memory of a cache, by its name.",
      label: "cache",
      values: () => cacheBytes(service),
    });
    const [series, responses] = [this.#series, this.#responses];
    new Counter<string>({
      name: `${prefix}_requests_total`,
      help: "Requests by operation, method and status.",
      labelNames: [...labels, "method", "status"],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const { labels, count } of series) this.inc(labels, count);
      },
    });
    const durations = `${prefix}_request_duration_seconds`;
    this.registry.registerMetric(durationsMetric(durations, labels, responses) as unknown as Histogram);
  }

  protected counter(name: string, help: string, ...labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  protected histogram(name: string, help: string, labelNames: readonly string[]): Histogram {
    return new Histogram({ name, help, labelNames, buckets: this.#buckets, registers: [this.registry] });
  }

  count(labels: Readonly<Record<Label, string>>, response: CountedResponse): void {
    let key = "";
    for (const label of this.#labels) key += `${labels[label]}\0`;
    let counts = this.#responses.get(key);
    if (counts === undefined) this.#responses.set(key, (counts = new ResponseCounts(labels, this.#buckets)));
    const added = counts.add(response);
    if (added !== null) this.#series.push(added);
  }
}

/** A series of the counter of requests. */
interface RequestSeries {
  readonly labels: Readonly<Record<string, string | number>>;
  count: number;
}

/**
 * The responses of one operation to callers of one kind, which become metrics at a scrape: prom-client makes a text of the labels at
 * each `inc` and each `observe`, 2 µs of a request. Without spreads at a request: a hidden class of each object took 400 bytes of the
 * old generation for each.
 */
class ResponseCounts<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  /** By status and method. Bounded by the statuses of the service. */
  readonly #requests = new Map<number, RequestSeries>();
  readonly #bounds: readonly number[];
  /** By the first bucket that a response belongs to; the last are longer than all bounds. */
  readonly #durations: Float64Array;
  #seconds = 0;

  constructor(labels: Readonly<Record<Label, string>>, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#durations = new Float64Array(bounds.length + 1);
  }

  /** Counts a response. Returns the series of requests that begins with it. */
  add({ method, status, milliseconds }: CountedResponse): RequestSeries | null {
    const seconds = milliseconds / 1000;
    let bucket = 0;
    while (bucket < this.#bounds.length && seconds > (this.#bounds[bucket] ?? 0)) bucket++;
    this.#durations[bucket] = (this.#durations[bucket] ?? 0) + 1;
    this.#seconds += seconds;
    const known = METHODS.indexOf(method);
    const place = known === -1 ? OTHER : known;
    const series = this.#requests.get(status * METHODS.length + place);
    if (series === undefined) return this.#open(place, status);
    series.count++;
    return null;
  }

  #open(place: number, status: number): RequestSeries {
    const series = { labels: { ...this.labels, method: METHODS[place] ?? "", status }, count: 1 };
    this.#requests.set(status * METHODS.length + place, series);
    return series;
  }

  /** As prom-client has the values of a histogram. */
  durations(name: string): object[] {
    const [{ labels }, bounds] = [this, [...this.#bounds, "+Inf"]];
    let count = 0;
    const buckets = bounds.map((le, i) => {
      count += this.#durations[i] ?? 0;
      return { labels: { le, ...labels }, value: count, metricName: `${name}_bucket` };
    });
    const sum = { labels, value: this.#seconds, metricName: `${name}_sum` };
    return [...buckets, sum, { labels, value: count, metricName: `${name}_count` }];
  }
}

/** What a registry reads of a histogram. */
function durationsMetric(
  name: string,
  labelNames: readonly string[],
  responses: ReadonlyMap<string, ResponseCounts<string>>,
): object {
  const help = "From a request to the end of its response.";
  const values = () => Array.from(responses.values(), (counts) => counts.durations(name)).flat();
  const metric = { name, help, type: "histogram", aggregator: "sum", labelNames };
  return { ...metric, get: () => Promise.resolve({ ...metric, values: values() }) };
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
