import { setImmediate as nextTurn } from "node:timers/promises";
import type { KeyOwner } from "../access/authorize.js";
import type { Trace } from "../http/headers.js";
import { type Tier, TIERS } from "../model/tier.js";

/** What is recorded of a request. Contains no secrets. */
export interface RequestRecord {
  readonly requestId: string;
  readonly method: string;
  /** The endpoint's path, not the path as sent: it labels metrics. Null when no endpoint has the path. */
  readonly route: string | null;
  readonly status: number;
  /** From the arrival of the request to the end of its response. */
  readonly milliseconds: number;
  /** Rows sent; null for a response without rows. */
  readonly rows: number | null;
  /** Bytes of the body, as sent. */
  readonly bytes: number;
  /** Milliseconds that the database took; null when this request ran no query. */
  readonly databaseMs: number | null;
  /** Null without a key. */
  readonly owner: KeyOwner | null;
  readonly tier: Tier;
  /** Null where the caller sent none. */
  readonly trace: Trace | null;
}

/** Methods with a label value of their own. Others share one, since a caller may send any word. */
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "OPTIONS"];

/** The label of requests to paths that no endpoint has; the paths of endpoints begin with a slash. */
const NO_ROUTE = "none";

/** Responses of one kind. */
interface Responses {
  readonly tier: number;
  readonly method: number;
  readonly status: number;
  number: number;
}

/** Counts of one route. */
interface RouteCounts {
  /** As Prometheus text. */
  readonly label: string;
  readonly responses: Responses[];
  /** By index in `TIERS`. */
  readonly durations: (Durations | undefined)[];
  rows: number;
  bytes: number;
  databaseMs: number;
}

/** Time that the database took for the requests of one tier. */
interface TierDurations {
  readonly tier: Tier;
  readonly durations: Durations;
}

/** Counts of one process; can be structured-cloned. */
export interface RouteSnapshot {
  readonly routes: ReadonlyMap<string, RouteCounts>;
  /** By index in `TIERS`. */
  readonly database: readonly Durations[];
}

/**
 * Counts per route. With thousands of routes prom-client, which hashes labels per request and creates an object per line,
 * would block the event loop: here a request costs one map lookup, and the text is written in chunks.
 */
export class RouteMetrics {
  readonly #routes = new Map<string, RouteCounts>();
  readonly #database: readonly TierDurations[] = TIERS.map((tier) => ({ tier, durations: noDurations() }));
  readonly #served: (() => ReadonlyMap<string, unknown>) | null;

  /**
   * `served`: paths in service. Counts of other paths are dropped, so that they do not grow with refreshes. Null: all are
   * kept until `forget`.
   */
  constructor(served: (() => ReadonlyMap<string, unknown>) | null) {
    this.#served = served;
  }

