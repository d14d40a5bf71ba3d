import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

/** Parts of a provider's answer that are checked against the request. */
export type ReplyField = "id" | "quote" | "instruction" | "receipt" | "refund";

/** Upper bounds of the duration buckets, in seconds: the longest requests wait for slow providers. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS"]);

interface ServedRequest {
  /** The path as declared; null for an unknown one. */
  readonly path: string | null;
  readonly method: string;
  readonly status: number;
  readonly milliseconds: number;
}

interface ProviderCall {
  /** Code of the provider. */
  readonly provider: string;
  readonly operation: string;
  readonly outcome: string;
  readonly milliseconds: number;
}

/** What the database shows when the metrics are read. */
export interface Backlog {
  readonly attention: number;
  readonly exhausted: number;
  readonly queues: readonly { readonly queue: string; readonly due: number; readonly age: number }[];
  readonly statuses: readonly { readonly status: string; readonly count: number }[];
}

/** The metrics of the ramp process. Labels come from closed sets, never from a request. */
export class RampMetrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<"path" | "method" | "status">;
  readonly #durations: Histogram<"path">;
  readonly #invalidReplies: Counter<"field">;
  readonly #attention: Gauge;
  readonly #calls: Counter<"provider" | "operation" | "outcome">;
  readonly #callDurations: Histogram<"provider">;
  readonly #breaker: Gauge<"provider">;
  readonly #backlog: Gauge<"queue">;
  readonly #backlogAge: Gauge<"queue">;
  readonly #exhausted: Gauge;
  readonly #open: Gauge<"status">;

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#requests = new Counter({
      name: "routewright_ramp_requests_total",
      help: "Requests to the ramp API by path, method and status.",
      labelNames: ["path", "method", "status"],
      registers,
    });
    this.#durations = new Histogram({
      name: "routewright_ramp_request_duration_seconds",
      help: "Time from request to answer by path.",
      labelNames: ["path"],
      buckets: BUCKETS,
      registers,
    });
    this.#invalidReplies = new Counter({
      name: "routewright_ramp_invalid_provider_replies_total",
      help: "Parts of provider answers that contradicted the request and were left out, by field.",
      labelNames: ["field"],
      registers,
    });
    this.#attention = new Gauge({
      name: "routewright_ramp_intents_attention",
      help: "Intents that need the operator's attention: routewright ramp intents --stuck.",
      registers,
    });
    this.#calls = new Counter({
      name: "routewright_ramp_provider_calls_total",
      help: "Attempts of calls to providers by operation and outcome: answer, refused, unknown, unavailable.",
      labelNames: ["provider", "operation", "outcome"],
      registers,
    });
    this.#callDurations = new Histogram({
      name: "routewright_ramp_provider_call_duration_seconds",
      help: "Time of an attempt by provider.",
      labelNames: ["provider"],
      buckets: BUCKETS,
      registers,
    });
    this.#breaker = new Gauge({
      name: "routewright_ramp_provider_circuit_open",
      help: "Connections that are not called because their last calls failed, by provider.",
      labelNames: ["provider"],
      registers,
    });
    this.#backlog = new Gauge({
      name: "routewright_ramp_queue_due",
      help: "Rows that are due: intents to process, webhook deliveries to send.",
      labelNames: ["queue"],
      registers,
    });
    this.#backlogAge = new Gauge({
      name: "routewright_ramp_queue_oldest_seconds",
      help: "How long the oldest due row has been due.",
      labelNames: ["queue"],
      registers,
    });
    this.#exhausted = new Gauge({
      name: "routewright_ramp_deliveries_exhausted",
      help: "Deliveries to enabled webhooks that were given up in the last 7 days.",
      registers,
    });
    this.#open = new Gauge({
      name: "routewright_ramp_intents_open",
      help: "Intents that have not ended, by status.",
      labelNames: ["status"],
      registers,
    });
  }

  /** Counts one attempt of a call, and how long it took. */
  countProviderCall(call: ProviderCall): void {
    const { provider, operation, outcome, milliseconds } = call;
    this.#calls.inc({ provider, operation, outcome });
    this.#callDurations.observe({ provider }, milliseconds / 1000);
  }

  /** Counts circuit breakers that opened (1) or closed (-1). Zero shows the provider before its first failure. */
  countOpenBreakers(provider: string, change: -1 | 0 | 1): void {
    this.#breaker.inc({ provider }, change);
  }

  /** Counts a part of a provider's answer that was invalid and left out. */
  countInvalidReply(field: ReplyField): void {
    this.#invalidReplies.inc({ field });
  }

  countRequest({ path, method, status, milliseconds }: ServedRequest): void {
    const name = path ?? "other";
    this.#requests.inc({
      path: name,
      method: METHODS.has(method) ? method : "other",
      status: String(status),
    });
    this.#durations.observe({ path: name }, milliseconds / 1000);
  }

  text({ attention, exhausted, queues, statuses }: Backlog): Promise<string> {
    this.#attention.set(attention);
    this.#exhausted.set(exhausted);
    for (const { queue, due, age } of queues) {
      this.#backlog.set({ queue }, due);
      this.#backlogAge.set({ queue }, age);
    }
    this.#open.reset();
    for (const { status, count } of statuses) this.#open.set({ status }, count);
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}
