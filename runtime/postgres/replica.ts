import { setImmediate as otherEvents } from "node:timers/promises";
import type { ResolvedQuery, Rows, RowStream, IsStillNeeded, Warehouse } from "../query/warehouse.js";
import { failureScopeOf } from "./failure-scope.js";
import { Latency } from "./latency.js";
import { HealthCheck } from "./health-check.js";
import { watchedStream } from "./watched-stream.js";

/** How often a replica is looked at. */
const CHECK_MS = 2000;

/** A server that has answered this lately is up, whatever became of its health check. */
const LATELY_MS = 1000;

/** A database that follows the primary. */
export interface ReplicaSource {
  /** Host and port: how it is called in logs. */
  readonly address: string;
  readonly warehouse: Warehouse;
}

/** That a replica serves from now on, or no longer does. */
export interface ReplicaStatus {
  readonly address: string;
  readonly isInService: boolean;
  /** Why it no longer serves: the code of an error where there is one; null for one that serves. */
  readonly why: string | null;
}

/** The rows, or whom to ask instead: another server, or the primary alone. */
export type ReplicaAnswer = Rows | "other" | "primary";

/** One replica: whether it serves, how near it is, and what it has to do. */
export class Replica {
  readonly address: string;
  readonly #warehouse: Warehouse;
  readonly #tell: (news: ReplicaStatus) => void;
  readonly #distance = new Latency();
  readonly #pulse: HealthCheck;
  /** Null before the first look at it. */
  #isInService: boolean | null = null;
  /** Gives a question that waits for its answer to another server. */
  readonly #waiting = new Set<() => void>();
  #streams = 0;
  #answeredAt = -Infinity;
  #isClosed = false;

  constructor({ address, warehouse }: ReplicaSource, tell: (news: ReplicaStatus) => void) {
    this.address = address;
    this.#warehouse = warehouse;
    this.#tell = tell;
    this.#pulse = new HealthCheck(() => this.#check(), CHECK_MS);
  }

  get isInService(): boolean {
    return this.#isInService === true;
  }

  /** How long an answer would take: the way there, and what is under way there already. */
  expectedMs(workMs: number): number {
    return this.#distance.milliseconds + (this.#waiting.size + this.#streams) * workMs;
  }

  /** Rejects for what no other server would answer either. */
  ask(question: ResolvedQuery, wanted: IsStillNeeded): Promise<ReplicaAnswer> {
    return new Promise((resolve, reject) => {
      let isOurs = true;
      const giveUp = (): void => {
        isOurs = false;
        this.#waiting.delete(giveUp);
        resolve("other");
      };
      this.#waiting.add(giveUp);
      this.#warehouse
        .rows(question, () => isOurs && wanted())
        .then((rows) => this.#answered(rows, isOurs))
        .catch((error: unknown) => this.#failed(error, isOurs && wanted()))
        .then(resolve, reject)
        .finally(() => this.#waiting.delete(giveUp));
    });
  }

  isReachable(): Promise<boolean> {
    return this.#warehouse.isReachable().catch(() => false);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pulse.stop();
    await this.#warehouse.close();
  }

  #answered(rows: Rows | "overloaded", isOurs: boolean): ReplicaAnswer {
    if (rows === "overloaded") return "other";
    this.#answeredAt = performance.now();
    if (rows.kind === "whole") return rows;
    if (isOurs) return this.#watched(rows);
    void rows.pieces.return().catch(() => undefined);
    return "other";
  }

  #watched(stream: RowStream): RowStream {
    this.#streams++;
    return watchedStream(stream, {
      progress: () => (this.#answeredAt = performance.now()),
      failed: (error) => void this.#judge(error),
      ended: () => this.#streams--,
    });
  }

  #failed(error: unknown, isWanted: boolean): ReplicaAnswer {
    // A query that is cancelled fails too, and says nothing of the server.
    if (!isWanted) throw error;
    switch (this.#judge(error)) {
      case "question":
        throw error;
      case "lag":
        return "primary";
      case "server":
      case "moment":
        return "other";
    }
  }

  #judge(error: unknown): ReturnType<typeof failureScopeOf> {
    const blame = failureScopeOf(error);
    const { code } = error as { code?: unknown };
    if (blame === "server") this.#goOut(typeof code === "string" ? code : "connection lost");
    return blame;
  }

  async #check(): Promise<void> {
    // To connect takes longer than a round trip, and is not measured.
    const isReachable = (this.isInService || (await this.isReachable())) && (await this.#measure());
    if (this.#isClosed) return;
    if (isReachable) return this.#comeIn();
    // After a stall of this process, answers that came meanwhile are read only now.
    await otherEvents();
    if (performance.now() - this.#answeredAt < LATELY_MS) return;
    this.#goOut("no answer to the health check");
    for (const giveUp of this.#waiting) giveUp();
  }

  async #measure(): Promise<boolean> {
    const started = performance.now();
    const isReachable = await this.isReachable();
    if (isReachable) this.#distance.measured(performance.now() - started);
    return isReachable;
  }

  #comeIn(): void {
    if (this.#isInService === true) return;
    this.#isInService = true;
    this.#tell({ address: this.address, isInService: true, why: null });
  }

  #goOut(why: string): void {
    if (this.#isInService === false) return;
    this.#isInService = false;
    this.#tell({ address: this.address, isInService: false, why });
  }
}
