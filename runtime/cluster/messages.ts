import type { MetricsSnapshot } from "../observability/metrics.js";
import type { Build, TestRun } from "../data-api/data-versions.js";
import type { Release } from "../data-api/release.js";
import type { RefreshResult } from "../data-api/refresh.js";

/** Environment variables by name. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** What a worker process is to do, and all that it needs for it: it reads no file that its siblings have read otherwise. */
export type Assignment = DataAssignment | RampAssignment;

export interface DataAssignment {
  readonly role: "data";
  /** The key file to follow; null: the keys are in `API_KEYS`. */
  readonly keysFile: string | null;
  readonly variables: EnvironmentVariables;
  /** Address at which the primary takes its connections. */
  readonly url: string;
  readonly databaseUrl: string;
  /** Of the API. */
  readonly title: string;
  readonly edition: Release;
  readonly builds: readonly Build[];
  readonly tests: readonly TestRun[];
}

export interface RampAssignment {
  readonly role: "ramp";
  readonly variables: EnvironmentVariables;
  /** Address at which the primary takes its connections. */
  readonly url: string;
  readonly dataDir: string;
}

/** From the primary to a worker; they arrive in the order in which they are sent. What has an `id` is answered. */
export type ToWorker =
  | { readonly kind: "start"; readonly assignment: Assignment }
  /** A connection comes with it. */
  | { readonly kind: "connection"; readonly id: number }
  | { readonly kind: "adopt"; readonly id: number; readonly edition: Release }
  | { readonly kind: "built"; readonly builds: readonly Build[]; readonly tests: readonly TestRun[] }
  | { readonly kind: "metrics"; readonly id: number }
  | { readonly kind: "ping"; readonly id: number }
  /** Finish what is under way, then end. */
  | { readonly kind: "drain" }
  | { readonly kind: "answer"; readonly id: number; readonly value: unknown };

/** What became of an edition in a worker. */
export type Adoption =
  { readonly ok: true; readonly answer: RefreshResult } | { readonly ok: false; readonly detail: string };

/** What a worker may ask the primary: to re-read the manifest, and for the metrics of all workers. */
export type Question = "refresh" | "metrics";

/** From a worker to the primary. */
export type ToPrimary =
  /** It hears what it is told from here on. */
  | { readonly kind: "listening" }
  | { readonly kind: "ready" }
  /** It cannot start. */
  | { readonly kind: "failed"; readonly detail: string }
  | { readonly kind: "answer"; readonly id: number; readonly value: unknown }
  | News;

/** What a worker tells of itself while it serves. */
export type News =
  /** The connection is its own from here on. `open`: how many it has. */
  | { readonly kind: "taken"; readonly id: number; readonly open: number }
  | { readonly kind: "open"; readonly open: number }
  | { readonly kind: "question"; readonly id: number; readonly question: Question }
  /** It was told by a signal to end, and asks to be let go. */
  | { readonly kind: "leaving" }
  /** Its metrics, as it ends. */
  | { readonly kind: "metrics"; readonly snapshot: MetricsSnapshot };
