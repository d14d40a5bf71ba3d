import { Counter, Histogram } from "prom-client";
import { addMetric, type CollectedMetric, ServiceMetrics } from "../http/service-metrics.js";
import type { WarehouseLoad } from "../warehouse/warehouse.js";
import type { RequestRecord } from "./request-record.js";

/** How many refreshes ended with each result. */
type RefreshCounts = Readonly<Record<"reloaded" | "unchanged" | "error", number>>;

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
  readonly degraded: Readonly<Record<"rate_limits" | "database", boolean>>;
  /** By category: seconds since the data of its oldest endpoint was built. Without endpoints whose builds are unknown. */
  readonly dataAges: ReadonlyMap<string, number>;
}

/** Upper bounds of the buckets, in seconds: from a cached result to a statement that times out. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** The label of requests to paths that no endpoint has; the paths of endpoints begin with a slash. */
const NO_ROUTE = "none";

/** The metrics of `/metrics` (runtime/docs/operations.md). Label values are never text that a caller sends. */
export class Metrics extends ServiceMetrics<"route" | "tier"> {
  readonly #database = new Histogram({
    name: "routewright_database_duration_seconds",
    help: "Time that the database took.",
    labelNames: ["tier"],
    buckets: BUCKETS,
    registers: [this.registry],
  });
  /** By route. Read at a scrape: as three more counters they took half of the 5 µs of a request. */
  readonly #totals = new Map<string, { rows: number; bytes: number; seconds: number }>();
  /** By step of a request, in seconds. */
  readonly #steps = { authorize: 0, resolve: 0, run: 0, respond: 0 };
  readonly #cached = new Counter({
    name: "routewright_cached_responses_total",
    help: "Responses with rows that ran no query: from the cache, or shared with another request.",
    registers: [this.registry],
  });

  constructor(served: () => ServedRelease, refreshes: RefreshCounts) {
    super("routewright", ["route", "tier"], BUCKETS);
    for (const metric of [...ofRelease(served), ...ofDatabase(served)]) addMetric(this.registry, metric);
    for (const [name, help, field] of TOTALS)
      addMetric(this.registry, {
        name,
        help,
        label: "route",
        values: () => [...this.#totals].map(([route, totals]) => [route, totals[field]] as const),
      });
    addMetric(this.registry, {
      name: "routewright_step_seconds_total",
      help: "Time of requests by their step: authorize, resolve, run, respond.",
      label: "step",
      values: () => Object.entries(this.#steps),
    });
    addMetric(this.registry, {
      name: "routewright_refreshes_total",
      help: "Reads of the manifest by result.",
      label: "result",
      values: () => Object.entries(refreshes),
    });
  }

  /** Counts a response. */
  record(record: RequestRecord): void {
    const { tier, rows, bytes, databaseMs, steps } = record;
    const name = record.route ?? NO_ROUTE;
    this.count({ route: name, tier }, record);
    const totals = this.#totals.get(name) ?? { rows: 0, bytes: 0, seconds: 0 };
    this.#totals.set(name, totals);
    totals.rows += rows ?? 0;
    totals.bytes += bytes;
    totals.seconds += (databaseMs ?? 0) / 1000;
    this.#steps.authorize += steps.authorize / 1000;
    this.#steps.resolve += steps.resolve / 1000;
    this.#steps.run += steps.run / 1000;
    this.#steps.respond += steps.respond / 1000;
    if (databaseMs !== null) this.#database.observe({ tier }, databaseMs / 1000);
    else if (rows !== null) this.#cached.inc();
  }
}

/** Sums by route. */
const TOTALS = [
  ["routewright_database_seconds_total", "Time that the database took.", "seconds"],
  ["routewright_rows_total", "Rows sent.", "rows"],
  ["routewright_response_bytes_total", "Bytes of the bodies sent.", "bytes"],
] as const;

/** What the active release is and lacks; the hash shows which replicas serve different manifests. */
function ofRelease(served: () => ServedRelease): readonly CollectedMetric[] {
  const values = [
    ["endpoints", "Endpoints in service.", () => served().endpoints.size],
    [
      "missing_relations",
      "Relations of endpoints that the database does not have.",
      () => served().missingRelations.length,
    ],
    [
      "skipped_models",
      "Models tagged for the API that have no endpoint in service.",
      () => served().skippedModels,
    ],
    [
      "held_back_endpoints",
      "Endpoints whose changes the guard holds back.",
      () => served().manifest?.heldBack.length ?? 0,
    ],
    [
      "manifest_loaded_timestamp_seconds",
      "When the manifest in service was loaded, by its hash; absent while the generated folder is served.",
      () => {
        const { manifest } = served();
        return manifest === null ? [] : [[manifest.hash, manifest.loadedAt / 1000] as const];
      },
      "hash",
    ],
    [
      "data_age_seconds",
      "Since the build of the oldest data of a category; absent where no build is known.",
      () => served().dataAges,
      "category",
    ],
    [
      "degraded",
      "1 while rate limits are counted per process as Redis is unreachable, or the database refuses the queries of the role.",
      () =>
        Object.entries(served().degraded).map(([part, isDegraded]) => [part, Number(isDegraded)] as const),
      "part",
    ],
  ] as const;
  return values.map(([name, help, values, label]) => ({
    name: `routewright_${name}`,
    help,
    values,
    ...(label && { label }),
    // Workers serve the same release: a sum would count it several times.
    aggregator: "max",
  }));
}

/** Connections, and the queue for them. */
function ofDatabase(served: () => ServedRelease): readonly CollectedMetric[] {
  const values = [
    ["queries_running", "Queries that hold a database connection.", "running", 1],
    ["queries_waiting", "Queries that wait for a database connection.", "waiting", 1],
    ["queries_total", "Queries that got a database connection.", "started", 1],
    ["queue_seconds_total", "Time that queries waited for one.", "waitedMs", 1000],
  ] as const;
  return values.map(([name, help, field, divisor]) => ({
    name: `routewright_${name}`,
    help,
    values: () => served().load[field] / divisor,
  }));
}
