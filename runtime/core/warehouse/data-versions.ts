import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Relation } from "../model/endpoint.js";
import { lastUntil, withEarlier, withEarlierRuns } from "./result-history.js";

/** The latest builds of an endpoint's own and upstream nodes. */
export interface DataVersion {
  /** Changes with each of these builds. */
  readonly id: string;
  /** When the last of those builds ended, RFC 3339 in UTC. */
  readonly asOf: string;
}

/** The builds that a copy of a relation holds: when the build of each node (`unique_id`) ended, RFC 3339 in UTC. */
export type BuildsAtLoad = Readonly<Record<string, string>>;

/** The load of a relation that `routewright ddl` has filled. */
export interface RelationLoad {
  /** `schema.name` */
  readonly relation: string;
  /** Another one after each load. */
  readonly id: string;
  /** Null where the rows are of no known build. */
  readonly builds: BuildsAtLoad | null;
}

/** The loads of relations, of rows that name a relation, what identifies it, and its comment. */
export function loadsAmong(
  relations: readonly Relation[],
  rows: readonly (readonly [schema: string, name: string, id: string, comment: string])[],
): readonly RelationLoad[] {
  const wanted = new Set(relations.map((relation) => JSON.stringify(relation)));
  return rows.flatMap(([schema, name, id, comment]) => {
    const load = wanted.has(JSON.stringify([schema, name])) ? loadIn(`${schema}.${name}`, id, comment) : null;
    return load === null ? [] : [load];
  });
}

/** What the comment of a relation says of its load; null where `routewright ddl` has not loaded it. */
function loadIn(relation: string, id: string, comment: string): RelationLoad | null {
  try {
    const { routewright } = JSON.parse(comment) as {
      readonly routewright?: { readonly builds?: BuildsAtLoad; readonly loadedAt?: string };
    };
    return { relation, id: `${id} ${routewright?.loadedAt ?? ""}`, builds: routewright?.builds ?? null };
  } catch {
    return null;
  }
}

/** A dbt build of a node. */
export interface NodeBuild {
  /** The node's `unique_id`. */
  readonly node: string;
  /** When it ended, in milliseconds since 1970. */
  readonly completedAt: number;
  /** When its SQL began, in milliseconds since 1970; absent where dbt does not report it. */
  readonly startedAt?: number;
  /** Its SQL failed. The relation may have been replaced before: a post-hook, a grant or an index can fail. */
  readonly failed?: true;
  /** dbt found nothing to change: the relation has the rows of the build before, and they are fresh. */
  readonly reused?: true;
  /**
   * Since when the rows are at least as fresh, in milliseconds since 1970: dbt found them so without building them, or the
   * build before one that failed.
   */
  readonly freshAt?: number;
  /** Rows written: all of a table, the new ones of an incremental model; null or absent where dbt does not report them. */
  readonly rows?: number | null;
  /** When builds before it ended, the last first, in milliseconds since 1970. At most 20. */
  readonly earlier?: readonly number[];
}

/** The last result of a dbt test. */
export interface TestRun {
  /** The test's `unique_id`. */
  readonly test: string;
  readonly status: "pass" | "warn" | "fail" | "error" | "skipped";
  /** When it ended, in milliseconds since 1970. */
  readonly completedAt: number;
  /** When a later run of dbt skipped it, in milliseconds since 1970. */
  readonly skippedAt?: number;
  /** Rows that break the rule; null where dbt does not report them. */
  readonly failures: number | null;
  /** Results before it, the last first: the first one of those in a row that failed, or did not. At most 20. */
  readonly earlier?: readonly Pick<TestRun, "status" | "completedAt">[];
}

/** What dbt, or the database, last found of the age of a source's or a model's rows. */
export interface FreshnessCheck {
  /** The node's `unique_id`. */
  readonly node: string;
  /** When it was asked, in milliseconds since 1970. */
  readonly checkedAt: number;
  /** The latest load of its rows, in milliseconds since 1970; null where the database was asked and could not say it. */
  readonly loadedAt: number | null;
  /** Seconds after a load from which dbt warns; null where it does not. */
  readonly warnAfter: number | null;
  /** Seconds after a load from which dbt calls it an error; null where it does not. */
  readonly errorAfter: number | null;
}

interface Versions {
  readonly nodes: ReadonlyMap<string, readonly string[]>;
  readonly changes: number;
  readonly byPath: Map<string, DataVersion | null>;
}

