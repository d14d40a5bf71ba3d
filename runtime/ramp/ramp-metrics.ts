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

/** The metrics of the ramp process. Labels come from closed sets, never from a request. */
export class RampMetrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<"path" | "method" | "status">;
  readonly #durations: Histogram<"path">;
  readonly #invalidReplies: Counter<"field">;
  readonly #attention: Gauge;

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

  /** @param attention number of intents that need the operator's attention */
  text(attention: number): Promise<string> {
    this.#attention.set(attention);
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}
