import type { CollectedMetric } from "../../core/http/prometheus.js";
import { type ResponseCounts, ServiceMetrics } from "../../core/http/service-metrics.js";
import type { WarehouseLoad } from "../../core/warehouse/warehouse.js";
import type { PerTier } from "../../core/model/tier.js";
import type { RequestRecord, RequestStep } from "../../core/handler/request-record.js";

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
  /** Paths of endpoints whose every request fails. */
  readonly failingEndpoints: readonly string[];
  /** Relations whose copy is older than the last build of its source. */
  readonly staleCopies: readonly string[];
  /** Paths of endpoints whose rows are older than promised. */
  readonly lateEndpoints: readonly string[];
  readonly load: WarehouseLoad;
  /** What works less well than it should, while queries still succeed. */
  readonly degraded: Readonly<Partial<Record<"rate_limits" | "database" | "keys", boolean>>>;
  /** By category: seconds since the data of its oldest endpoint was built. Without endpoints whose builds are unknown. */
  readonly dataAges: ReadonlyMap<string, number>;
}

/** Upper bounds of the buckets, in seconds: from a cached result to a statement that times out. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** The label of requests to paths that no endpoint has; the paths of endpoints begin with a slash. */
const NO_ROUTE = "none";

type Definition = readonly [
  name: string,
  help: string,
  /** Workers serve the same release: a sum would count it several times. */
  aggregator: "sum" | "max",
  read: (served: ServedRelease) => ReturnType<CollectedMetric["values"]>,
  ...labels: readonly string[],
];

/** Read at a scrape. */
const READ: readonly Definition[] = [
  ["endpoints", "Endpoints in service.", "max", ({ endpoints }) => endpoints.size],
  [
    "missing_relations",
    "Relations of endpoints that the database does not have.",
    "max",
    ({ missingRelations }) => missingRelations.length,
  ],
  [
    "failing_endpoints",
    "1 for each endpoint whose every request fails while the database responds.",
    "max",
    ({ failingEndpoints }) => failingEndpoints.map((path) => [path, 1]),
    "route",
  ],
  [
    "stale_copies",
    "Relations whose copy is older than the last build of its source.",
    "max",
    ({ staleCopies }) => staleCopies.length,
  ],
  [
    "late_endpoints",
    "1 for each endpoint whose rows are older than promised.",
    "max",
    ({ lateEndpoints }) => lateEndpoints.map((path) => [path, 1]),
    "route",
  ],
  [
    "skipped_models",
    "Models tagged for the API that have no endpoint in service.",
    "max",
    ({ skippedModels }) => skippedModels,
  ],
  [
    "held_back_endpoints",
    "Endpoints whose changes the guard holds back.",
    "max",
    ({ manifest }) => manifest?.heldBack.length ?? 0,
  ],
  [
    "manifest_loaded_timestamp_seconds",
    "When the manifest in service was loaded, by its hash; absent while the generated folder is served.",
    "max",
    ({ manifest }) => (manifest === null ? [] : [[manifest.hash, manifest.loadedAt / 1000]]),
    "hash",
  ],
  [
    "data_age_seconds",
    "Since the build of the oldest data of a category; absent where no build is known.",
    "max",
    ({ dataAges }) => dataAges,
    "category",
  ],
  [
    "degraded",
    "1 while rate limits are counted per process as Redis is unreachable, the database refuses the queries of the role, or that of the keys is away.",
    "max",
    ({ degraded }) => Object.entries(degraded).map(([part, isDegraded]) => [part, Number(isDegraded)]),
    "part",
  ],
  ["queries_running", "Queries that hold a database connection.", "sum", ({ load }) => load.running],
  ["queries_waiting", "Queries that wait for a database connection.", "sum", ({ load }) => load.waiting],
  ["queries_total", "Queries that got a database connection.", "sum", ({ load }) => load.started],
  ["queue_seconds_total", "Time that queries waited for one.", "sum", ({ load }) => load.waitedMs / 1000],
];

