import type { CollectedMetric } from "@routewright/runtime/internal/core/http/prometheus.js";
import { ServiceMetrics } from "@routewright/runtime/internal/core/http/service-metrics.js";

/** Upper bounds of the duration buckets, in seconds: the longest requests wait for slow providers. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** What the database shows when the metrics are read. */
export interface Backlog {
  readonly attention: number;
  /** Connections whose offers are wrong. */
  readonly providers: number;
  readonly exhausted: number;
  readonly queues: readonly { readonly queue: string; readonly due: number; readonly age: number }[];
  readonly statuses: readonly { readonly status: string; readonly count: number }[];
}

/** The metrics of the ramp process. Labels come from closed sets, never from a request. */
export class RampMetrics extends ServiceMetrics<"path"> {
  readonly #calls = this.counts(
    "routewright_ramp_provider_calls_total",
    "Attempts of calls to providers by operation and outcome: answer, refused, unknown, invalid, unavailable.",
    ["provider", "operation", "outcome"],
  );
  readonly #callDurations = this.durations(
    "routewright_ramp_provider_call_duration_seconds",
    "Time of an attempt by provider.",
    ["provider"],
  );
  readonly #breaker = this.counts(
    "routewright_ramp_provider_circuit_open",
    "Connections that are not called because their last calls failed, by provider.",
    ["provider"],
  );
  #backlog: Backlog = { attention: 0, providers: 0, exhausted: 0, queues: [], statuses: [] };

  constructor() {
    super("ramp", ["path"], BUCKETS);
    this.metrics.push(...this.#ofBacklog());
  }

  /** Counts one attempt of a call, and how long it took. `provider`: its code. */
  countProviderCall(
    labels: Readonly<Record<"provider" | "operation" | "outcome", string>>,
    milliseconds: number,
  ): void {
    this.#calls.of(labels).value++;
    this.#callDurations.of({ provider: labels.provider }).add(milliseconds / 1000);
  }

  /** Counts circuit breakers that opened (1) or closed (-1). Zero shows the provider before its first failure. */
  countOpenBreakers(provider: string, change: -1 | 0 | 1): void {
    this.#breaker.of({ provider }).value += change;
  }

  text(backlog: Backlog): Promise<string> {
    this.#backlog = backlog;
    return this.scrape();
  }

  #ofBacklog(): readonly CollectedMetric[] {
    return [
      {
        name: "routewright_ramp_intents_attention",
        help: "Intents that need the operator's attention: routewright ramp intents --stuck.",
        values: () => this.#backlog.attention,
      },
      {
        name: "routewright_ramp_providers_attention",
        help: "Connections whose last offer did not follow from its own rate and fees, or did not fit the request: routewright ramp doctor.",
        values: () => this.#backlog.providers,
      },
      {
        name: "routewright_ramp_queue_due",
        help: "Rows that are due: intents to process, webhook deliveries to send.",
        labels: ["queue"],
        values: () => this.#backlog.queues.map(({ queue, due }) => [queue, due] as const),
      },
      {
        name: "routewright_ramp_queue_oldest_seconds",
        help: "How long the oldest due row has been due.",
        labels: ["queue"],
        values: () => this.#backlog.queues.map(({ queue, age }) => [queue, age] as const),
      },
      {
        name: "routewright_ramp_deliveries_exhausted",
        help: "Deliveries to enabled webhooks that were given up in the last 7 days.",
        values: () => this.#backlog.exhausted,
      },
      {
        name: "routewright_ramp_intents_open",
        help: "Intents that have not ended, by status.",
        labels: ["status"],
        values: () => this.#backlog.statuses.map(({ status, count }) => [status, count] as const),
      },
    ];
  }
}
