import type { ResolvedQuery, Rows, IsStillNeeded, Warehouse } from "../query/warehouse.js";
import { Replica, type ReplicaStatus, type ReplicaSource } from "./replica.js";

/** Share of the newest answer in what an answer is taken to cost. */
const SHARE = 0.05;

/**
 * One database out of a primary and the replicas that follow it. A question goes to the replica that is likely to answer
 * first, counting how far away it is and what is under way there, and to the primary when no replica can.
 *
 * A replica that is down is taken out of service at once, and one that hangs within seconds; all that it has not
 * answered is asked again elsewhere, each server once at most. It comes back by itself. Once a stream has begun nothing
 * is asked again: it fails with its server. What a replica does not have, because it is behind or because the relation
 * is never replicated, is asked of the primary.
 *
 * What a replica has may be behind: an answer can be older than the one before it, which came from another server, and
 * than what dbt has last told of its builds. Who cannot have that must not use replicas.
 */
export function routeToReplicas(
  primary: Warehouse,
  replicas: readonly ReplicaSource[],
  tell: (news: ReplicaStatus) => void,
): Warehouse {
  return replicas.length === 0 ? primary : new Spread(primary, replicas, tell);
}

class Spread implements Warehouse {
  readonly #primary: Warehouse;
  readonly #replicas: readonly Replica[];
  /** What an answer costs its server, in milliseconds. */
  #workMs = 1;

  constructor(primary: Warehouse, sources: readonly ReplicaSource[], tell: (news: ReplicaStatus) => void) {
    this.#primary = primary;
    this.#replicas = sources.map((source) => new Replica(source, tell));
  }

  async rows(question: ResolvedQuery, wanted: IsStillNeeded): Promise<Rows | "overloaded"> {
    const asked = new Set<Replica>();
    for (;;) {
      const replica = this.#next(asked);
      if (replica === null) return this.#primary.rows(question, wanted);
      asked.add(replica);
      const answer = await replica.ask(question, wanted);
      if (answer === "primary") return this.#primary.rows(question, wanted);
      if (answer === "other") continue;
      if (answer.kind === "whole") this.#workMs += SHARE * (answer.milliseconds - this.#workMs);
      return answer;
    }
  }

  /** The replica that is likely to answer first, of those that serve and were not asked yet. */
  #next(asked: ReadonlySet<Replica>): Replica | null {
    let best: Replica | null = null;
    let bestMs = Infinity;
    for (const replica of this.#replicas) {
      if (!replica.isInService || asked.has(replica)) continue;
      const expectedMs = replica.expectedMs(this.#workMs);
      if (expectedMs >= bestMs) continue;
      best = replica;
      bestMs = expectedMs;
    }
    return best;
  }

  get degraded(): string | null {
    const out = this.#replicas.filter(({ isInService }) => !isInService).length;
    return out === 0
      ? null
      : `${String(out)} of ${String(this.#replicas.length)} replicas are out of service.`;
  }

  /** Whether any of the servers answers: then this database can. */
  async isReachable(): Promise<boolean> {
    const servers = [this.#primary, ...this.#replicas];
    const answers = servers.map(async (server) => {
      if (!(await server.isReachable())) throw new Error("This server does not answer.");
    });
    return Promise.any(answers).then(
      () => true,
      () => false,
    );
  }

  async close(): Promise<void> {
    await Promise.all([this.#primary, ...this.#replicas].map((server) => server.close()));
  }
}
