import type { Build, TestSummary } from "./catalogue-body.js";

/** Results of dbt's builds and tests so far. */
export interface DbtResults {
  buildOf(node: string): {
    readonly completedAt: number;
    readonly rows?: number | null;
    readonly failed?: true;
  } | null;
  testRun(test: string): TestResult | null;
  /** When the rows of an endpoint were last built, RFC 3339; null when unknown. */
  dataAsOf(upstreamNodes: readonly string[] | null): string | null;
}

interface TestResult {
  readonly status: "pass" | "warn" | "fail" | "error";
  readonly completedAt: number;
  readonly failures: number | null;
}

export const NO_RESULTS: DbtResults = { buildOf: () => null, testRun: () => null, dataAsOf: () => null };

export function buildOf(node: string, results: DbtResults): Build | null {
  const build = results.buildOf(node);
  if (build === null) return null;
  const { completedAt, rows = null, failed = false } = build;
  return { completed_at: toRfc3339(completedAt), rows, failed };
}

export function testsOf(tests: readonly string[] | undefined, results: DbtResults): TestSummary | null {
  if (tests === undefined || tests.length === 0) return null;
  const runs = tests.flatMap((test) => {
    const run = results.testRun(test);
    return run === null ? [] : [{ name: nameOfTest(test), ...run }];
  });
  const count = (...statuses: readonly string[]): number =>
    runs.filter(({ status }) => statuses.includes(status)).length;
  return {
    passed: count("pass"),
    warned: count("warn"),
    failed: count("fail", "error"),
    unknown: tests.length - runs.length,
    completed_at:
      runs.length === 0 ? null : toRfc3339(Math.max(...runs.map(({ completedAt }) => completedAt))),
    problems: runs.flatMap(({ name, status, failures }) =>
      status === "pass" ? [] : [{ name, status, failures }],
    ),
  };
}

/** `test.shop.not_null_orders_id.cf6c17daed` → `not_null_orders_id`. */
function nameOfTest(test: string): string {
  return test.split(".")[2] ?? test;
}

function toRfc3339(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