  snapshot(): RouteSnapshot {
    this.#forgetGone();
    return { routes: this.#routes, database: this.#database.map(({ durations }) => durations) };
  }

  /** Adds the counts of another process. */
  add({ routes, database }: RouteSnapshot): void {
    for (const [route, counts] of routes) {
      const own = this.#routes.get(route) ?? this.#newRoute(route);
      for (const { tier, method, status, number } of counts.responses)
        countResponse(own.responses, tier, method, status, number);
      counts.durations.forEach((each, tier) => {
        if (each) addDurations((own.durations[tier] ??= noDurations()), each);
      });
      own.rows += counts.rows;
      own.bytes += counts.bytes;
      own.databaseMs += counts.databaseMs;
    }
    this.#database.forEach(({ durations }, tier) => addDurations(durations, database[tier] ?? noDurations()));
  }

  forget(routes: readonly string[]): void {
    for (const route of routes) this.#routes.delete(route);
  }

  count({ route, tier, method, status, milliseconds, rows, bytes, databaseMs }: RequestRecord): void {
    const counts = this.#routes.get(route ?? NO_ROUTE) ?? this.#newRoute(route ?? NO_ROUTE);
    const tierIndex = TIERS.indexOf(tier);
    countResponse(counts.responses, tierIndex, METHODS.indexOf(method), status);
    addDuration((counts.durations[tierIndex] ??= noDurations()), milliseconds);
    counts.rows += rows ?? 0;
    counts.bytes += bytes;
    if (databaseMs === null) return;
    counts.databaseMs += databaseMs;
    const database = this.#database[tierIndex];
    if (database) addDuration(database.durations, databaseMs);
  }

  #newRoute(route: string): RouteCounts {
    // More routes than endpoints: some were removed by a refresh.
    if (this.#served && this.#routes.size > this.#served().size) this.#forgetGone();
    const label = `route="${escaped(route)}"`;
    const counts = { label, responses: [], durations: [], rows: 0, bytes: 0, databaseMs: 0 };
    this.#routes.set(route, counts);
    return counts;
  }

  #forgetGone(): void {
    const served = this.#served?.();
    if (!served) return;
    for (const route of this.#routes.keys())
      if (route !== NO_ROUTE && !served.has(route)) this.#routes.delete(route);
  }

  /** Prometheus text of the routes with requests. Yields to the event loop between chunks. */
  async text(): Promise<string> {
    const pieces = [];
    for (const piece of this.pieces()) {
      pieces.push(piece);
      await nextTurn();
    }
    return pieces.join("");
  }

  /** The text in chunks; each takes a few milliseconds. */
  *pieces(): Generator<string> {
    this.#forgetGone();
    const routes = [...this.#routes.values()];
    yield* family(REQUESTS, "counter", "Requests to the data API.", routes, responsesText);
    yield* family(DURATION, "histogram", "From a request to the end of its response.", routes, durationsText);
    yield* family(DATABASE, "histogram", "Time that the database took.", this.#database, databaseText);
    yield* counter(
      DATABASE_TOTAL,
      "Time that the database took.",
      routes,
      (counts) => counts.databaseMs / 1000,
    );
    yield* counter(ROWS, "Rows sent.", routes, (counts) => counts.rows);
    yield* counter(BYTES, "Bytes of the bodies sent.", routes, (counts) => counts.bytes);
  }
}

const REQUESTS = "routewright_requests_total";
const DURATION = "routewright_request_duration_seconds";
const DATABASE = "routewright_database_duration_seconds";
const DATABASE_TOTAL = "routewright_database_seconds_total";
const ROWS = "routewright_rows_total";
const BYTES = "routewright_response_bytes_total";

/** Routes per chunk. */
const PIECE = 200;

function countResponse(
  responses: Responses[],
  tier: number,
  method: number,
  status: number,
  number = 1,
): void {
  for (const each of responses) {
    if (each.status !== status || each.method !== method || each.tier !== tier) continue;
    each.number += number;
    return;
  }
  responses.push({ tier, method, status, number });
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

/** Escapes a label value (Prometheus exposition format 0.0.4). */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/** Upper bounds of the buckets, in milliseconds: from a cached result to a statement that times out. */
const BOUNDS = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10_000];

/** The end of each bucket's line, with the bound in seconds. */
const LE = [...BOUNDS.map((bound) => `${bound / 1000}"} `), '+Inf"} '];

/** A histogram: counts per bucket, and the sum. */
interface Durations {
  readonly counts: number[];
  milliseconds: number;
}

function noDurations(): Durations {
  return { counts: LE.map(() => 0), milliseconds: 0 };
}

function addDuration(durations: Durations, milliseconds: number): void {
  let bucket = 0;
  while (milliseconds > (BOUNDS[bucket] ?? Infinity)) bucket++;
  durations.counts[bucket] = (durations.counts[bucket] ?? 0) + 1;
  durations.milliseconds += milliseconds;
}

function addDurations(durations: Durations, { counts, milliseconds }: Durations): void {
  counts.forEach((count, bucket) => {
    durations.counts[bucket] = (durations.counts[bucket] ?? 0) + count;
  });
  durations.milliseconds += milliseconds;
}

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
