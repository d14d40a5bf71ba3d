import { type CachedService, cacheBytes } from "./bounded-cache.js";
import { droppedLogLines } from "./logger.js";
import type { CollectedMetric, CountedSeries, LabelValues, MetricsSnapshot } from "./prometheus.js";
import { loadedOnce } from "../model/loaded-once.js";

/** What a service counts of each response, beside its own labels. */
interface CountedResponse {
  readonly method: string;
  readonly status: number;
  readonly milliseconds: number;
}

/** Of the names of metrics. */
const PREFIXES: Readonly<Record<CachedService, string>> = { data: "routewright", ramp: "routewright_ramp" };

/** Methods with a label value of their own. Others share one, since a caller may send any word. */
const METHOD_LABELS = ["GET", "HEAD", "POST", "QUERY", "OPTIONS", "other"];
const OTHER = METHOD_LABELS.indexOf("other");
const METHODS: ReadonlyMap<string, number> = new Map(METHOD_LABELS.map((method, place) => [method, place]));

/** Of the text that Prometheus reads. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * The metrics of one service: of its process, its log and its requests. Each service counts its own: the two have different
 * readers, and Prometheus scrapes both ports and would count each request twice. They are counted here: prom-client makes a text of
 * the labels at each `inc` and each `observe`, 2 µs of a request, and takes 5 MB. It comes with the first scrape.
 */
export class ServiceMetrics<Label extends string> {
  readonly metrics: CollectedMetric[] = [DROPPED_LOG_LINES];
  readonly #buckets: readonly number[];
  /** In the order of their first requests. Bounded by labels, methods and statuses. */
  readonly #series: CountedSeries[] = [];
  readonly #responses: ByLabels<Label, ResponseCounts>;
  readonly #reader = loadedOnce(async () => (await import("./prometheus.js")).MetricsReader.open());

  /** `labels` say which operation, and for whom; `buckets`: in seconds. */
  constructor(service: CachedService, labels: readonly Label[], buckets: readonly number[]) {
    const prefix = PREFIXES[service];
    this.#buckets = buckets;
    this.metrics.push(
      {
        name: `${prefix}_cache_bytes`,
        help: "Memory of a cache, by its name.",
        labels: ["cache"],
        values: () => cacheBytes(service),
      },
      {
        name: `${prefix}_requests_total`,
        help: "Requests by operation, method and status.",
        labels: [...labels, "method", "status"],
        values: () => this.#series,
      },
    );
    const durations = this.durations(
      `${prefix}_request_duration_seconds`,
      "From a request to the end of its response.",
      labels,
    );
    this.#responses = new ByLabels(labels, (values) => new ResponseCounts(values, durations.of(values)));
  }

  /** Counts by labels. */
  protected counts<Name extends string>(name: string, help: string, labels: readonly Name[]) {
    const counts = new ByLabels(labels, (values): CountedSeries => ({ labels: values, value: 0 }));
    this.metrics.push({ name, help, labels, values: () => counts.all() });
    return counts;
  }

  /** A histogram. */
  protected durations<Name extends string>(name: string, help: string, labels: readonly Name[]) {
    const durations = new ByLabels(labels, (values) => new Durations(values, this.#buckets));
    this.metrics.push({ name, help, type: "histogram", labels, values: () => durations.all() });
    return durations;
  }

  count(labels: Readonly<Record<Label, string>>, response: CountedResponse): void {
    this.countIn(this.responsesOf(labels), response);
  }

  /** What counts the responses with these labels. */
  protected responsesOf(labels: Readonly<Record<Label, string>>): ResponseCounts {
    return this.#responses.of(labels);
  }

  protected countIn(counts: ResponseCounts, response: CountedResponse): void {
    const added = counts.add(response);
    if (added !== null) this.#series.push(added);
  }

  /** Prometheus text. */
  async scrape(): Promise<string> {
    return (await this.#reader()).text(this.metrics);
  }

  /** For a scrape of several processes. */
  async snapshot(): Promise<MetricsSnapshot> {
    return (await this.#reader()).snapshot(this.metrics);
  }
}

/** What is counted by labels. */
class ByLabels<Name extends string, Counted> {
  readonly #names: readonly Name[];
  readonly #open: (labels: LabelValues<Name>) => Counted;
  /** Bounded by the values of the labels, which come from closed sets. */
  readonly #counted = new Map<string, Counted>();

  constructor(names: readonly Name[], open: (labels: LabelValues<Name>) => Counted) {
    this.#names = names;
    this.#open = open;
  }

  of(labels: LabelValues<Name>): Counted {
    let key = "";
    for (const name of this.#names) key += `${String(labels[name])}\0`;
    let counted = this.#counted.get(key);
    if (counted === undefined) this.#counted.set(key, (counted = this.#open(labels)));
    return counted;
  }

  all(): Iterable<Counted> {
    return this.#counted.values();
  }
}

class Durations {
  readonly labels: LabelValues;
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  seconds = 0;

  constructor(labels: LabelValues, bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  add(seconds: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && seconds > (this.bounds[bucket] ?? 0)) bucket++;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.seconds += seconds;
  }
}

/**
 * The responses of one operation to callers of one kind. Without spreads at a request: a hidden class of each object took 400 bytes
 * of the old generation for each.
 */
export class ResponseCounts {
  readonly #labels: LabelValues;
  /** By status and method. Bounded by the statuses of the service. */
  readonly #requests = new Map<number, CountedSeries>();
  readonly #durations: Durations;

  constructor(labels: LabelValues, durations: Durations) {
    this.#labels = labels;
    this.#durations = durations;
  }

  /** Counts a response. Returns the series of requests that begins with it. */
  add({ method, status, milliseconds }: CountedResponse): CountedSeries | null {
    this.#durations.add(milliseconds / 1000);
    const place = METHODS.get(method) ?? OTHER;
    const series = this.#requests.get(status * METHOD_LABELS.length + place);
    if (series === undefined) return this.#open(place, status);
    series.value++;
    return null;
  }

  #open(place: number, status: number): CountedSeries {
    const series = { labels: { ...this.#labels, method: METHOD_LABELS[place] ?? "", status }, value: 1 };
    this.#requests.set(status * METHOD_LABELS.length + place, series);
    return series;
  }
}

export const DROPPED_LOG_LINES: CollectedMetric = {
  name: "routewright_log_lines_dropped_total",
  help: "Log lines lost because standard output took none: a full disk, a reader that stopped.",
  values: droppedLogLines,
};
