import { hash } from "node:crypto";
import { entityTag } from "../results/buffered-result.js";
import type { ResultColumns } from "../query/warehouse.js";

/** Entity tags remembered for one version: callers choose the questions, and must not choose how much memory that takes. */
const MAX_TAGS = 500;

/** What is known of an endpoint's rows before any query. */
export class Version {
  /** Changes with each build of what the rows come from. */
  readonly id: string;
  /** When the last of those builds was done, RFC 3339 in UTC. */
  readonly asOf: string;
  readonly #tags = new Map<string, string>();
  #columns: ResultColumns = [];

  constructor(id: string, asOf: string) {
    this.id = id;
    this.asOf = asOf;
  }

  /** The entity tag of a query's result: it changes with the columns of the relation as well. */
  tagOf(queryKey: string, columns: ResultColumns): string {
    if (columns !== this.#columns) this.#tags.clear();
    this.#columns = columns;
    const known = this.#tags.get(queryKey);
    if (known !== undefined) return known;
    const tag = entityTag(`${this.id}\0${JSON.stringify(columns)}\0${queryKey}`);
    if (this.#tags.size < MAX_TAGS) this.#tags.set(queryKey, tag);
    return tag;
  }
}

/** Replicas of the database follow it; until this long after a build, one of them may still give what was before it. */
const REPLICA_LAG_MS = 60_000;

interface Known {
  readonly changes: number;
  readonly version: Version | null;
}

/** Derives the versions of endpoints from the builds that dbt has reported. */
export class Versions {
  readonly #builds: BuildTimes;
  readonly #hasReplicas: boolean;
  readonly #known = new WeakMap<readonly string[], Known>();

  constructor(builds: BuildTimes, hasReplicas = false) {
    this.#builds = builds;
    this.#hasReplicas = hasReplicas;
  }

  /** `upstreamNodes`: an endpoint's. Null when something else may change the rows too, or a build of it is not known. */
  of(upstreamNodes: readonly string[] | null): Version | null {
    if (upstreamNodes === null || this.#builds.changes === 0) return null;
    if (this.#hasReplicas && Date.now() < this.#builds.changedAt + REPLICA_LAG_MS) return null;
    const known = this.#known.get(upstreamNodes);
    if (known?.changes === this.#builds.changes) return known.version;
    const version = this.#derive(upstreamNodes, known?.version ?? null);
    this.#known.set(upstreamNodes, { changes: this.#builds.changes, version });
    return version;
  }

  /** The same version stays the same object, with all that hangs on it. */
  #derive(upstreamNodes: readonly string[], before: Version | null): Version | null {
    const times = upstreamNodes.map((node) => this.#builds.completedAt(node));
    if (times.length === 0 || !times.every((time) => time !== null)) return null;
    const id = hash("sha1", upstreamNodes.map((node, i) => `${node} ${String(times[i])}`).join("\n"));
    return before?.id === id ? before : new Version(id, new Date(Math.max(...times)).toISOString());
  }
}

/** A build of a dbt node, as `run_results.json` reports it. */
export interface Build {
  /** The node's `unique_id`. */
  readonly node: string;
  /** When it was done, in milliseconds since 1970. */
  readonly completedAt: number;
  /** It failed while it ran: dbt does not say whether the relation has the rows of before or new ones. */
  readonly failed?: true;
  /** Rows that it wrote; null or absent where dbt does not say. */
  readonly rows?: number | null;
}

/** The last result of a dbt test. */
export interface TestRun {
  /** The test's `unique_id`. */
  readonly test: string;
  readonly status: "pass" | "warn" | "fail" | "error";
  /** When it was run, in milliseconds since 1970. */
  readonly completedAt: number;
  /** Rows that break the rule; null where dbt does not say. */
  readonly failures: number | null;
}

/**
 * The last known build of each node. A `run_results.json` reports one invocation, which may have built a part of the
 * project only: what others have built stays known.
 */
export class BuildTimes {
  readonly #builds = new Map<string, Build>();
  readonly #tests = new Map<string, TestRun>();
  #changes = 0;
  #testChanges = 0;
  #changedAt = -Infinity;

  /** Takes the results in a `run_results.json`; a result older than the known one changes nothing. */
  record(builds: readonly Build[], tests: readonly TestRun[] = []): void {
    for (const build of builds) {
      if (build.completedAt <= (this.#builds.get(build.node)?.completedAt ?? -Infinity)) continue;
      this.#builds.set(build.node, build);
      this.#changes++;
      this.#changedAt = Date.now();
    }
    for (const run of tests) {
      if (run.completedAt <= (this.#tests.get(run.test)?.completedAt ?? -Infinity)) continue;
      this.#tests.set(run.test, run);
      this.#testChanges++;
    }
  }

  /** The last known build of each node. */
  get all(): readonly Build[] {
    return [...this.#builds.values()];
  }

  /** The last known result of each test. */
  get allTests(): readonly TestRun[] {
    return [...this.#tests.values()];
  }

  /** The last known build of a node. */
  buildOf(node: string): Build | null {
    return this.#builds.get(node) ?? null;
  }

  /** The last known result of a test. */
  testRun(test: string): TestRun | null {
    return this.#tests.get(test) ?? null;
  }

  /** Grows with each test result that is new. */
  get testChanges(): number {
    return this.#testChanges;
  }

  /** When a node was last built, in milliseconds since 1970; null when that is not known, or the last build failed. */
  completedAt(node: string): number | null {
    const build = this.#builds.get(node);
    return build === undefined || build.failed ? null : build.completedAt;
  }

  /** When the rows of an endpoint were last built, RFC 3339 in UTC; null where a build of it is not known. */
  dataAsOf(upstreamNodes: readonly string[] | null): string | null {
    const times = (upstreamNodes ?? []).map((node) => this.completedAt(node));
    const known = times.filter((time) => time !== null);
    return known.length === 0 || known.length < times.length
      ? null
      : new Date(Math.max(...known)).toISOString();
  }

  /** When a new build was last reported, in milliseconds since 1970. */
  get changedAt(): number {
    return this.#changedAt;
  }

  /** Grows with each build that is new: what was derived before it is out of date. */
  get changes(): number {
    return this.#changes;
  }
}
