import { setImmediate as otherEvents } from "node:timers/promises";
import type { ResolvedQuery } from "../../model/query.js";
import type {
  QueryContext,
  RowChunks,
  Rows,
  RowStream,
  StreamEnd,
  Warehouse,
  WarehouseLoad,
} from "../warehouse.js";
import { type FailureScope, failureScopeOf } from "./database-errors.js";

const CHECK_INTERVAL_MS = 2000;

/** A server that has answered within this time counts as up even if its health check fails. */
const RECENT_MS = 1000;

/** A replica's address and connections. */
export interface ReplicaSource {
  /** Host and port, for logs. */
  readonly address: string;
  readonly warehouse: Warehouse;
}

/** Reported when a replica enters or leaves service. */
export interface ReplicaStatus {
  readonly address: string;
  readonly isInService: boolean;
  /** Error code or reason; null while in service. */
  readonly why: string | null;
}

/** The rows, or the server to try next: another one, or only the primary. */
export type ReplicaResult = Rows | "other" | "primary";

/** One replica, with its state of service and its load. */
export class Replica {
  readonly address: string;
  readonly #warehouse: Warehouse;
  readonly #report: (status: ReplicaStatus) => void;
  readonly #health: HealthCheck;
  /** Null before the first check. */
  #isInService: boolean | null = null;
  /** Pending queries; calling an entry moves its query to another server. */
  readonly #waiting = new Set<() => void>();
  #streams = 0;
  #answeredAt = -Infinity;
  #isClosed = false;

  constructor({ address, warehouse }: ReplicaSource, report: (status: ReplicaStatus) => void) {
    this.address = address;
    this.#warehouse = warehouse;
    this.#report = report;
    this.#health = new HealthCheck(() => this.#check(), CHECK_INTERVAL_MS);
  }

  get isInService(): boolean {
    return this.#isInService === true;
  }

  get load(): WarehouseLoad {
    return this.#warehouse.load;
  }

  /** Queries that run here, streams included. */
  get inFlight(): number {
    return this.#waiting.size + this.#streams;
  }

  /** Rejects when every other server would fail too. */
  rows(query: ResolvedQuery, context: QueryContext): Promise<ReplicaResult> {
    return new Promise((resolve, reject) => {
      let isOurs = true;
      const moveOn = (): void => {
        isOurs = false;
        this.#waiting.delete(moveOn);
        resolve("other");
      };
      const isStillNeeded = (): boolean => isOurs && context.isStillNeeded();
      this.#waiting.add(moveOn);
      this.#warehouse
        .rows(query, { ...context, isStillNeeded })
        .then((rows) => this.#resultOf(rows, isOurs))
        .catch((error: unknown) => this.#failed(error, isStillNeeded()))
        .then(resolve, reject)
        .finally(() => this.#waiting.delete(moveOn));
    });
  }

  isReachable(): Promise<boolean> {
    return this.#warehouse.isReachable().catch(() => false);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#health.stop();
    await this.#warehouse.close();
  }

  #resultOf(rows: Rows | "overloaded", isOurs: boolean): ReplicaResult {
    if (rows === "overloaded") return "other";
    this.#answeredAt = performance.now();
    if (rows.kind === "buffered") return rows;
    if (isOurs) return this.#observed(rows);
    void rows.chunks.return().catch(() => undefined);
    return "other";
  }

  #observed(stream: RowStream): RowStream {
    this.#streams++;
    const chunks = new ObservedRows(stream.chunks, {
      progress: () => (this.#answeredAt = performance.now()),
      failed: (error) => void this.#classify(error),
      ended: () => this.#streams--,
    });
    return { ...stream, chunks };
  }

  #failed(error: unknown, isNeeded: boolean): ReplicaResult {
    // A cancelled query fails too, but not because of the server.
    if (!isNeeded) throw error;
    switch (this.#classify(error)) {
      case "query":
        throw error;
      case "lag":
        return "primary";
      case "server":
      case "transient":
        return "other";
    }
  }

  #classify(error: unknown): FailureScope {
    const scope = failureScopeOf(error);
    const { code } = error as { code?: unknown };
    if (scope === "server") this.#leaveService(typeof code === "string" ? code : "connection lost");
    return scope;
  }

  async #check(): Promise<void> {
    const isReachable = await this.isReachable();
    if (this.#isClosed) return;
    if (isReachable) return this.#enterService();
    // If the event loop was blocked, first read the results that arrived meanwhile.
    await otherEvents();
    if (performance.now() - this.#answeredAt < RECENT_MS) return;
    this.#leaveService("no answer to the health check");
    for (const moveOn of this.#waiting) moveOn();
  }

  #enterService(): void {
    if (this.#isInService === true) return;
    this.#isInService = true;
    this.#report({ address: this.address, isInService: true, why: null });
  }

  #leaveService(why: string): void {
    if (this.#isInService === false) return;
    this.#isInService = false;
    this.#report({ address: this.address, isInService: false, why });
  }
}

interface StreamObserver {
  readonly progress: () => void;
  readonly failed: (error: unknown) => void;
  /** Called once, when the stream ends, fails or is closed. */
  readonly ended: () => void;
}

class ObservedRows implements RowChunks {
  readonly #chunks: RowChunks;
  readonly #observer: StreamObserver;
  #hasEnded = false;

  constructor(chunks: RowChunks, observer: StreamObserver) {
    this.#chunks = chunks;
    this.#observer = observer;
  }

  async next(): Promise<IteratorResult<string | Buffer, StreamEnd>> {
    try {
      const result = await this.#chunks.next();
      this.#observer.progress();
      if (result.done === true) this.#end();
      return result;
    } catch (error) {
      this.#observer.failed(error);
      this.#end();
      throw error;
    }
  }

  return(): Promise<IteratorReturnResult<StreamEnd>> {
    this.#end();
    return this.#chunks.return();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#observer.ended();
  }
}

/** Jitter avoids synchronized checks of many processes. */
const JITTER = 0.25;

/** Checks a server immediately and then at an interval, without overlap. Does not keep the process alive. */
class HealthCheck {
  readonly #check: () => Promise<void>;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  /** `check` must not reject. */
  constructor(check: () => Promise<void>, intervalMs: number) {
    this.#check = check;
    this.#intervalMs = intervalMs;
    void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    await this.#check();
    if (this.#isStopped) return;
    const pauseMs = this.#intervalMs * (1 + JITTER * (2 * Math.random() - 1));
    this.#timer = setTimeout(() => void this.#run(), pauseMs).unref();
  }
}
