import { describe, expect, it } from "vitest";
import { dueOf, freshnessText } from "../../runtime/core/model/freshness.js";
import { dueIn, lateAmong } from "../../runtime/core/warehouse/freshness-checks.js";
import { qualityOf } from "../../runtime/core/warehouse/data-quality.js";
import { BuildRecords } from "../../runtime/core/warehouse/data-versions.js";

const due = (promise: { within?: number; by?: string }, built: string): string =>
  new Date(dueOf(promise, Date.parse(built))).toISOString();

describe("the bound of rows", () => {
  it.each([
    // The build of a day holds until the time on the day after.
    ["06:00 Europe/Vienna", "2026-11-29T04:00:00Z", "2026-11-30T05:00:00.000Z"],
    ["06:00 Europe/Vienna", "2026-11-29T05:00:00Z", "2026-11-30T05:00:00.000Z"],
    ["06:00 Europe/Vienna", "2026-11-29T22:59:59Z", "2026-11-30T05:00:00.000Z"],
    // Vienna's next day has begun.
    ["06:00 Europe/Vienna", "2026-11-29T23:00:00Z", "2026-12-01T05:00:00.000Z"],
    ["06:00", "2026-11-29T23:59:59Z", "2026-11-30T06:00:00.000Z"],
    ["06:00 America/Los_Angeles", "2026-11-29T07:00:00Z", "2026-11-29T14:00:00.000Z"],
    ["00:00 Asia/Kathmandu", "2026-11-29T18:15:00Z", "2026-11-30T18:15:00.000Z"],
    // Clocks go forward at 2 to 3, and back at 3 to 2.
    ["06:00 Europe/Vienna", "2026-03-28T12:00:00Z", "2026-03-29T04:00:00.000Z"],
    ["02:30 Europe/Vienna", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00.000Z"],
    ["02:30 Europe/Vienna", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00.000Z"],
    ["00:30 America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-04T03:30:00.000Z"],
  ])("by %s, of a build at %s, is %s", (by, built, expected) => {
    expect(due({ by }, built)).toBe(expected);
  });

  it("is the sooner of two", () => {
    const built = "2026-11-29T10:00:00Z";
    expect(due({ within: 7200 }, built)).toBe("2026-11-29T12:00:00.000Z");
    expect(due({ within: 7200, by: "06:00" }, built)).toBe("2026-11-29T12:00:00.000Z");
    expect(due({ within: 93_600, by: "06:00" }, built)).toBe("2026-11-30T06:00:00.000Z");
  });

  it("is the local time on the local day after the build, in every zone and at every clock change", () => {
    const zones = [
      "Europe/Vienna",
      "America/New_York",
      "Australia/Lord_Howe",
      "Africa/Casablanca",
      "Asia/Kolkata",
      "UTC",
    ];
    for (const zone of zones) {
      const format = new Intl.DateTimeFormat("sv-SE", {
        timeZone: zone,
        dateStyle: "short",
        timeStyle: "short",
      });
      for (let hour = 0; hour < 366 * 24; hour += 29) {
        const built = Date.UTC(2026, 0, 1, hour, 17);
        const [day = ""] = format.format(built).split(" ");
        const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
        expect(format.format(dueOf({ by: `06:40 ${zone}` }, built))).toBe(`${next} 06:40`);
      }
    }
  });

  it("is said in words", () => {
    expect(freshnessText({ within: 93_600, by: "06:00 Europe/Vienna" })).toBe(
      "by 06:00 Europe/Vienna, at most 26 hours old",
    );
    expect(freshnessText({ within: 5400 })).toBe("at most 90 minutes old");
    expect(freshnessText({ within: 604_800 })).toBe("at most 7 days old");
    expect(freshnessText({ within: 86_400 })).toBe("at most 24 hours old");
    expect(freshnessText({ warnAfter: 43_200, errorAfter: 86_400 })).toBe(
      "at most 24 hours after their last load, with a warning 12 hours after their last load",
    );
  });
});

/** A run of dbt: what became of each node that it built. */
type Run = Readonly<Record<string, "success" | "failed" | "reused">>;

/** Numbers that a seed decides. */
function chooser(seed: number) {
  let state = seed + 1;
  return (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

const NODES = ["a", "b", "c"];

function randomRuns(choose: (below: number) => number): readonly (readonly [time: number, run: Run])[] {
  let time = 0;
  return Array.from({ length: 1 + choose(8) }, () => {
    // A report may also come late, after that of a later run.
    time += choose(5) === 0 ? -1000 : 1000 * (1 + choose(5));
    const built = NODES.filter(() => choose(3) > 0);
    const status = () => (["success", "success", "failed", "reused"] as const)[choose(4)] ?? "success";
    return [time, Object.fromEntries(built.map((node) => [node, status()]))] as const;
  });
}

/** Since when a node's rows are surely as fresh, told run by run; null: nobody knows. */
function rowsOf(node: string, runs: readonly (readonly [time: number, run: Run])[]): number | null {
  let [since, last]: [number | null, number] = [null, -Infinity];
  for (const [time, run] of runs) {
    const status = run[node];
    if (status === undefined || time <= last) continue;
    last = time;
    if (status !== "failed") since = time;
  }
  return since;
}

/** `FRESHNESS_SEQUENCES=10000` tries as many. */
const SEQUENCES = Number(process.env["FRESHNESS_SEQUENCES"] ?? 250);

it(`rows are as old as the oldest of their tables surely is, in ${String(SEQUENCES)} random sequences of runs`, () => {
  for (let seed = 0; seed < SEQUENCES; seed++) {
    const choose = chooser(seed);
    const runs = randomRuns(choose);
    const records = new BuildRecords();
    for (const [completedAt, run] of runs)
      records.record(
        Object.entries(run).map(([node, status]) => ({
          ...{ node, completedAt },
          ...(status === "failed" && { failed: true as const }),
          ...(status === "reused" && { reused: true as const }),
        })),
      );
    const behind = NODES.slice(0, 1 + choose(3));
    const times = behind.map((node) => rowsOf(node, runs));
    const known = times.flatMap((time) => time ?? []);
    const expected = known.length < times.length ? null : Math.min(...known);
    expect([seed, records.oldestRows("/v1/x/y", behind)]).toEqual([seed, expected]);
  }
});

/** What a run of `dbt freshness` said of a node. */
interface Check {
  readonly node: string;
  readonly at: number;
  readonly loaded: number;
  readonly warn: number | null;
  readonly error: number | null;
}

const SOURCES = ["s", "t"];

function randomChecks(choose: (below: number) => number): readonly Check[] {
  let at = 0;
  return Array.from({ length: choose(9) }, () => {
    at += choose(5) === 0 ? -1000 : 1000 * (1 + choose(5));
    const bound = (): number | null => (choose(4) === 0 ? null : 1 + choose(20));
    const node = ["a", ...SOURCES][choose(3)] ?? "a";
    return { node, at, loaded: at - 1000 * choose(10), warn: bound(), error: bound() };
  });
}

/** The last word on a node, of reports that come in any order; the first of two of one time. */
function lastCheck(node: string, checks: readonly Check[]): Check | null {
  let last: Check | null = null;
  for (const check of checks) if (check.node === node && (last === null || check.at > last.at)) last = check;
  return last;
}

/** What is said at a time of rows whose endpoint promises, by hand: as late as the latest of all that counts. */
function stateAt(
  now: number,
  bounds: readonly (readonly [since: number | null, warn: number | null, error: number | null])[],
): string {
  if (bounds.some(([since]) => since === null)) return "unknown";
  const isPast = ([since, , error]: (typeof bounds)[number]): boolean =>
    error !== null && now > Number(since) + error * 1000;
  const isNear = ([since, warn]: (typeof bounds)[number]): boolean =>
    warn !== null && now > Number(since) + warn * 1000;
  return bounds.some(isPast) ? "error" : bounds.some(isNear) ? "warn" : "ok";
}

it(`nothing is fresh while the rows, a source or a model above are late, in ${String(SEQUENCES)} random sequences of builds and checks`, () => {
  for (let seed = 0; seed < SEQUENCES; seed++) {
    const choose = chooser(seed + 1_000_000);
    const runs = randomRuns(choose);
    const checks = randomChecks(choose);
    const records = new BuildRecords();
    for (const [completedAt, run] of runs)
      records.record(
        Object.entries(run).map(([node, status]) => ({
          ...{ node, completedAt },
          ...(status === "failed" && { failed: true as const }),
          ...(status === "reused" && { reused: true as const }),
        })),
      );
    for (const { node, at, loaded, warn, error } of checks)
      records.record([], [], [{ node, checkedAt: at, loadedAt: loaded, warnAfter: warn, errorAfter: error }]);
    const above = SOURCES.slice(0, choose(3));
    const isOfLoads = choose(2) === 0;
    const [warn, error] = [1 + choose(10), 1 + choose(20)];
    const freshness = isOfLoads ? { warnAfter: warn, errorAfter: error } : { within: error };
    const since = isOfLoads ? (lastCheck("a", checks)?.loaded ?? null) : rowsOf("a", runs);
    const found = above.flatMap((node) => lastCheck(node, checks) ?? []);
    const bounds = [
      [since, isOfLoads ? warn : null, error] as const,
      ...found.map((check) => [check.loaded, check.warn, check.error] as const),
    ];
    const due = dueIn(records, freshness, { path: "/v1/x/y", rowNodes: ["a"], checkedNodes: above });
    for (let now = 0; now < 40_000; now += 1500) {
      const state = due === null ? "unknown" : now > due.due ? "error" : now > due.warnAt ? "warn" : "ok";
      expect([seed, now, state]).toEqual([seed, now, stateAt(now, bounds)]);
      const late = found.filter(({ loaded, error: bound }) => bound !== null && now > loaded + bound * 1000);
      expect(lateAmong(records, above, now)).toEqual(late.map(({ node }) => node));
    }
  }
});

it("a copy has failed if the last test before the next build did, in 1000 random sequences of reports", () => {
  let seed = 7;
  const below = (n: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % n;
  };
  const statuses = ["pass", "warn", "fail", "error"] as const;
  for (let i = 0; i < 1000; i++) {
    const records = new BuildRecords();
    const builds = [...new Set(Array.from({ length: 2 + below(8) }, () => 10 * below(50)))];
    const runs = Array.from({ length: 1 + below(10) }, (_, at) => ({
      ...{ test: "t", completedAt: 50 * at + 1 + below(8), failures: null },
      status: statuses[below(4)]!,
    }));
    for (const completedAt of builds) records.record([{ node: "n", completedAt }]);
    for (const run of runs) records.record([], [run]);
    const inOrder = builds.sort((a, b) => a - b);
    const at = below(inOrder.length);
    const held = new Date(inOrder[at]!).toISOString();
    records.recordLoads(new Map([["/p", [{ relation: "r", id: "1", builds: { n: held } }]]]));
    const before = runs.filter(({ completedAt }) => completedAt < (inOrder[at + 1] ?? Infinity)).at(-1);
    const hasFailed = before?.status === "fail" || before?.status === "error";
    expect(qualityOf(records, "/p", ["t"], ["n"])?.state === "failed").toBe(hasFailed);
  }
});
