/** A successful build of a dbt node, as `run_results.json` tells it. */
export interface Build {
  /** The node's `unique_id`. */
  readonly node: string;
  /** When it was done, in milliseconds since 1970. */
  readonly completedAt: number;
}

/**
 * The last known build of each node. A `run_results.json` tells of one invocation, which may have built a part of the
 * project only: what others have built stays known.
 */
export class BuildTimes {
  readonly #completedAt = new Map<string, number>();
  #changes = 0;
  #changedAt = -Infinity;

  /** Takes what a `run_results.json` tells; an older build than the one known changes nothing. */
  record(builds: readonly Build[]): void {
    for (const { node, completedAt } of builds) {
      if (completedAt <= (this.#completedAt.get(node) ?? -Infinity)) continue;
      this.#completedAt.set(node, completedAt);
      this.#changes++;
      this.#changedAt = Date.now();
    }
  }

  /** When a node was last built, in milliseconds since 1970; null when nobody has told. */
  completedAt(node: string): number | null {
    return this.#completedAt.get(node) ?? null;
  }

  /** When a new build was last told of, in milliseconds since 1970. */
  get changedAt(): number {
    return this.#changedAt;
  }

  /** Grows with each build that is new: what was derived before it is out of date. */
  get changes(): number {
    return this.#changes;
  }
}
