import type { ActiveRelease } from "../../core/handler/loaded-release.js";
import type { Endpoint } from "../../core/model/endpoint.js";
import type { BuildRecords } from "../../core/warehouse/data-versions.js";
import { type Due, dueIn, lateAmong } from "../../core/warehouse/freshness-checks.js";
import { PerBuild } from "./per-build.js";

/** Until when the rows of endpoints keep what their teams promise: counted once per build, since time zones cost 50 µs each. */
export class DueTimes {
  readonly #active: ActiveRelease;
  readonly #builds: BuildRecords;
  readonly #known: PerBuild<Due | null>;

  constructor(active: ActiveRelease, builds: BuildRecords) {
    this.#active = active;
    this.#builds = builds;
    this.#known = new PerBuild(active, builds, (path, release) => {
      const { freshness } = release.served.get(path)?.spec ?? {};
      const rowNodes = release.rowNodes.get(path) ?? [];
      const checkedNodes = release.checkedNodes.get(path) ?? [];
      return freshness === undefined ? null : dueIn(builds, freshness, { path, rowNodes, checkedNodes });
    });
  }

  /** Null without a promise, or while a build is not known. */
  of({ path, freshness }: Pick<Endpoint, "path" | "freshness">): Due | null {
    return freshness === undefined ? null : this.#known.at(path);
  }

  /** Paths of endpoints whose rows are older than promised, or of no build that is known. */
  late(now = Date.now()): readonly string[] {
    const specs = [...this.#active.current.endpoints.values()].map(({ spec }) => spec);
    return specs
      .filter((spec) => spec.freshness !== undefined && (this.of(spec)?.due ?? -Infinity) < now)
      .map(({ path }) => path);
  }

  /** Sources and models, by `unique_id`, that make an endpoint late. */
  lateNodes(now = Date.now()): readonly string[] {
    const { rowNodes, checkedNodes } = this.#active.current;
    const nodes = new Set([...checkedNodes.values(), ...rowNodes.values()].flat());
    return lateAmong(this.#builds, [...nodes].sort(), now);
  }
}
