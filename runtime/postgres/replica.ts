import { setImmediate as otherEvents } from "node:timers/promises";
import type {
  QueryContext,
  ResolvedQuery,
  RowChunks,
  Rows,
  RowStream,
  StreamEnd,
  Warehouse,
} from "../query/warehouse.js";
import { type FailureScope, failureScopeOf } from "./database-errors.js";
import { HealthCheck } from "./health-check.js";

const CHECK_INTERVAL_MS = 2000;

/** A server that has answered within this time is up, whatever became of its health check. */
const RECENT_MS = 1000;

/** A database that follows the primary. */
export interface ReplicaSource {
  /** Host and port: its name in logs. */
  readonly address: string;
  readonly warehouse: Warehouse;
}

/** A replica has come into service or gone out of it. */
export interface ReplicaStatus {
  readonly address: string;
  readonly isInService: boolean;
  /** The code of an error where there is one; null for one in service. */
  readonly why: string | null;
}

/** The rows, or where to go instead: to another server, or to the primary only. */
export type ReplicaAnswer = Rows | "other" | "primary";

/** One replica: whether it is in service, how near it is, and what it has to do. */
export class Replica {
  readonly address: string;
  readonly #warehouse: Warehouse;
  readonly #report: (status: ReplicaStatus) => void;
  readonly #health: HealthCheck;
  /** Null before the first check. */
  #isInService: boolean | null = null;
  /** Each moves a query that waits for its answer to another server. */
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

  /** How long an answer would take: its latency, and what is under way there already. */
  expectedMs(workMs: number): number {
    return this.#health.latencyMs + (this.#waiting.size + this.#streams) * workMs;
  }

  /** Rejects where any other server would fail too. */
  rows(query: ResolvedQuery, context: QueryContext): Promise<ReplicaAnswer> {
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
        .then((rows) => this.#answered(rows, isOurs))
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

  #answered(rows: Rows | "overloaded", isOurs: boolean): ReplicaAnswer {
    if (rows === "overloaded") return "other";
    this.#answeredAt = performance.now();
    if (rows.kind === "whole") return rows;
    if (isOurs) return this.#observed(rows);
    void rows.pieces.return().catch(() => undefined);
    return "other";
  }

  #observed(stream: RowStream): RowStream {
    this.#streams++;
    const pieces = new ObservedRows(stream.pieces, {
      progress: () => (this.#answeredAt = performance.now()),
      failed: (error) => void this.#judge(error),
      ended: () => this.#streams--,
    });
    return { ...stream, pieces };
  }

  #failed(error: unknown, isNeeded: boolean): ReplicaAnswer {
    // A query that is cancelled fails too, which says nothing of the server.
    if (!isNeeded) throw error;
    switch (this.#judge(error)) {
      case "query":
        throw error;
      case "lag":
        return "primary";
      case "server":
      case "transient":
        return "other";
    }
  }

  #judge(error: unknown): FailureScope {
    const scope = failureScopeOf(error);
    const { code } = error as { code?: unknown };
    if (scope === "server") this.#takeOut(typeof code === "string" ? code : "connection lost");
    return scope;
  }

  async #check(): Promise<void> {
    const ping = (): Promise<boolean> => this.isReachable();
    // Connecting takes longer than a round trip and is not measured.
    const isReachable = (this.isInService || (await ping())) && (await this.#health.measure(ping));
    if (this.#isClosed) return;
    if (isReachable) return this.#takeIn();
    // After this process stood still, answers that arrived meanwhile are read first.
    await otherEvents();
    if (performance.now() - this.#answeredAt < RECENT_MS) return;
    this.#takeOut("no answer to the health check");
    for (const moveOn of this.#waiting) moveOn();
  }

  #takeIn(): void {
    if (this.#isInService === true) return;
    this.#isInService = true;
    this.#report({ address: this.address, isInService: true, why: null });
  }

  #takeOut(why: string): void {
    if (this.#isInService === false) return;
    this.#isInService = false;
    this.#report({ address: this.address, isInService: false, why });
  }
}

interface StreamObserver {
  readonly progress: () => void;
  readonly failed: (error: unknown) => void;
  /** Called once, however the stream ends. */
  readonly ended: () => void;
}

class ObservedRows implements RowChunks {
  readonly #pieces: RowChunks;
  readonly #observer: StreamObserver;
  #hasEnded = false;

  constructor(pieces: RowChunks, observer: StreamObserver) {
    this.#pieces = pieces;
    this.#observer = observer;
  }

  async next(): Promise<IteratorResult<string, StreamEnd>> {
    try {
      const result = await this.#pieces.next();
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
    return this.#pieces.return();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#observer.ended();
  }
}
