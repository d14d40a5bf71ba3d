import { describe, expect, it } from "vitest";
import { CombinedMetrics } from "../../runtime/cluster/metrics-text.js";
import { ask } from "../data-api/ask.js";
import { ownSchema } from "../support/database.js";
import type { Served } from "../support/command.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS } from "../support/service.js";
import { project, servingPids, serveWorkers, until } from "./cluster.js";

const schema = await ownSchema("CREATE TABLE @.one AS SELECT 1::bigint AS n");
const manifest = manifestOf([
  { name: "one", schema, tags: ["production", "flows", "api:first"], columns: { n: "bigint" } },
]);

/** The value of each series. */
async function metricsOf(served: Served): Promise<ReadonlyMap<string, number>> {
  const { text } = await ask(served.url, "/metrics");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

/** Sum of the series of a metric. */
function total(metrics: ReadonlyMap<string, number>, name: string): number {
  return [...metrics].reduce(
    (sum, [series, value]) => (series.startsWith(`${name}{`) ? sum + value : sum),
    0,
  );
}

const REQUESTS = "routewright_requests_total";

describe("/metrics with several workers", () => {
  it("adds up what all of them have counted, whichever is asked, and loses nothing of those that end", async () => {
    const served = await serveWorkers(project(manifest), 3);
    const call = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await ask(served.url, "/v1/flows/first", { key: KEYS.tier3 });
    };
    await call(30);
    for (let i = 0; i < 6; i++) {
      const metrics = await metricsOf(served);
      expect(total(metrics, REQUESTS)).toBe(30);
      expect(total(metrics, "routewright_request_duration_seconds_count")).toBe(30);
      expect(metrics.get("routewright_endpoints")).toBe(1);
      expect(metrics.get("routewright_workers")).toBe(3);
    }
    const before = servingPids(served);
    process.kill(before[0]!, "SIGKILL");
    await until(served, 3, before.slice(0, 1));
    await call(10);
    const afterDeath = await metricsOf(served);
    expect(total(afterDeath, REQUESTS)).toBe(40);
    expect(afterDeath.get("routewright_worker_deaths_total")).toBe(1);
    served.child.kill("SIGHUP");
    await call(10);
    await served.until(/"msg":"reloaded"/);
    expect(total(await metricsOf(served), REQUESTS)).toBe(50);
  });

  it("does not wait for a worker that does not answer", async () => {
    const served = await serveWorkers(project(manifest), 2);
    for (let i = 0; i < 20; i++) await ask(served.url, "/v1/flows/first", { key: KEYS.tier3 });
    expect(total(await metricsOf(served), REQUESTS)).toBe(20);
    process.kill(servingPids(served)[0]!, "SIGSTOP");
    // Those that the stopped one holds are never answered.
    for (let i = 0; i < 6; i++) void ask(served.url, "/").catch(() => undefined);
    expect(total(await metricsOf(served), REQUESTS)).toBe(20);
    process.kill(servingPids(served)[0]!, "SIGKILL");
  });
});

describe("metrics of several processes", () => {
  const text = (values: Readonly<Record<string, number | string>>): string =>
    [
      "# HELP calls_total Calls.",
      "# TYPE calls_total counter",
      `calls_total{route="/v1/a b",code="200"} ${String(values["calls"])}`,
      "# HELP time_seconds Time.",
      "# TYPE time_seconds histogram",
      `time_seconds_bucket{le="+Inf"} ${String(values["bucket"])}`,
      `time_seconds_sum ${String(values["sum"])}`,
      "# HELP memory_bytes Memory.",
      "# TYPE memory_bytes gauge",
      `memory_bytes ${String(values["memory"])}`,
      "# HELP lag_seconds Lag.",
      "# TYPE lag_seconds gauge",
      `lag_seconds ${String(values["lag"])}`,
      "",
    ].join("\n");

  it("are added where they count up or take memory; of the rest the highest is shown", async () => {
    const all = new CombinedMetrics();
    await all.add(text({ calls: 1, bucket: 2, sum: 0.5, memory: 10, lag: 7 }));
    await all.add(text({ calls: 2, bucket: 3, sum: 0.25, memory: 20, lag: 5 }));
    await all.add(text({ calls: 4, bucket: 5, sum: 1, memory: 1000, lag: 1000 }), true);
    expect(await all.text()).toBe(text({ calls: 7, bucket: 10, sum: 1.75, memory: 30, lag: 7 }));
  });

  it("keep values that are no numbers", async () => {
    const all = new CombinedMetrics();
    await all.add(text({ calls: 1, bucket: 2, sum: "NaN", memory: "+Inf", lag: "-Inf" }));
    expect(await all.text()).toBe(text({ calls: 1, bucket: 2, sum: "NaN", memory: "+Inf", lag: "-Inf" }));
  });

  it("forget routes that are gone", async () => {
    const all = new CombinedMetrics();
    await all.add(text({ calls: 1, bucket: 2, sum: 3, memory: 4, lag: 5 }));
    all.forget(["/v1/other"]);
    expect(await all.text()).toContain("/v1/a b");
    all.forget(["/v1/a b"]);
    expect(await all.text()).not.toContain("calls");
  });
});
