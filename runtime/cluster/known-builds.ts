import type { Build } from "../data-api/data-versions.js";

/** The last known build of each node, for workers that start later. */
export class KnownBuilds {
  readonly #builds = new Map<string, Build>();

  record(builds: readonly Build[]): void {
    for (const build of builds) {
      const known = this.#builds.get(build.node);
      if (known === undefined || known.completedAt < build.completedAt) this.#builds.set(build.node, build);
    }
  }

  get all(): readonly Build[] {
    return [...this.#builds.values()];
  }
}