/** Of the responses of a route. */
interface RouteSums {
  rows: number;
  bytes: number;
  databaseMs: number;
  /** Of callers of each tier that has asked. */
  readonly responses: Partial<PerTier<ResponseCounts>>;
}

const ROUTE_SUMS: readonly (readonly [name: string, help: string, read: (sums: RouteSums) => number])[] = [
  ["database_seconds_total", "Time that the database took.", ({ databaseMs }) => databaseMs / 1000],
  ["rows_total", "Rows sent.", ({ rows }) => rows],
  ["response_bytes_total", "Bytes of the bodies sent.", ({ bytes }) => bytes],
];

/** The metrics of `/metrics` (runtime/docs/operations.md). Label values are never text that a caller sends. */
export class Metrics extends ServiceMetrics<"route" | "tier"> {
  readonly #database = this.durations(
    "routewright_database_duration_seconds",
    "Time that the database took.",
    ["tier"],
  );
  readonly #tooLarge = this.counts(
    "routewright_queries_too_large_total",
    "Queries that needed more time, memory, disk space or data than they may have.",
    ["route"],
  );
  /** Bounded by the endpoints that were served. */
  readonly #routes = new Map<string, RouteSums>();
  readonly #steps: Record<RequestStep, number> = { authorize: 0, resolve: 0, run: 0, respond: 0 };
  #cached = 0;

  constructor(served: () => ServedRelease, refreshes: RefreshCounts) {
    super("data", ["route", "tier"], BUCKETS);
    for (const [name, help, aggregator, read, ...labels] of READ)
      this.metrics.push({
        name: `routewright_${name}`,
        help,
        aggregator,
        labels,
        values: () => read(served()),
      });
    this.metrics.push({
      name: "routewright_refreshes_total",
      help: "Reads of the manifest by result.",
      labels: ["result"],
      values: () => Object.entries(refreshes),
    });
    this.#addSums();
  }

  #addSums(): void {
    for (const [name, help, read] of ROUTE_SUMS)
      this.metrics.push({
        name: `routewright_${name}`,
        help,
        labels: ["route"],
        values: () => Array.from(this.#routes, ([route, sums]) => [route, read(sums)] as const),
      });
    this.metrics.push(
      {
        name: "routewright_step_seconds_total",
        help: "Time of requests by their step: authorize, resolve, run, respond.",
        labels: ["step"],
        values: () => Object.entries(this.#steps).map(([step, ms]) => [step, ms / 1000] as const),
      },
      {
        name: "routewright_cached_responses_total",
        help: "Responses with rows that ran no query: from the cache, or shared with another request.",
        values: () => this.#cached,
      },
    );
  }

  /** Counts a response. */
  record(record: RequestRecord): void {
    const { rows, bytes, databaseMs, steps, error } = record;
    const { tier } = record.caller;
    const route = record.route ?? NO_ROUTE;
    const sums = this.#sumsOf(route);
    // Kept here: otherwise each response would look up a text of its labels.
    this.countIn((sums.responses[tier] ??= this.responsesOf({ route, tier })), record);
    if (error?.code === "queryTooLarge") this.#tooLarge.of({ route }).value++;
    sums.rows += rows ?? 0;
    sums.bytes += bytes;
    sums.databaseMs += databaseMs ?? 0;
    const sum = this.#steps;
    sum.authorize += steps.authorize;
    sum.resolve += steps.resolve;
    sum.run += steps.run;
    sum.respond += steps.respond;
    if (databaseMs !== null) this.#database.of({ tier }).add(databaseMs / 1000);
    else if (rows !== null) this.#cached++;
  }

  #sumsOf(route: string): RouteSums {
    let sums = this.#routes.get(route);
    if (sums === undefined)
      this.#routes.set(route, (sums = { rows: 0, bytes: 0, databaseMs: 0, responses: {} }));
    return sums;
  }
}
