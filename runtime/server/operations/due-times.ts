import type { ActiveRelease, LoadedRelease } from "../../core/handler/loaded-release.js";
import { dueOf } from "../../core/model/freshness.js";
import type { Endpoint } from "../../core/model/endpoint.js";
import type { BuildRecords } from "../../core/warehouse/data-versions.js";

interface Known {
  readonly release: LoadedRelease | null;
  readonly changes: number;
  readonly byPath: Map<string, number | null>;
}

/** Until when the rows of endpoints keep what their teams promise: counted once per build, since time zones cost 50 µs each. */
export class DueTimes {
  readonly #active: ActiveRelease;
  readonly #builds: BuildRecords;
  /** Bounded by the endpoints. */
  #known: Known = { release: null, changes: -1, byPath: new Map() };

  constructor(active: ActiveRelease, builds: BuildRecords) {
    this.#active = active;
    this.#builds = builds;
  }

  /** In milliseconds since 1970; null without a promise, or while a build is not known. */
  of({ path, freshness }: Pick<Endpoint, "path" | "freshness">): number | null {
    if (freshness === undefined) return null;
    const { current: release } = this.#active;
    const { changes } = this.#builds;
    if (this.#known.release !== release || this.#known.changes !== changes)
      this.#known = { release, changes, byPath: new Map() };
    const { byPath } = this.#known;
    let due = byPath.get(path);
    if (due === undefined) {
      const builtAt = this.#builds.oldestRows(path, release.rowNodes.get(path) ?? []);
      due = builtAt === null ? null : dueOf(freshness, builtAt);
      byPath.set(path, due);
    }
    return due;
  }

  /** Paths of endpoints whose rows are older than promised, or of no build that is known. */
  late(now = Date.now()): readonly string[] {
    const specs = [...this.#active.current.endpoints.values()].map(({ spec }) => spec);
    return specs
      .filter((spec) => spec.freshness !== undefined && (this.of(spec) ?? -Infinity) < now)
      .map(({ path }) => path);
  }
}
