import { type Tier, TIERS } from "../model/tier.js";
import { addDuration, type Durations, histogramText, noDurations } from "./histogram.js";
import type { RequestRecord } from "./request-log.js";

/** Methods that get a label of their own; a caller may send any word. */
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "OPTIONS"];

/** The label of requests to paths that no endpoint has; the paths of endpoints begin with a slash. */
const NO_ROUTE = "none";

/** Answers of one kind. */
interface Answers {
  readonly tier: number;
  readonly method: number;
  readonly status: number;
  number: number;
}

/** What was counted of a route. */
interface RouteCounts {
  /** As Prometheus text. */
  readonly label: string;
  readonly answers: Answers[];
  /** By the place of the tier. */
  readonly durations: (Durations | undefined)[];
  rows: number;
  bytes: number;
  databaseMs: number;
}

/** What the database took of the requests of one tier. */
interface TierDurations {
  readonly tier: Tier;
  readonly durations: Durations;
}

/**
 * What is counted of each route. With thousands of them, a library that handles labels at each request and makes an
 * object of each line would hold the requests up: here a request costs one look-up, and the text is written in pieces.
 */
export class RouteMetrics {
  readonly #routes = new Map<string, RouteCounts>();
  readonly #database: readonly TierDurations[] = TIERS.map((tier) => ({ tier, durations: noDurations() }));
  readonly #served: () => ReadonlyMap<string, unknown>;

  /** `served`: the paths in service. What was counted of others is forgotten, so that it does not grow with refreshes. */
  constructor(served: () => ReadonlyMap<string, unknown>) {
    this.#served = served;
  }

  count({ route, tier, method, status, milliseconds, rows, bytes, databaseMs }: RequestRecord): void {
    const counts = this.#routes.get(route ?? NO_ROUTE) ?? this.#newRoute(route ?? NO_ROUTE);
    const place = TIERS.indexOf(tier);
    countAnswer(counts.answers, place, METHODS.indexOf(method), status);
    addDuration((counts.durations[place] ??= noDurations()), milliseconds);
    counts.rows += rows ?? 0;
    counts.bytes += bytes;
    if (databaseMs === null) return;
    counts.databaseMs += databaseMs;
    const database = this.#database[place];
    if (database) addDuration(database.durations, databaseMs);
  }

  #newRoute(route: string): RouteCounts {
    // More routes than there are endpoints: some of them are gone.
    if (this.#routes.size > this.#served().size) this.#forgetGone();
    const label = `route="${escaped(route)}"`;
    const counts = { label, answers: [], durations: [], rows: 0, bytes: 0, databaseMs: 0 };
    this.#routes.set(route, counts);
    return counts;
  }

  #forgetGone(): void {
    const served = this.#served();
    for (const route of this.#routes.keys())
      if (route !== NO_ROUTE && !served.has(route)) this.#routes.delete(route);
  }

  /** Prometheus text in pieces, each written in a few milliseconds; only of routes that were called. */
  *text(): Generator<string> {
    this.#forgetGone();
    const routes = [...this.#routes.values()];
    yield* family(REQUESTS, "counter", "Requests to the data API.", routes, answersText);
    yield* family(DURATION, "histogram", "From a request to the end of its answer.", routes, durationsText);
    yield* family(DATABASE, "histogram", "What the database took.", this.#database, databaseText);
    yield* counter(DATABASE_TOTAL, "What the database took.", routes, (counts) => counts.databaseMs / 1000);
    yield* counter(ROWS, "Rows answered.", routes, (counts) => counts.rows);
    yield* counter(BYTES, "Bytes of the bodies sent.", routes, (counts) => counts.bytes);
  }
}

const REQUESTS = "routewright_requests_total";
const DURATION = "routewright_request_duration_seconds";
const DATABASE = "routewright_database_duration_seconds";
const DATABASE_TOTAL = "routewright_database_seconds_total";
const ROWS = "routewright_rows_total";
const BYTES = "routewright_response_bytes_total";

/** Routes whose lines are one piece of text. */
const PIECE = 200;

/** Of a method that nobody knows, only that it was another one is kept. */
function countAnswer(answers: Answers[], tier: number, method: number, status: number): void {
  for (const each of answers) {
    if (each.status !== status || each.method !== method || each.tier !== tier) continue;
    each.number++;
    return;
  }
  answers.push({ tier, method, status, number: 1 });
}

/** One metric: what it is, and its lines. */
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

function answersText({ label, answers }: RouteCounts): string {
  return answers
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

function tierLabel(place: number): string {
  return `tier="${String(TIERS[place])}"`;
}

/** A label's value (Prometheus exposition format 0.0.4). */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
