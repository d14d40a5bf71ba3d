import { isDeepStrictEqual } from "node:util";
import { relationsOf } from "../../core/model/missing-columns.js";
import type { BuildRecords, RelationLoad } from "../../core/warehouse/data-versions.js";
import type { Warehouse } from "../../core/warehouse/warehouse.js";
import type { ActiveRelease, LoadedRelease } from "../../core/handler/loaded-release.js";

/** A load changes the rows: so long a response may still have the tag of the one before. One statement of system tables. */
const INTERVAL_MS = 2000;

interface CopyWatcherOptions {
  readonly active: ActiveRelease;
  readonly warehouse: Pick<Warehouse, "loads">;
  readonly builds: Pick<BuildRecords, "recordLoads">;
}

/** Keeps the loads of relations that `routewright ddl` fills. */
export class CopyWatcher {
  readonly #options: CopyWatcherOptions;
  /** As last read. */
  #loads: readonly RelationLoad[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: CopyWatcherOptions) {
    this.#options = options;
    this.releaseChanged();
    void this.#watch();
  }

  /** A path of the active release that reads a copy claims nothing before its load is read. */
  releaseChanged(): void {
    const { active, builds } = this.#options;
    builds.recordLoads(loadsByPath(active.current, this.#loads));
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #watch(): Promise<void> {
    const loads = await this.#read(this.#options.active.current);
    if (this.#isClosed) return;
    if (!isDeepStrictEqual(loads, this.#loads)) {
      this.#loads = loads;
      this.releaseChanged();
    }
    this.#timer = setTimeout(() => void this.#watch(), INTERVAL_MS).unref();
  }

  /** None while the database does not respond: then nothing is claimed of copies. */
  async #read({ endpoints }: LoadedRelease): Promise<readonly RelationLoad[]> {
    const relations = [...endpoints.values()].flatMap(({ spec }) => relationsOf(spec));
    try {
      return relations.length === 0 ? [] : await this.#options.warehouse.loads(relations);
    } catch {
      return [];
    }
  }
}

/** Of the paths that read a copy: in a release of copies all, else those whose relations have a load. */
function loadsByPath(
  { served, copiedFrom }: LoadedRelease,
  loads: readonly RelationLoad[],
): ReadonlyMap<string, readonly (RelationLoad | null)[]> {
  const byName = new Map(loads.map((load) => [load.relation, load]));
  return new Map(
    [...served].flatMap(([path, { spec }]) => {
      const own = relationsOf(spec).map((relation) => byName.get(relation.join(".")) ?? null);
      return copiedFrom === null && own.every((load) => load === null) ? [] : [[path, own] as const];
    }),
  );
}
