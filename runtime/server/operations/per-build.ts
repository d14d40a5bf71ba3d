import type { ActiveRelease, LoadedRelease } from "../../core/handler/loaded-release.js";
import type { BuildRecords } from "../../core/warehouse/data-versions.js";

/** What is derived from the results of dbt, by path: once per result that comes, not per request. */
export class PerBuild<T> {
  readonly #active: ActiveRelease;
  readonly #builds: BuildRecords;
  readonly #derive: (path: string, release: LoadedRelease) => T;
  #release: LoadedRelease | null = null;
  #changes = -1;
  /** Bounded by the endpoints. */
  #byPath = new Map<string, T>();

  constructor(
    active: ActiveRelease,
    builds: BuildRecords,
    derive: (path: string, release: LoadedRelease) => T,
  ) {
    this.#active = active;
    this.#builds = builds;
    this.#derive = derive;
  }

  at(path: string): T {
    const { current: release } = this.#active;
    const { changes } = this.#builds;
    if (this.#release !== release || this.#changes !== changes) this.#byPath = new Map();
    [this.#release, this.#changes] = [release, changes];
    const known = this.#byPath.get(path);
    if (known !== undefined) return known;
    const derived = this.#derive(path, release);
    this.#byPath.set(path, derived);
    return derived;
  }
}
