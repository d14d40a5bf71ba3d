import { AggregatorRegistry, collectDefaultMetrics, Counter, Registry } from "prom-client";
import { setTimeout as sleep } from "node:timers/promises";

/** What writes Prometheus text. Loaded at the first scrape. */

export type LabelValues<Name extends string = string> = Readonly<Record<Name, string | number>>;

/** A series of a counter or a gauge. */
export interface CountedSeries {
  readonly labels: LabelValues;
  value: number;
}

/** A series of a histogram. */
export interface DurationSeries {
  readonly labels: LabelValues;
  /** Of the buckets, in seconds. */
  readonly bounds: readonly number[];
  /** By the first bucket that a duration belongs to; the last are longer than all bounds. */
  readonly counts: Float64Array;
  readonly seconds: number;
}

/** A metric, which is read at each scrape: a counter if its name ends in `_total`, a histogram with `type`, otherwise a gauge. */
export interface CollectedMetric {
  readonly name: string;
  readonly help: string;
  readonly type?: "histogram";
  /** Names of its labels; none by default. */
  readonly labels?: readonly string[];
  /** How the values of several workers combine: a sum, unless all of them show the same. */
  readonly aggregator?: "sum" | "max";
  /** The value, one for each value of the only label, or series. */
  readonly values: () => number | Iterable<readonly [string, number] | CountedSeries | DurationSeries>;
}

/** Metrics of one process, as prom-client's `getMetricsAsJSON` gives them. */
export type MetricsSnapshot = readonly object[];

/** How often prom-client measures the delay of the event loop, in milliseconds. */
const PRECISION_MS = 10;

/** Reads metrics together with those of the process and of Node, which are counted from its opening on. */
export class MetricsReader {
  readonly #process = new Registry();

  private constructor() {
    collectDefaultMetrics({ register: this.#process, eventLoopMonitoringPrecision: PRECISION_MS });
    countProcessorTime(this.#process);
  }

  static async open(): Promise<MetricsReader> {
    const reader = new MetricsReader();
    // Before the first measurement the shortest delay is 9e9 s, and the mean is none.
    // One by one: after a pause of the process a single timer may come before the measurement's.
    for (let i = 0; i < 3; i++) await sleep(PRECISION_MS);
    return reader;
  }

  async text(metrics: readonly CollectedMetric[]): Promise<string> {
    return `${await this.#process.metrics()}\n${await prometheusText([snapshotOf(metrics)])}`;
  }

  async snapshot(metrics: readonly CollectedMetric[]): Promise<MetricsSnapshot> {
    return [...(await this.#process.getMetricsAsJSON()), ...snapshotOf(metrics)];
  }
}

/** The processor time since the start of the process. */
function countProcessorTime(registry: Registry): void {
  const { user, system } = process.cpuUsage();
  const used = { cpu: user + system, cpu_user: user, cpu_system: system };
  for (const [kind, microseconds] of Object.entries(used)) {
    const counter = registry.getSingleMetric(`process_${kind}_seconds_total`);
    if (counter instanceof Counter) counter.inc(microseconds / 1e6);
  }
}

/** The text of these metrics; those of one name are combined. */
export function prometheusText(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  return AggregatorRegistry.aggregate([...snapshots]).metrics();
}

/** These metrics as one. */
export function combined(snapshots: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
  return AggregatorRegistry.aggregate([...snapshots]).getMetricsAsJSON();
}

/** What the metrics show now. */
export function snapshotOf(metrics: readonly CollectedMetric[]): MetricsSnapshot {
  return metrics.map((metric) => {
    const { name, help, aggregator = "sum" } = metric;
    const type = metric.type ?? (name.endsWith("_total") ? "counter" : "gauge");
    return { name, help, type, aggregator, values: valuesOf(metric) };
  });
}

function valuesOf({ name, labels = [], values }: CollectedMetric): readonly object[] {
  const found = values();
  if (typeof found === "number") return [{ labels: {}, value: found }];
  const [label = ""] = labels;
  return Array.from(found).flatMap((each: readonly [string, number] | CountedSeries | DurationSeries) => {
    if ("counts" in each) return bucketsOf(name, each);
    return "value" in each ? [each] : [{ labels: { [label]: each[0] }, value: each[1] }];
  });
}

function bucketsOf(name: string, { labels, bounds, counts, seconds }: DurationSeries): readonly object[] {
  let count = 0;
  const buckets = [...bounds, "+Inf"].map((le, i) => {
    count += counts[i] ?? 0;
    return { labels: { le, ...labels }, value: count, metricName: `${name}_bucket` };
  });
  const sum = { labels, value: seconds, metricName: `${name}_sum` };
  return [...buckets, sum, { labels, value: count, metricName: `${name}_count` }];
}
