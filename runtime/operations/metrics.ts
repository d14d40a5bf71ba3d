import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import { droppedLogLines } from "../server/logger.js";
import { setImmediate as nextTurn } from "node:timers/promises";
import { TIERS } from "../model/tier.js";
import type { WarehouseLoad } from "../warehouse/warehouse.js";
import {
  BOUNDS,
  type Durations,
  METHODS,
  type RequestRecord,
  RouteCounter,
  type RouteCounts,
  type RouteSnapshot,
} from "./request-counters.js";

/** How many refreshes ended with each result. */
export type RefreshCounts = Readonly<Record<"reloaded" | "unchanged" | "error", number>>;

/** The part of the active release that the metrics show. */
export interface ServedRelease {
  /** By path. */
  readonly endpoints: ReadonlyMap<string, unknown>;
  /** The manifest it was rendered from; null while the generated folder is served. */
  readonly manifest: {
    readonly hash: string;
    readonly loadedAt: number;
    readonly heldBack: readonly unknown[];
  } | null;
  /** Number of models tagged for the API that have no endpoint. */
  readonly skippedModels: number;
  /** Relations that endpoints need and the database does not have. */
  readonly missingRelations: readonly string[];
  readonly load: WarehouseLoad;
  /** What works less well than it should, while queries still succeed. */
  readonly degraded: Readonly<Record<"rate_limits" | "replicas", boolean>>;
  /** By category: seconds since the data of its oldest endpoint was built. Without endpoints whose builds are unknown. */
  readonly dataAges: ReadonlyMap<string, number>;
}

/** Metrics of one process, fit for structured clone. */
export interface MetricsSnapshot {
  /** As prom-client's `getMetricsAsJSON` gives them. */
  readonly process: readonly object[];
  readonly routes: RouteSnapshot;
}

/** The metrics of `/metrics` (runtime/README.md, Operations). Label values are never text that a caller sends. */
export class Metrics {
  /** Counts of requests. */
  readonly routes: RouteCounter;
  readonly #cached: Counter;
  readonly #registry = new Registry();

