import type { Relation } from "../../model/endpoint.js";
import type { HttpError } from "../../model/errors.js";
import type { Condition, ResolvedQuery } from "../../model/query.js";
import {
  type HasStorage,
  type QueryContext,
  type ResultColumns,
  type Rows,
  sumOfLoads,
  type Warehouse,
  type WarehouseLoad,
} from "../warehouse.js";
import { Replica, type ReplicaSource, type ReplicaStatus } from "./replica.js";

/**
 * A warehouse of a primary and its replicas. A query goes to the replica with the fewest queries in flight, the first of
 * them in the list, or to the primary when no replica is in service.
 *
 * A replica that is down leaves service immediately, one that hangs within seconds. Its pending queries are sent to other
 * servers, at most once to each. It returns to service when its health check succeeds. A stream that has begun fails with
 * its server. The primary serves relations that a replica lacks because it lags or never replicates them.
 *
 * Replicas may lag: a result can be older than the previous one from another server, and than the latest dbt build
 * (runtime/README.md, Operations).
 */
export function routeToReplicas(
  primary: Warehouse,
  replicas: readonly ReplicaSource[],
  report: (status: ReplicaStatus) => void,
): Warehouse {
  return replicas.length === 0 ? primary : new ReplicaRouter(primary, replicas, report);
}

class ReplicaRouter implements Warehouse {
  readonly #primary: Warehouse;
  readonly #replicas: readonly Replica[];

  constructor(
    primary: Warehouse,
    sources: readonly ReplicaSource[],
    report: (status: ReplicaStatus) => void,
  ) {
    this.#primary = primary;
    this.#replicas = sources.map((source) => new Replica(source, report));
  }

  columns(relation: Relation, version: string | null, hasStorage?: HasStorage): Promise<ResultColumns> {
    return this.#primary.columns(relation, version, hasStorage);
  }

  checkRelations(relations: readonly Relation[]): Promise<void> {
    return this.#primary.checkRelations(relations);
  }

  check(conditions: readonly Condition[], columns: ResultColumns): HttpError | null {
    return this.#primary.check(conditions, columns);
  }

  aggregate(query: ResolvedQuery, context: QueryContext, columns: ResultColumns) {
    return this.#primary.aggregate(query, context, columns);
  }

  async rows(query: ResolvedQuery, context: QueryContext): Promise<Rows | "overloaded"> {
    const tried = new Set<Replica>();
    for (;;) {
      const replica = this.#leastLoaded(tried);
      if (replica === null) return this.#primary.rows(query, context);
      tried.add(replica);
      const result = await replica.rows(query, context);
      if (result === "primary") return this.#primary.rows(query, context);
      if (result !== "other") return result;
    }
  }

  /** The untried replica in service with the fewest queries in flight. */
  #leastLoaded(tried: ReadonlySet<Replica>): Replica | null {
    const untried = this.#replicas.filter((replica) => replica.isInService && !tried.has(replica));
    const fewest = Math.min(...untried.map(({ inFlight }) => inFlight));
    return untried.find(({ inFlight }) => inFlight === fewest) ?? null;
  }

  get degraded(): string | null {
    const out = this.#replicas.filter(({ isInService }) => !isInService).length;
    if (out === 0) return null;
    return `${String(out)} of ${String(this.#replicas.length)} replicas are out of service.`;
  }

  get load(): WarehouseLoad {
    return sumOfLoads([this.#primary, ...this.#replicas].map(({ load }) => load));
  }

  get missingRelations(): readonly string[] {
    return this.#primary.missingRelations;
  }

  /** Whether any of the servers is reachable. */
  async isReachable(): Promise<boolean> {
    const servers = [this.#primary, ...this.#replicas];
    const answers = servers.map(async (server) => {
      if (!(await server.isReachable())) throw new Error("The server does not answer.");
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
