import { describe, expect, it } from "vitest";
import { parseRunResults } from "../../generator/manifest/run-results.js";

const WRITTEN = "2026-05-21T04:00:00.000000Z";

/** A result as dbt writes it since 1.0; what a test says of it wins. */
function result(node: string, more: object = {}): object {
  return {
    unique_id: node,
    status: "success",
    timing: [
      {
        name: "compile",
        started_at: "2026-05-21T03:00:00.000000Z",
        completed_at: "2026-05-21T03:00:01.100000Z",
      },
      {
        name: "execute",
        started_at: "2026-05-21T03:00:01.200000Z",
        completed_at: "2026-05-21T03:00:02.345678Z",
      },
    ],
    thread_id: "Thread-1 (worker)",
    execution_time: 2.3,
    adapter_response: { _message: "SELECT 5", code: "SELECT", rows_affected: 5 },
    message: "SELECT 5",
    failures: null,
    ...more,
  };
}

/** What a test says of the file. */
interface Said {
  readonly version?: number;
  readonly which?: unknown;
  readonly metadata?: object;
}

function runResults(results: unknown, { version = 6, which = "build", metadata = {} }: Said = {}): string {
  return JSON.stringify({
    metadata: {
      dbt_schema_version: `https://schemas.getdbt.com/dbt/run-results/v${String(version)}.json`,
      dbt_version: "1.11.16",
      generated_at: WRITTEN,
      invocation_id: "3f1c",
      env: {},
      ...metadata,
    },
    results,
    elapsed_time: 12.5,
    args: { which },
  });
}

const read = (text: string) => parseRunResults(text, "run_results.json");
const built = (more: object): readonly unknown[] => {
  const reading = read(runResults([result("model.shop.a", more)]));
  return reading.ok ? reading.value.builds : [reading.problems.join(" ")];
};
const DONE = { node: "model.shop.a", completedAt: Date.parse("2026-05-21T03:00:02.345Z"), rows: 5 };
/** Only of a success it is known when its SQL began to make all rows. */
const SUCCEEDED = { ...DONE, startedAt: Date.parse("2026-05-21T03:00:01.200Z") };

