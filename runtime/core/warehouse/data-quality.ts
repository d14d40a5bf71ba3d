import type { BuildRecords, TestRun } from "./data-versions.js";
import { hadFailed, isFailure } from "./result-history.js";

/** What the last results of a model's dbt tests say of its rows (runtime/docs/freshness.md). */
export interface DataQuality {
  /** `unknown`: a test is not known to have run since the rows were built, and none has failed. */
  readonly state: "passed" | "failed" | "unknown";
  /** Tests whose last result is `fail` or `error`. */
  readonly failed: number;
}

/**
 * The quality of the rows at a path; null without tests. `nodes`: those whose builds change the rows. A warning is no failure, and a
 * failed test counts until it passes.
 */
export function qualityOf(
  records: BuildRecords,
  path: string,
  tests: readonly string[],
  nodes: readonly string[],
): DataQuality | null {
  if (tests.length === 0) return null;
  const runs = tests.map((test) => records.tests.get(test));
  if (!records.holdsLastBuilds(path)) return qualityOfOldCopy(runs, records.heldUntil(path));
  const failed = runs.filter(hasFailed).length;
  if (failed > 0) return { state: "failed", failed };
  // Of an unknown build, and of rows that dbt does not build, nobody knows whether they are those that were tested.
  const builtAt = Math.max(...nodes.map((node) => records.builds.get(node)?.completedAt ?? Infinity));
  const isPassed = nodes.length > 0 && runs.every((run) => run !== undefined && isOfRows(run, builtAt));
  return { state: isPassed ? "passed" : "unknown", failed: 0 };
}

/** Tests that ran later are of other rows than the copy has. `until`: when the build after its own ended. */
function qualityOfOldCopy(runs: readonly (TestRun | undefined)[], until: number | null): DataQuality {
  const failed = until === null ? 0 : runs.filter((run) => hadFailed(run, until)).length;
  return { state: failed > 0 ? "failed" : "unknown", failed };
}

export function hasFailed(run: TestRun | undefined): boolean {
  return isFailure(run?.status);
}

function isOfRows({ status, skippedAt, completedAt }: TestRun, builtAt: number): boolean {
  return status !== "skipped" && skippedAt === undefined && completedAt >= builtAt;
}
