import { collectDefaultMetrics, Counter, Histogram, Registry } from "prom-client";

/** Upper bounds of the duration buckets, in seconds: the longest is a request that waits for slow providers. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS"]);

export interface Served {
  /** The path as declared; null for one that nothing has. */
  readonly path: string | null;
  readonly method: string;
  readonly status: number;
  readonly milliseconds: number;
}

/** What `/metrics` shows. Labels come from closed sets, never from what a caller sends. */
export class RampMetrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<"path" | "method" | "status">;
  readonly #durations: Histogram<"path">;

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
  }

  count({ path, method, status, milliseconds }: Served): void {
    const name = path ?? "other";
    this.#requests.inc({
      path: name,
      method: METHODS.has(method) ? method : "other",
      status: String(status),
    });
    this.#durations.observe({ path: name }, milliseconds / 1000);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}
