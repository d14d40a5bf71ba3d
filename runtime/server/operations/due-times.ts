import type { ActiveRelease } from "../../core/handler/loaded-release.js";
import { dueOf } from "../../core/model/freshness.js";
import type { Endpoint } from "../../core/model/endpoint.js";
import type { BuildRecords } from "../../core/warehouse/data-versions.js";
import { PerBuild } from "./per-build.js";

/** Until when the rows of endpoints keep what their teams promise: counted once per build, since time zones cost 50 µs each. */
export class DueTimes {
  readonly #active: ActiveRelease;
  readonly #known: PerBuild<number | null>;

  constructor(active: ActiveRelease, builds: BuildRecords) {
    this.#active = active;
    this.#known = new PerBuild(active, builds, (path, { served, rowNodes }) => {
      const { freshness } = served.get(path)?.spec ?? {};
      const builtAt = builds.oldestRows(path, rowNodes.get(path) ?? []);
      return freshness === undefined || builtAt === null ? null : dueOf(freshness, builtAt);
    });
  }

  /** In milliseconds since 1970; null without a promise, or while a build is not known. */
  of({ path, freshness }: Pick<Endpoint, "path" | "freshness">): number | null {
    return freshness === undefined ? null : this.#known.at(path);
  }

  /** Paths of endpoints whose rows are older than promised, or of no build that is known. */
  late(now = Date.now()): readonly string[] {
    const specs = [...this.#active.current.endpoints.values()].map(({ spec }) => spec);
    return specs
      .filter((spec) => spec.freshness !== undefined && (this.of(spec) ?? -Infinity) < now)
      .map(({ path }) => path);
  }
}
