import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { CACHES } from "../../../runtime/core/http/bounded-cache.js";
import { WorkerMetrics } from "../../../runtime/server/operations/workers/worker-cluster.js";
import type { Outcome } from "../../../runtime/core/model/outcome.js";
import { readEnvironment } from "../../../runtime/server/operations/environment.js";
import { rampSettings, readRampEnvironment } from "../../../runtime/ramp/environment.js";
import { readEnvironments } from "../../../runtime/server/server.js";
import { Metrics } from "../../../runtime/server/operations/metrics.js";
import { namesIn } from "../../support/pages.js";
import { IDLE_RELEASE, NO_REFRESHES } from "../../support/observation.js";

it("the tables of variables of the data API and of the ramp match the code", () => {
  const read = new Set<string>();
  const variables = new Proxy<Record<string, string>>(
    {},
    {
      get(_, name) {
        if (typeof name === "string") read.add(name);
        return undefined;
      },
    },
  );
  readEnvironments(variables, rampSettings);
  const documented = ["runtime/docs/settings.md", "runtime/ramp/docs/settings.md"].flatMap((page) =>
    namesIn(page),
  );
  expect(documented.toSorted()).toEqual([...read].sort());
});

it("what serves both names every bad variable of either once, and each alone reads only its own", () => {
  const wrong = { RATE_LIMITS: "many", RAMP_PORT: "abc", LOG_LEVEL: "loud" };
  const namedBy = (read: (source: Record<string, string>) => Outcome<unknown>): readonly string[] => {
    const reading = read(wrong);
    return reading.ok ? [] : reading.problems.map((problem) => problem.split(" ")[0] ?? "").toSorted();
  };
  expect(namedBy((source) => readEnvironments(source, rampSettings))).toEqual([
    "LOG_LEVEL",
    "RAMP_PORT",
    "RATE_LIMITS",
  ]);
  expect(namedBy(readEnvironment)).toEqual(["LOG_LEVEL", "RATE_LIMITS"]);
  expect(namedBy(readRampEnvironment)).toEqual(["LOG_LEVEL", "RAMP_PORT"]);
});

it("the table of metrics matches /metrics", async () => {
  const metrics = new Metrics(() => IDLE_RELEASE, NO_REFRESHES);
  const text = (await metrics.scrape()) + (await new WorkerMetrics(() => 0).text([]));
  const shown = new Set([...text.matchAll(/^# HELP (routewright_\S+)/gm)].map(([, name = ""]) => name));
  expect(namesIn("runtime/docs/metrics.md", "Metrics")).toEqual([...shown].sort());
});

it("lists every cache, its bytes and its life", () => {
  const page = readFileSync("runtime/docs/operations.md", "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` +\|.*\| (\d+) +\| (\w+)[^|]*\|$/gm)].map(
    ([, name = "", megabytes, seconds]) => [
      name,
      { maxBytes: Number(megabytes) * 1024 * 1024, lifeSeconds: seconds === "none" ? null : Number(seconds) },
    ],
  );
  const caches = Object.entries(CACHES).map(([name, { maxBytes, lifeSeconds }]) => [
    name,
    { maxBytes, lifeSeconds },
  ]);
  expect(rows).toEqual(caches);
});
