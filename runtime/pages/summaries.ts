import type { Endpoint } from "../core/model/endpoint.js";
import { freshnessText } from "../core/model/freshness.js";
import { groupedBy } from "../core/model/grouped.js";
import { hasFailed } from "../core/warehouse/data-quality.js";
import type { BuildRecords, TestRun } from "../core/warehouse/data-versions.js";
import { dueIn, lateAmong } from "../core/warehouse/freshness-checks.js";
import type { CatalogueColumn, CatalogueEndpoint, TestSummary } from "./catalogue-body.js";

/** What the team promises of the age of rows, and until when those of now keep it. */
export function freshnessOf(
  { path, freshness }: Endpoint,
  results: BuildRecords,
  seesLineage: boolean,
  nodes: Readonly<Record<"rowNodes" | "checkedNodes", readonly string[]>>,
): Pick<CatalogueEndpoint, "freshness"> {
  if (freshness === undefined) return {};
  const until = dueIn(results, freshness, { path, ...nodes });
  const { within, by, warnAfter, errorAfter } = freshness;
  const late = lateAmong(results, nodes.checkedNodes, Date.now());
  return {
    freshness: {
      promise: freshnessText(freshness),
      ...(within !== undefined && { within_seconds: within }),
      ...(by !== undefined && { by }),
      ...(warnAfter !== undefined && { warn_after_seconds: warnAfter }),
      ...(errorAfter !== undefined && { error_after_seconds: errorAfter }),
      due: timeOf(until?.due),
      ...(until !== null && until.warnAt !== Infinity && { warn_at: timeOf(until.warnAt) }),
      ...(seesLineage && late.length > 0 && { late_nodes: late }),
    },
  };
}

function timeOf(instant: number | undefined): string | null {
  return instant === undefined || instant === Infinity ? null : new Date(instant).toISOString();
}

/** The last results of tests; null without tests. */
export function testsOf(tests: readonly string[] | undefined, results: BuildRecords): TestSummary | null {
  if (tests === undefined || tests.length === 0) return null;
  const runs = tests.flatMap((test) => results.tests.get(test) ?? []);
  const last = runs.map(shownStatus);
  const count = (...statuses: readonly string[]): number =>
    last.filter((status) => statuses.includes(status)).length;
  return {
    passed: count("pass"),
    warned: count("warn"),
    failed: count("fail", "error"),
    skipped: count("skipped"),
    unknown: tests.length - runs.length,
    completed_at:
      runs.length === 0
        ? null
        : new Date(Math.max(...runs.map(({ completedAt }) => completedAt))).toISOString(),
    // `test.shop.not_null_orders_id.cf6c17daed` is `not_null_orders_id`.
    problems: runs.flatMap((run) => {
      const { test, failures } = run;
      const status = shownStatus(run);
      return status === "pass" ? [] : [{ name: test.split(".")[2] ?? test, status, failures }];
    }),
  };
}

/** A test that failed has failed until it runs again. */
function shownStatus(run: TestRun): TestRun["status"] {
  return run.skippedAt === undefined || hasFailed(run) ? run.status : "skipped";
}

/** The columns with the results of their tests. `tested`: the column of each test. */
export function withTests(
  columns: readonly CatalogueColumn[],
  tested: Readonly<Record<string, string | null>>,
  results: BuildRecords,
): readonly CatalogueColumn[] {
  const byColumn = groupedBy(Object.keys(tested), (test) => tested[test] ?? "");
  return columns.map((column) => {
    const tests = testsOf(byColumn.get(column.name), results);
    return tests === null ? column : { ...column, tests };
  });
}
