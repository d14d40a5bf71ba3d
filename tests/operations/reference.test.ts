import { expect, it } from "vitest";
import { WorkerMetrics } from "../../runtime/operations/workers/worker-cluster.js";
import { readEnvironment } from "../../runtime/operations/environment.js";
import { Metrics } from "../../runtime/operations/metrics.js";
import { namesIn } from "../support/pages.js";
import { IDLE_RELEASE, NO_REFRESHES } from "../support/observation.js";

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
  readEnvironment(variables);
  const documented = ["runtime/docs/settings.md", "runtime/ramp/docs/settings.md"].flatMap((page) =>
    namesIn(page),
  );
  expect(documented.toSorted()).toEqual([...read].sort());
});

it("the table of metrics matches /metrics", async () => {
  const metrics = new Metrics(() => IDLE_RELEASE, NO_REFRESHES);
  const text = (await metrics.registry.metrics()) + (await new WorkerMetrics(() => 0).text([]));
  const shown = new Set([...text.matchAll(/^# HELP (routewright_\S+)/gm)].map(([, name = ""]) => name));
  expect(namesIn("runtime/docs/metrics.md", "Metrics")).toEqual([...shown].sort());
});