/**
 * The last known build of each node and result of each test. A `run_results.json` reports one invocation, perhaps of a part
 * of the project: results of other nodes remain.
 */
export class BuildRecords {
  /** By node. Bounded by the nodes of the project. */
  readonly builds = new Map<string, NodeBuild>();
  /** By test. Bounded by the tests of the project. */
  readonly tests = new Map<string, TestRun>();
  /** By node: what dbt last found of the age of its rows. Bounded by the nodes of the project. */
  readonly checks = new Map<string, FreshnessCheck>();
  /** Number of recorded results: changes with each new one. */
  changes = 0;
  /** The loads of the relations that endpoints read, by path: a copy has the rows of its load, whatever dbt has built since. Bounded by the endpoints. */
  #loads: ReadonlyMap<string, readonly (RelationLoad | null)[]> = new Map();
  /** Versions by path, of the nodes and at the number of results that they were derived from. */
  #versions: Versions = { nodes: new Map(), changes: 0, byPath: new Map() };

  /** Records results; one that is not newer than the known one is ignored. */
  record(
    builds: readonly NodeBuild[],
    tests: readonly TestRun[] = [],
    checks: readonly FreshnessCheck[] = [],
  ): void {
    for (const check of checks) {
      if (check.checkedAt <= (this.checks.get(check.node)?.checkedAt ?? -Infinity)) continue;
      this.checks.set(check.node, check);
      this.changes++;
    }
    for (const build of builds) {
      const known = this.builds.get(build.node);
      const last = known === undefined ? build : lastBuildOf(known, build);
      if (isDeepStrictEqual(last, known)) continue;
      this.builds.set(build.node, last);
      this.changes++;
    }
    for (const run of tests) {
      const known = this.tests.get(run.test);
      const last = known === undefined ? run : lastOf(known, run);
      if (isDeepStrictEqual(last, known)) continue;
      this.tests.set(run.test, last);
      this.changes++;
    }
  }