  /** `refreshes`: null in a worker, whose primary counts them. */
  constructor(served: () => ServedRelease, refreshes: RefreshCounts | null) {
    collectDefaultMetrics({ register: this.#registry });
    describeRelease(served, [this.#registry]);
    describeDatabase(served, [this.#registry]);
    describeDataAges(served, [this.#registry]);
    describeLog([this.#registry]);
    if (refreshes !== null) describeRefreshes(refreshes, [this.#registry]);
    this.routes = new RouteCounter(() => served().endpoints);
    this.#cached = new Counter({
      name: "routewright_cached_responses_total",
      help: "Responses with rows that ran no query: from the cache, or shared with another request.",
      registers: [this.#registry],
    });
  }

  /** Counts a response. */
  count(record: RequestRecord): void {
    this.routes.count(record);
    if (record.rows !== null && record.databaseMs === null) this.#cached.inc();
  }

  async snapshot(): Promise<MetricsSnapshot> {
    return { process: await this.#registry.getMetricsAsJSON(), routes: this.routes.snapshot() };
  }

  /** Prometheus text. */
  async text(): Promise<string> {
    return `${await this.#registry.metrics()}\n${await routesText(this.routes.snapshot())}`;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}

/** Connections, the queue for them, and responses that needed none. */
function describeDatabase(served: () => ServedRelease, registers: Registry[]): void {
  const metrics = [
    [Gauge, "routewright_queries_running", "Queries that hold a database connection.", "running", 1],
    [Gauge, "routewright_queries_waiting", "Queries that wait for a database connection.", "waiting", 1],
    [Counter, "routewright_queries_total", "Queries that got a database connection.", "started", 1],
    [Counter, "routewright_queue_seconds_total", "Time that queries waited for one.", "waitedMs", 1000],
  ] as const;
  for (const [Metric, name, help, field, divisor] of metrics)
    new Metric({
      name,
      help,
      registers,
      collect(this: Gauge | Counter) {
        this.reset();
        this.inc(served().load[field] / divisor);
      },
    });
}

function describeDataAges(served: () => ServedRelease, registers: Registry[]): void {
  new Gauge({
    name: "routewright_data_age_seconds",
    help: "Since the build of the oldest data of a category; absent where no build is known.",
    labelNames: ["category"],
    aggregator: "max",
    registers,
    collect() {
      this.reset();
      for (const [category, seconds] of served().dataAges) this.set({ category }, seconds);
    },
  });
}

export function describeRefreshes(refreshes: RefreshCounts, registers: Registry[]): void {
  new Counter({
    name: "routewright_refreshes_total",
    help: "Reads of the manifest by result.",
    labelNames: ["result"],
    registers,
    collect() {
      this.reset();
      for (const [result, count] of Object.entries(refreshes)) this.inc({ result }, count);
    },
  });
}

export const LOG_LINES_DROPPED = {
  name: "routewright_log_lines_dropped_total",
  help: "Log lines lost because standard output took none: a full disk, a reader that stopped.",
};

function describeLog(registers: Registry[]): void {
  new Counter({
    ...LOG_LINES_DROPPED,
    registers,
    collect() {
      this.reset();
      this.inc(droppedLogLines());
    },
  });
}

/** Gauges of the active release. The hash shows which replicas serve different manifests. */
function describeRelease(served: () => ServedRelease, registers: Registry[]): void {
  const gauges: readonly (readonly [name: string, help: string, value: () => number])[] = [
    ["routewright_endpoints", "Endpoints in service.", () => served().endpoints.size],
    [
      "routewright_missing_relations",
      "Relations of endpoints that the database does not have.",
      () => served().missingRelations.length,
    ],
    [
      "routewright_skipped_models",
      "Models tagged for the API that have no endpoint in service.",
      () => served().skippedModels,
    ],
    [
      "routewright_held_back_endpoints",
      "Endpoints whose changes the guard holds back.",
      () => served().manifest?.heldBack.length ?? 0,
    ],
  ];
  for (const [name, help, value] of gauges)
    new Gauge({
      name,
      help,
      // Workers serve the same release: a sum would count it several times.
      aggregator: "max",
      registers,
      collect() {
        this.set(value());
      },
    });
  new Gauge({
    name: "routewright_degraded",
    help: "1 while rate limits are counted per process as Redis is unreachable, or a server of several is out of service.",
    labelNames: ["part"],
    aggregator: "max",
    registers,
    collect() {
      for (const [part, isDegraded] of Object.entries(served().degraded))
        this.set({ part }, Number(isDegraded));
    },
  });
  new Gauge({
    name: "routewright_manifest_loaded_timestamp_seconds",
    help: "When the manifest in service was loaded, by its hash; absent while the generated folder is served.",
    labelNames: ["hash"],
    aggregator: "max",
    registers,
    collect() {
      const { manifest } = served();
      this.reset();
      if (manifest) this.set({ hash: manifest.hash }, manifest.loadedAt / 1000);
    },
  });
}

/** Prometheus text of the routes with requests. Yields to the event loop between chunks. */
export async function routesText(snapshot: RouteSnapshot): Promise<string> {
  const pieces = [];
  for (const piece of chunksOf(snapshot)) {
    pieces.push(piece);
    await nextTurn();
  }
  return pieces.join("");
}

/** The text of the routes in chunks; each takes a few milliseconds. */
function* chunksOf({ routes: counts, database }: RouteSnapshot): Generator<string> {
  const routes = [...counts.values()];
  const tiers = database.map((durations, tier) => ({ tier: String(TIERS[tier]), durations }));
  yield* family(REQUESTS, "counter", "Requests to the data API.", routes, responsesText);
  yield* family(DURATION, "histogram", "From a request to the end of its response.", routes, durationsText);
  yield* family(DATABASE, "histogram", "Time that the database took.", tiers, databaseText);
  yield* counter(
    DATABASE_TOTAL,
    "Time that the database took.",
    routes,
    (counts) => counts.databaseMs / 1000,
  );
  yield* counter(ROWS, "Rows sent.", routes, (counts) => counts.rows);
  yield* counter(BYTES, "Bytes of the bodies sent.", routes, (counts) => counts.bytes);
}

const REQUESTS = "routewright_requests_total";
const DURATION = "routewright_request_duration_seconds";
const DATABASE = "routewright_database_duration_seconds";
const DATABASE_TOTAL = "routewright_database_seconds_total";
const ROWS = "routewright_rows_total";
const BYTES = "routewright_response_bytes_total";

/** Routes per chunk. */
const PIECE = 200;

/** Time that the database took for the requests of one tier. */
interface TierDurations {
  readonly tier: string;
  readonly durations: Durations;
}

/** The header and the lines of one metric. */
function* family<T>(
  name: string,
  type: "counter" | "histogram",
  help: string,
  parts: readonly T[],
  lines: (part: T) => string,
): Generator<string> {
  yield `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  for (let first = 0; first < parts.length; first += PIECE) {
    const piece = parts.slice(first, first + PIECE);
    yield piece.map(lines).join("");
  }
}

function counter(
  name: string,
  help: string,
  routes: readonly RouteCounts[],
  value: (counts: RouteCounts) => number,
): Generator<string> {
  return family(name, "counter", help, routes, (counts) => `${name}{${counts.label}} ${value(counts)}\n`);
}

function responsesText({ label, responses }: RouteCounts): string {
  return responses
    .map(({ tier, method, status, number }) => {
      const labels = `${label},${tierLabel(tier)},method="${METHODS[method] ?? "other"}",status="${status}"`;
      return `${REQUESTS}{${labels}} ${number}\n`;
    })
    .join("");
}

function durationsText({ label, durations }: RouteCounts): string {
  return durations
    .map((each, tier) =>
      each === undefined ? "" : histogramText(DURATION, `${label},${tierLabel(tier)}`, each),
    )
    .join("");
}

function databaseText({ tier, durations }: TierDurations): string {
  return histogramText(DATABASE, `tier="${tier}"`, durations);
}

function tierLabel(tierIndex: number): string {
  return `tier="${String(TIERS[tierIndex])}"`;
}

/** The end of each bucket's line, with the bound in seconds. */
const LE = [...BOUNDS.map((bound) => `${bound / 1000}"} `), '+Inf"} '];

/** The lines of a Prometheus histogram; `labels` are written out, such as `tier="tier0"`. */
function histogramText(name: string, labels: string, { counts, milliseconds }: Durations): string {
  const bucketOf = `${name}_bucket{${labels},le="`;
  let text = "";
  let count = 0;
  for (let bucket = 0; bucket < LE.length; bucket++) {
    count += counts[bucket] ?? 0;
    text += bucketOf + String(LE[bucket]) + String(count) + "\n";
  }
  return `${text}${name}_sum{${labels}} ${milliseconds / 1000}\n${name}_count{${labels}} ${count}\n`;
}
