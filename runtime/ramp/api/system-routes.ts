import type { RampContext } from "../context.js";
import type { AuthenticationContext } from "./authenticate.js";
import type { Request } from "express";
import { isLoopback } from "../../http/client-address.js";
import { type RampResponse, jsonResponse, rampError, type RampError } from "../ramp-errors.js";
import { openApiDocument } from "./openapi.js";
import { collectDefaultMetrics, Counter, Histogram, Registry } from "prom-client";

export const TITLE = "Routewright Ramp API";

export interface ApiServices {
  readonly ramp: RampContext;
  readonly gate: AuthenticationContext;
  readonly metrics: RampMetrics;
  readonly metricsPublic: boolean;
}

/** A public path of the service itself, as on the data API. */
export interface SystemPath {
  readonly path: string;
  readonly handle: (service: ApiServices, request: Request) => Promise<RampResponse | RampError>;
}

export const SYSTEM_PATHS: readonly SystemPath[] = [
  {
    path: "/",
    handle: () => Promise.resolve(jsonResponse(200, { status: "online", service: TITLE, docs: "/docs" })),
  },
  { path: "/health", handle: health },
  {
    path: "/openapi.json",
    handle: ({ ramp }) => Promise.resolve(jsonResponse(200, openApiDocument(ramp.publicUrl))),
  },
  { path: "/metrics", handle: metrics },
];

async function health({ ramp }: ApiServices): Promise<RampResponse> {
  const connected = await ramp.database.isReachable();
  return jsonResponse(connected ? 200 : 503, {
    status: connected ? "ok" : "unavailable",
    database_connected: connected,
  });
}

/** Open to this machine; a forwarded request comes from elsewhere. */
async function metrics(
  { gate, metrics: shown, metricsPublic }: ApiServices,
  request: Request,
): Promise<RampResponse | RampError> {
  const isLocal = isLoopback(gate.addressOf(request)) && request.headers["x-forwarded-for"] === undefined;
  if (!metricsPublic && !isLocal) return rampError("METRICS_FORBIDDEN");
  return { status: 200, body: await shown.text(), headers: { "Content-Type": shown.contentType } };
}

/** Upper bounds of the duration buckets, in seconds: the longest is a request that waits for slow providers. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS"]);

interface Served {
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
