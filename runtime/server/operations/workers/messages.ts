import cluster from "node:cluster";
import type { MetricsSnapshot } from "../../../core/http/prometheus.js";
import { messageOf } from "../../../core/model/outcome.js";
import type { RefreshResult } from "../../release/activate.js";
import type { Release } from "../../release/release.js";
import type { FreshnessCheck, NodeBuild, TestRun } from "../../../core/warehouse/data-versions.js";

/** What a worker serves. */
export type Role = "data" | "ramp";

/** What all workers of a role must have in common. */
export interface Assignment {
  readonly role: Role;
  readonly port: number;
  /** A cursor of one worker must be valid in all. */
  readonly cursorKey: Buffer;
  /** Of the last refresh; null while the generated folder is served. */
  readonly release: Release | null;
  readonly builds: readonly NodeBuild[];
  readonly tests: readonly TestRun[];
  readonly checks: readonly FreshnessCheck[];
}

/** What the primary calls in a worker that serves. One of the ramp offers no function of the data API. */
export interface WorkerFunctions {
  activate(release: Release): Promise<unknown>;
  recordBuilds(
    builds: readonly NodeBuild[],
    tests: readonly TestRun[],
    checks?: readonly FreshnessCheck[],
  ): Promise<void>;
  /** Re-reads the manifest, activates what changed and shares it. */
  refresh(): Promise<RefreshResult>;
  metrics(): Promise<MetricsSnapshot>;
  /** Stops gracefully; resolves to its last metrics. */
  stop(): Promise<MetricsSnapshot>;
  /** Ends the process: after `stop` has responded, since an exit loses messages. */
  exit(): Promise<void>;
  ping(): Promise<void>;
  /** How many connections are open. */
  connections(): Promise<number>;
  /** Its share of the connections of all workers, with a tolerance: those above it close with their next response. */
  limitConnections(limit: number): Promise<void>;
  /** Leaves new connections to the other workers for so many milliseconds; 0 ends a pause. */
  pauseAccepting(milliseconds: number): Promise<void>;
}

/** What a worker calls in the primary. */
export interface PrimaryFunctions {
  join(): Promise<Assignment>;
  /** It serves. `facts`: for the log. */
  serves(facts: object): Promise<void>;
  /** It cannot start. */
  fails(reason: string): Promise<void>;
  /** Activates a release that it has activated in all others. */
  share(release: Release): Promise<void>;
  /** Refreshes all workers. */
  refresh(): Promise<RefreshResult>;
  /** It has so many connections, more than its limit. Resolves to its new limit. */
  shareOf(open: number): Promise<number>;
  /** Prometheus text of all workers. */
  metricsText(): Promise<string>;
}

type AnyFunction = (...args: never[]) => Promise<unknown>;
type CallResult<T> = T extends (...args: never[]) => Promise<infer R> ? R : never;
type CallArguments<T> = T extends (...args: infer A) => unknown ? A : never;

/** A call, or the response to one. */
export interface WorkerMessage {
  readonly id: number;
  readonly call?: string;
  readonly args?: readonly unknown[];
  readonly value?: unknown;
  readonly error?: string;
}

/** Calls between the primary and one worker. Each side offers its `Own` functions and calls `Theirs`. */
export class MessageChannel<Own extends object, Theirs extends object> {
  protected own: Partial<Own>;
  readonly #send: (message: WorkerMessage) => void;
  /** Bounded by the calls that wait for a response. */
  readonly #pending = new Map<number, (response: WorkerMessage) => void>();
  #last = 0;

  constructor(own: Partial<Own>, send: (message: WorkerMessage) => void) {
    this.own = own;
    this.#send = send;
  }

  /** Rejects with the other side's message when the function fails there; never settles when the other side ends. */
  call<K extends keyof Theirs & string>(
    name: K,
    ...args: CallArguments<Theirs[K]>
  ): Promise<CallResult<Theirs[K]>> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, ({ value, error }) =>
        error === undefined ? resolve(value as CallResult<Theirs[K]>) : reject(new Error(error)),
      );
      this.#send({ id, call: name, args });
    });
  }

  /** Handles a message of the other side. */
  async receive({ id, call, args = [], ...response }: WorkerMessage): Promise<void> {
    if (call === undefined) {
      this.#pending.get(id)?.({ id, ...response });
      this.#pending.delete(id);
      return;
    }
    const run = this.own[call as keyof Own] as AnyFunction;
    const settled = await run(...(args as never[])).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: messageOf(error) }),
    );
    this.#send({ id, ...settled });
  }
}

/** The primary, as its worker sees it. node:cluster ends the process when the connection is lost. */
export class Primary extends MessageChannel<WorkerFunctions, PrimaryFunctions> {
  constructor() {
    super({}, (message) => process.send?.(message, undefined, undefined, () => undefined));
    // A terminal and a process manager send these signals to all processes; the primary stops its workers.
    for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.on(signal, () => undefined);
    process.on("message", (message: WorkerMessage) => void this.receive(message));
  }

  /** This process serves, until the primary ends it. Never resolves. */
  async serve(functions: Partial<WorkerFunctions>, facts: object): Promise<never> {
    this.own = { ...functions, ping: () => Promise.resolve(), exit: leave };
    await this.call("serves", facts);
    return new Promise(() => undefined);
  }
}

/** Ends the process as a stopped server ends: once nothing is left to do, `beforeExit` with what an operator loaded (traces). */
function leave(): Promise<void> {
  cluster.worker?.disconnect();
  return Promise.resolve();
}

let primary: Primary | null = null;

/** The primary of a worker process; null in any other. */
export function openPrimary(): Primary | null {
  if (cluster.isWorker) primary ??= new Primary();
  return primary;
}