  /** Records the loads of copies, by the paths of their endpoints; null for a relation whose load is not known. */
  recordLoads(loads: ReadonlyMap<string, readonly (RelationLoad | null)[]>): void {
    if (isDeepStrictEqual(loads, this.#loads)) return;
    this.#loads = loads;
    this.changes++;
  }

  /** The loads of the copies that the endpoint at a path reads; undefined where it reads none. */
  loadsAt(path: string): readonly (RelationLoad | null)[] | undefined {
    return this.#loads.get(path);
  }

  /** Relations whose copy is older than the last build of its source. */
  get staleCopies(): readonly string[] {
    const loads = [...this.#loads.values()].flat().filter((load) => load !== null);
    const stale = loads.filter((load) => this.isStale(load)).map(({ relation }) => relation);
    return [...new Set(stale)].sort();
  }

  /** Whether the copies that the endpoint at a path reads hold the last builds; true where it reads none. */
  holdsLastBuilds(path: string): boolean {
    const loads = this.#loads.get(path) ?? [];
    return loads.every((load) => {
      const times = Object.entries(load?.builds ?? {});
      return (
        times.length > 0 &&
        times.every(([node, time]) => this.builds.get(node)?.completedAt === Date.parse(time))
      );
    });
  }

  /** Until when the copies that the endpoint at a path reads held the last builds, in milliseconds since 1970; null where nobody knows. */
  heldUntil(path: string): number | null {
    return lastUntil(
      this.builds,
      (this.#loads.get(path) ?? []).map((load) => load?.builds ?? null),
    );
  }

  isStale({ builds }: RelationLoad): boolean {
    return Object.entries(builds ?? {}).some(
      ([node, time]) => (this.completedAt(node) ?? -Infinity) > Date.parse(time),
    );
  }

  /** The latest builds of the endpoint at a path; `nodes`: of each path. Null if one is unknown or has failed. */
  versionAt(path: string, nodes: ReadonlyMap<string, readonly string[]>): DataVersion | null {
    const { changes } = this;
    if (changes === 0) return null;
    if (this.#versions.nodes !== nodes || this.#versions.changes !== changes)
      this.#versions = { nodes, changes, byPath: new Map() };
    const { byPath } = this.#versions;
    let version = byPath.get(path);
    if (version === undefined) {
      const loads = this.#loads.get(path);
      version = loads === undefined ? this.#derive(nodes.get(path) ?? []) : versionOfLoads(loads);
      byPath.set(path, version);
    }
    return version;
  }

  #derive(upstreamNodes: readonly string[]): DataVersion | null {
    const times = upstreamNodes.map((node) => this.completedAt(node));
    if (times.length === 0 || !times.every((time) => time !== null)) return null;
    const id = hash("sha1", upstreamNodes.map((node, i) => `${node} ${String(times[i])}`).join("\n"));
    return { id, asOf: new Date(Math.max(...times)).toISOString() };
  }

  /** When a node was last built, in milliseconds since 1970; null if unknown, or if the last build failed. */
  completedAt(node: string): number | null {
    const build = this.builds.get(node);
    return build === undefined || build.failed ? null : build.completedAt;
  }

  /** When the oldest of an endpoint's rows were built or found fresh, in milliseconds since 1970; `nodes`: those that hold them. Null: unknown. */
  oldestRows(path: string, nodes: readonly string[]): number | null {
    const loads = this.#loads.get(path);
    const times = nodes.map((node) => (loads === undefined ? this.#freshAt(node) : loadedAt(loads, node)));
    const known = times.flatMap((time) => (time === null || Number.isNaN(time) ? [] : [time]));
    return times.length === 0 || known.length < times.length ? null : Math.min(...known);
  }

  #freshAt(node: string): number | null {
    const { failed, freshAt, completedAt } = this.builds.get(node) ?? {};
    return freshAt ?? (failed ? null : (completedAt ?? null));
  }

  /** When the rows of the endpoint at a path were last built or found fresh, RFC 3339 in UTC; null if a build is unknown. */
  dataAsOf(path: string, upstreamNodes: readonly string[]): string | null {
    const loads = this.#loads.get(path);
    if (loads !== undefined) return versionOfLoads(loads)?.asOf ?? null;
    const builds = upstreamNodes.map((node) => this.builds.get(node));
    const times = builds.flatMap((build) =>
      build === undefined || build.failed ? [] : [build.freshAt ?? build.completedAt],
    );
    return times.length === 0 || times.length < builds.length
      ? null
      : new Date(Math.max(...times)).toISOString();
  }
}

/** The last build of a node; reports may come in any order. */
function lastBuildOf(known: NodeBuild, build: NodeBuild): NodeBuild {
  if (build.completedAt <= Math.max(known.completedAt, known.freshAt ?? -Infinity))
    return build.reused ? known : withEarlier(known, build);
  // Without a build to continue, the node's version starts here.
  if (build.reused && !known.failed) return { ...known, freshAt: build.completedAt };
  return withEarlier(afterBuild(build, known), known);
}

/** The last result of a test. One that dbt skips keeps the result that it had; reports may come in any order. */
function lastOf(known: TestRun, run: TestRun): TestRun {
  const newer = run.completedAt > known.completedAt ? run : known;
  const older = newer === run ? known : run;
  const result = newer.status === "skipped" ? older : newer;
  const skips = [known, run].map((each) =>
    each.status === "skipped" ? each.completedAt : (each.skippedAt ?? 0),
  );
  const skippedAt = Math.max(...skips);
  const last = withEarlierRuns(result, known, run);
  return skippedAt > last.completedAt ? { ...last, skippedAt } : last;
}

/** After a failed build the rows are those of the build before, or newer ones. */
function afterBuild(build: NodeBuild, known: NodeBuild): NodeBuild {
  const before = known.freshAt ?? (known.failed ? undefined : known.completedAt);
  return build.failed && before !== undefined ? { ...build, freshAt: before } : build;
}

/** When a copy's rows of a node were built; null where no load knows it. */
function loadedAt(loads: readonly (RelationLoad | null)[], node: string): number | null {
  const times = loads.flatMap((load) => load?.builds?.[node] ?? []).map((time) => Date.parse(time));
  return times.length === 0 ? null : Math.min(...times);
}

/** The version of rows that are loaded: another one after each load. Null while the build of one is not known. */
function versionOfLoads(loads: readonly (RelationLoad | null)[]): DataVersion | null {
  const known = loads.filter((load) => load !== null && load.builds !== null);
  const times = known.flatMap((load) => Object.values(load?.builds ?? {}).map((time) => Date.parse(time)));
  if (times.length === 0 || known.length < loads.length || times.some(Number.isNaN)) return null;
  return { id: hash("sha1", JSON.stringify(known)), asOf: new Date(Math.max(...times)).toISOString() };
}