describe("dbt's run_results.json", () => {
  it.each([
    [4, {}],
    [5, { compiled: true, compiled_code: "select 1", relation_name: '"w"."dbt"."a"' }],
    [6, { compiled: true, compiled_code: "select 1", batch_results: null }],
    [7, { unheard_of: true }],
  ])("of schema v%i tells what was built, and when", (version, more) => {
    const text = runResults([result("model.shop.a", more), result("seed.shop.b", more)], { version });
    expect(read(text)).toEqual({
      ok: true,
      value: { builds: [SUCCEEDED, { ...SUCCEEDED, node: "seed.shop.b" }], tests: [], command: "build" },
    });
  });

  it("holds the results of tests, of `dbt test` too, and which were skipped", () => {
    const test = (name: string, status: string, failures: number | null) =>
      result(`test.shop.${name}.c0ffee`, { status, failures });
    const results = [
      test("a", "pass", 0),
      test("b", "warn", 3),
      test("c", "fail", 9),
      test("d", "error", null),
    ];
    const text = runResults(
      [...results, test("e", "skipped", null), result("unit_test.shop.a.b", { status: "pass" })],
      { which: "test" },
    );
    const run = (name: string, status: string, failures: number | null) => ({
      test: `test.shop.${name}.c0ffee`,
      status,
      completedAt: DONE.completedAt,
      failures,
    });
    expect(read(text)).toMatchObject({
      value: {
        builds: [],
        tests: [
          run("a", "pass", 0),
          run("b", "warn", 3),
          run("c", "fail", 9),
          run("d", "error", null),
          run("e", "skipped", null),
        ],
      },
    });
  });

  it.each([[-1], ["5"], [1.5], [undefined]])("takes rows_affected %j for not known", (rows_affected) => {
    expect(built({ adapter_response: { rows_affected } })).toEqual([{ ...SUCCEEDED, rows: null }]);
  });

  it.each(["success", "partial success", "warn", "pass", "unheard-of", 1, null])(
    "counts a node whose status is %j: it is not known to leave the relation as it was",
    (status) => {
      expect(built({ status })).toEqual([status === "success" ? SUCCEEDED : DONE]);
    },
  );

  it.each(["skipped", "no-op"])("does not count a node whose status is %j", (status) => {
    expect(built({ status })).toEqual([]);
  });

  it.each([
    ["No new changes on any upstreams", { ...DONE, reused: true }],
    ["Cloned from cached relation", DONE],
    ["Cloned from cached relation within freshness tolerance", DONE],
    [null, DONE],
  ])("reads `reused` with the message %j", (message, build) => {
    expect(built({ status: "reused", message })).toEqual([build]);
  });

  it.each(["error", "runtime error", "canceled"])(
    "counts a node whose status is %j as failed once its SQL has run: a hook may fail behind the swap",
    (status) => {
      expect(built({ status })).toEqual([{ ...DONE, failed: true }]);
      const compile = { name: "compile", completed_at: "2026-05-21T03:00:01.100000Z" };
      expect(built({ status, timing: [compile] })).toEqual([]);
    },
  );

  it.each(["build", "run", "seed", "snapshot", "retry", "clone", "unheard-of", null, 7])(
    "counts what `dbt %s` has built",
    (which) => {
      expect(read(runResults([result("model.shop.a")], { which }))).toMatchObject({
        value: { builds: [DONE] },
      });
    },
  );

  it("does not say when the rows of a clone were made", () => {
    expect(read(runResults([result("model.shop.a")], { which: "clone" }))).toMatchObject({
      value: { builds: [DONE] },
    });
    expect(built({ message: "success" })).toEqual([SUCCEEDED]);
    const cloned = read(runResults([result("model.shop.a")], { which: "clone" }));
    expect(JSON.stringify(cloned)).not.toContain("startedAt");
  });

  it.each(["compile", "generate", "show", "test", "run-operation"])(
    "does not take for built what `dbt %s` calls a success",
    (which) => {
      expect(read(runResults([result("model.shop.a")], { which }))).toEqual({
        ok: true,
        value: { builds: [], tests: [], command: which },
      });
    },
  );

  it("has the end of the execution, else of the last phase, else the time of writing, as the time of a build", () => {
    const compile = { name: "compile", completed_at: "2026-05-21T03:00:01.100000Z" };
    const execute = { name: "execute", completed_at: "2026-05-21T03:00:02.345678Z" };
    const timeOf = (timing: unknown): unknown => built({ timing })[0];
    expect(timeOf([execute, compile])).toEqual(DONE);
    expect(timeOf([compile])).toEqual({ ...DONE, completedAt: Date.parse("2026-05-21T03:00:01.100Z") });
    for (const timing of [
      [],
      null,
      "soon",
      [7],
      [{ name: "execute" }],
      [compile, { ...execute, completed_at: "soon" }],
    ])
      expect(timeOf(timing)).toEqual({ ...DONE, completedAt: Date.parse(WRITTEN) });
  });

  it.each([
    ["2026-05-21T03:00:02.345678Z", "2026-05-21T03:00:02.345Z"],
    ["2026-05-21 03:00:02.345678Z", "2026-05-21T03:00:02.345Z"],
    ["2026-05-21T03:00:02.345678", "2026-05-21T03:00:02.345Z"],
    ["2026-05-21T03:00:02", "2026-05-21T03:00:02Z"],
    ["2026-05-21T03:00:02+02:00", "2026-05-21T01:00:02Z"],
  ])("takes the time %s for %s, wherever this machine is", (completed_at, instant) => {
    expect(built({ timing: [{ name: "execute", completed_at }] })).toEqual([
      { ...DONE, completedAt: Date.parse(instant) },
    ]);
  });

  it.each([{ unique_id: undefined }, { unique_id: "" }, { unique_id: 7 }])(
    "passes over a result without a node: %j",
    (more) => {
      expect(built(more)).toEqual([]);
    },
  );

  it("ignores malformed results, and reports the rest", () => {
    const text = runResults([null, 7, "x", [], {}, result("model.shop.a")]);
    expect(read(text)).toMatchObject({ ok: true, value: { builds: [DONE] } });
  });

  it("may be empty", () => {
    expect(read(runResults([], { which: null }))).toEqual({
      ok: true,
      value: { builds: [], tests: [], command: null },
    });
  });

  it.each([
    ["null", "null"],
    ["a list", "[]"],
    ["an empty object", "{}"],
    ["without results", runResults(undefined)],
    ["with results that are no list", runResults({ a: result("model.shop.a") })],
    ["with no time", runResults([], { metadata: { generated_at: undefined } })],
    ["with a time that is none", runResults([], { metadata: { generated_at: "soon" } })],
    [
      "a manifest",
      '{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/manifest/v12.json"},"nodes":{}}',
    ],
    [
      "the freshness of sources",
      runResults([], { metadata: { dbt_schema_version: "https://schemas.getdbt.com/dbt/sources/v3.json" } }),
    ],
  ])("is refused when it is %s", (_, text) => {
    expect(read(text)).toEqual({
      ok: false,
      problems: [
        "run_results.json is not a dbt run_results.json. Give the one that `dbt build` writes to target/.",
      ],
    });
  });

  it.each([
    ["cut off", runResults([result("model.shop.a")]).slice(0, 200), /^run_results\.json is not JSON: .+$/],
    ["empty", "", /^run_results\.json is not JSON: it is empty\.$/],
    ["an HTML page", "<!doctype html>", /it looks like an HTML page/],
  ])("is refused in one line when it is %s", (_, text, problem) => {
    expect(read(text)).toEqual({ ok: false, problems: [expect.stringMatching(problem) as string] });
  });
});
