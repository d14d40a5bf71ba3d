import { hash } from "node:crypto";

/** The latest builds of an endpoint's own and upstream nodes. */
export interface DataVersion {
  /** Changes with each of these builds. */
  readonly id: string;
  /** When the last of those builds ended, RFC 3339 in UTC. */
  readonly asOf: string;
}

/** A dbt build of a node. */
export interface NodeBuild {
  /** The node's `unique_id`. */
  readonly node: string;
  /** When it ended, in milliseconds since 1970. */
  readonly completedAt: number;
  /** Its SQL failed. The relation may have been replaced before: a post-hook, a grant or an index can fail. */
  readonly failed?: true;
  /** dbt found nothing to change: the relation has the rows of the build before, and they are fresh. */
  readonly reused?: true;
  /** When dbt last found the rows fresh without building them, in milliseconds since 1970. */
  readonly freshAt?: number;
  /** Rows written: all of a table, the new ones of an incremental model; null or absent where dbt does not report them. */
  readonly rows?: number | null;
}

/** The last result of a dbt test. */
export interface TestRun {
  /** The test's `unique_id`. */
  readonly test: string;
  readonly status: "pass" | "warn" | "fail" | "error";
  /** When it ended, in milliseconds since 1970. */
  readonly completedAt: number;
  /** Rows that break the rule; null where dbt does not report them. */
  readonly failures: number | null;
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
  /** By node. */
  readonly builds = new Map<string, NodeBuild>();
  /** By test. */
  readonly tests = new Map<string, TestRun>();
  /** Number of recorded results: changes with each new one. */
  changes = 0;
  /** Versions by path, of the nodes and at the number of results that they were derived from. */
  #versions: Versions = { nodes: new Map(), changes: 0, byPath: new Map() };

  /** Records results; one that is not newer than the known one is ignored. */
  record(builds: readonly NodeBuild[], tests: readonly TestRun[] = []): void {
    for (const build of builds) {
      const known = this.builds.get(build.node);
      if (build.completedAt <= Math.max(known?.completedAt ?? -Infinity, known?.freshAt ?? -Infinity))
        continue;
      // Without a build to continue, the node's version starts here.
      const isFresh = build.reused && known !== undefined && !known.failed;
      this.builds.set(build.node, isFresh ? { ...known, freshAt: build.completedAt } : build);
      this.changes++;
    }
    for (const run of tests) {
      if (run.completedAt <= (this.tests.get(run.test)?.completedAt ?? -Infinity)) continue;
      this.tests.set(run.test, run);
      this.changes++;
    }
  }

  /** The latest builds of the endpoint at a path; `nodes`: of each path. Null if one is unknown or has failed. */
  versionAt(path: string, nodes: ReadonlyMap<string, readonly string[]>): DataVersion | null {
    const { changes } = this;
    if (changes === 0) return null;
    if (this.#versions.nodes !== nodes || this.#versions.changes !== changes)
      this.#versions = { nodes, changes, byPath: new Map() };
    const { byPath } = this.#versions;
    let version = byPath.get(path);
    if (version === undefined) byPath.set(path, (version = this.#derive(nodes.get(path) ?? [])));
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

  /** When the rows of an endpoint were last built or found fresh, RFC 3339 in UTC; null if a build is unknown. */
  dataAsOf(upstreamNodes: readonly string[]): string | null {
    const builds = upstreamNodes.map((node) => this.builds.get(node));
    const times = builds.flatMap((build) =>
      build === undefined || build.failed ? [] : [build.freshAt ?? build.completedAt],
    );
    return times.length === 0 || times.length < builds.length
      ? null
      : new Date(Math.max(...times)).toISOString();
  }
}
