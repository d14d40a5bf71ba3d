import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { WorkerMetrics } from "../../runtime/operations/workers/worker-metrics.js";
import { readEnvironment } from "../../runtime/operations/environment.js";
import { Metrics } from "../../runtime/operations/metrics.js";
import { IDLE_RELEASE, NO_REFRESHES } from "../support/observation.js";

const reference = readFileSync(new URL("../../runtime/README.md", import.meta.url), "utf8");

/** First cells of a section's table rows that begin with a name in code. */
function namesIn(section: string): readonly string[] {
  const text = reference.split(`\n## ${section}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...text.matchAll(/^\| `([^`]+)`/gm)].map(([, name = ""]) => name).sort();
}

it("the table of variables matches the code", () => {
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
  readEnvironment(variables);
  expect(namesIn("Environment")).toEqual([...read].sort());
});

it("the table of metrics matches /metrics", async () => {
  const metrics = new Metrics(() => IDLE_RELEASE, NO_REFRESHES);
  const text = (await metrics.registry.metrics()) + (await new WorkerMetrics(() => 0).text([]));
  const shown = new Set([...text.matchAll(/^# HELP (routewright_\S+)/gm)].map(([, name = ""]) => name));
  expect(namesIn("Operations")).toEqual([...shown].sort());
});
