import type { NodeBuild, TestRun } from "../../warehouse/data-versions.js";
import type { Release } from "../../release/release.js";
import type { RefreshResult } from "../../release/activate.js";
import type { KeyOwner } from "../../request/keyring.js";
import type { MetricsSnapshot } from "./worker-metrics.js";
import { messageOf } from "../../model/error-message.js";

/** Environment variables by name. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** Owners of API keys by the hash of the key. */
export type KeyOwners = ReadonlyMap<string, KeyOwner>;

/** What a worker process serves, with everything it needs: workers read no files, so all of them serve the same. */
export type Assignment = DataAssignment | RampAssignment;

export interface DataAssignment {
  readonly role: "data";
  readonly variables: EnvironmentVariables;
  readonly port: number;
  readonly keys: KeyOwners;
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
  readonly port: number;
  readonly dataDir: string;
}

/** What the primary calls in a worker. */
export interface WorkerFunctions {
  /** Resolves once it serves. */
  start(assignment: Assignment): Promise<void>;
  activate(release: Release): Promise<RefreshResult>;
  recordBuilds(builds: readonly NodeBuild[], tests: readonly TestRun[]): Promise<void>;
  setKeys(keys: KeyOwners): Promise<void>;
  /** Null for a worker of the ramp, whose metrics have an endpoint of their own. */
  metrics(): Promise<MetricsSnapshot | null>;
  /** Stops gracefully; resolves to its last metrics. */
  stop(): Promise<MetricsSnapshot | null>;
  /** Ends the process: after `stop` has responded, since an exit loses messages. */
  exit(): Promise<void>;
  ping(): Promise<void>;
}

/** What a worker calls in the primary. */
export interface PrimaryFunctions {
  /** Re-reads the manifest and activates it in all workers. */
  refresh(): Promise<RefreshResult>;
  /** Prometheus text of all workers. */
  metricsText(): Promise<string>;
}

type AnyFunction = (...args: never[]) => Promise<unknown>;
type Result<T> = T extends (...args: never[]) => Promise<infer R> ? R : never;
type Arguments<T> = T extends (...args: infer A) => unknown ? A : never;

/** A call, or the response to one. `id` 0: the worker listens. */
export interface Message {
  readonly id: number;
  readonly call?: string;
  readonly args?: readonly unknown[];
  readonly value?: unknown;
  readonly error?: string;
}

/** Calls between the primary and one worker. Each side offers its `Own` functions and calls `Theirs`. */
export class MessageChannel<Own extends object, Theirs extends object> {
  readonly #own: Own;
  readonly #send: (message: Message) => void;
  readonly #pending = new Map<number, (response: Message) => void>();
  #last = 0;

  constructor(own: Own, send: (message: Message) => void) {
    this.#own = own;
    this.#send = send;
  }

  /** Rejects with the other side's message when the function fails there; never settles when the other side ends. */
  call<K extends keyof Theirs & string>(name: K, ...args: Arguments<Theirs[K]>): Promise<Result<Theirs[K]>> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, ({ value, error }) =>
        error === undefined ? resolve(value as Result<Theirs[K]>) : reject(new Error(error)),
      );
      this.#send({ id, call: name, args });
    });
  }

  /** Handles a message of the other side. */
  async receive({ id, call, args = [], ...response }: Message): Promise<void> {
    if (call === undefined) {
      this.#pending.get(id)?.({ id, ...response });
      this.#pending.delete(id);
      return;
    }
    const run = this.#own[call as keyof Own] as AnyFunction;
    const settled = await run(...(args as never[])).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: messageOf(error) }),
    );
    this.#send({ id, ...settled });
  }
}
