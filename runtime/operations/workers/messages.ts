import type { MetricsSnapshot } from "../metrics.js";
import type { NodeBuild, TestRun } from "../../warehouse/data-versions.js";
import type { Release } from "../../release/release.js";
import type { RefreshResult } from "../../release/activate.js";

/** Environment variables by name. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** What a worker process serves, with everything it needs: workers read no files, so all of them serve the same. */
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
  readonly release: Release;
  readonly builds: readonly NodeBuild[];
  readonly tests: readonly TestRun[];
}

export interface RampAssignment {
  readonly role: "ramp";
  readonly variables: EnvironmentVariables;
  /** Address at which the primary takes its connections. */
  readonly url: string;
  readonly dataDir: string;
}

/** From the primary to a worker, in order. A message with an `id` gets a response. */
export type ToWorker =
  | { readonly kind: "start"; readonly assignment: Assignment }
  /** With a socket. */
  | { readonly kind: "connection"; readonly id: number }
  | { readonly kind: "activate"; readonly id: number; readonly release: Release }
  | { readonly kind: "built"; readonly builds: readonly NodeBuild[]; readonly tests: readonly TestRun[] }
  | { readonly kind: "metrics"; readonly id: number }
  | { readonly kind: "ping"; readonly id: number }
  /** Finish open requests, then exit. */
  | { readonly kind: "stop" }
  | { readonly kind: "response"; readonly id: number; readonly value: unknown };

/** The result of activating a release in a worker. */
export type Activation =
  { readonly ok: true; readonly result: RefreshResult } | { readonly ok: false; readonly detail: string };

/** What a worker requests of the primary: a manifest refresh, or the metrics of all workers. */
export type WorkerRequest = "refresh" | "metrics";

/** From a worker to the primary. */
export type ToPrimary =
  /** It receives messages from now on. */
  | { readonly kind: "listening" }
  | { readonly kind: "ready" }
  /** It cannot start. */
  | { readonly kind: "failed"; readonly detail: string }
  | { readonly kind: "response"; readonly id: number; readonly value: unknown }
  | WorkerMessage;

/** From a worker that serves. */
export type WorkerMessage =
  /** It has received the connection. `open`: how many it has. */
  | { readonly kind: "accepted"; readonly id: number; readonly open: number }
  | { readonly kind: "open"; readonly open: number }
  | { readonly kind: "request"; readonly id: number; readonly request: WorkerRequest }
  /** It received SIGTERM and requests a replacement. */
  | { readonly kind: "leaving" }
  /** Its last metrics before it exits. */
  | { readonly kind: "metrics"; readonly snapshot: MetricsSnapshot };

/** Requests to another process that have no response yet. */
export class PendingRequests {
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #last = 0;

  /** `send` sends the request with its id; the caller knows the type of the response. */
  ask<T>(send: (id: number) => void): Promise<T> {
    const id = ++this.#last;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve as (value: unknown) => void);
      send(id);
    });
  }

  /** Resolves a request with its response. */
  resolve(id: number, value: unknown): void {
    this.#waiting.get(id)?.(value);
    this.#waiting.delete(id);
  }
}
