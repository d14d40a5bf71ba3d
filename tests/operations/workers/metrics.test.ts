import { describe, expect, it } from "vitest";
import { WorkerMetrics } from "../../../runtime/operations/workers/worker-metrics.js";
import { Metrics, type MetricsSnapshot } from "../../../runtime/operations/metrics.js";
import { observation } from "../../support/observation.js";
import { sendRequest } from "../../data-api/http-client.js";
import { ownSchema } from "../../support/database.js";
import type { Served } from "../../support/command.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS } from "../../support/service.js";
import { project, servingPids, serveWorkers, until } from "./cluster.js";

const schema = await ownSchema("CREATE TABLE @.one AS SELECT 1::bigint AS n");
const manifest = manifestOf([
  { name: "one", schema, tags: ["production", "flows", "api:first"], columns: { n: "bigint" } },
]);

/** The value of each series. */
async function metricsOf(served: Served): Promise<ReadonlyMap<string, number>> {
  const { text } = await sendRequest(served.url, "/metrics");
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
  it("adds the counters of all workers, whichever answers, and keeps those of workers that ended", async () => {
    const served = await serveWorkers(project(manifest), 3);
    const call = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await sendRequest(served.url, "/v1/flows/first", { key: KEYS.tier3 });
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
    await expect.poll(async () => total(await metricsOf(served), REQUESTS)).toBe(40);
    const afterDeath = await metricsOf(served);
    expect(afterDeath.get("routewright_worker_deaths_total")).toBe(1);
    served.child.kill("SIGHUP");
    await call(10);
    await served.until(/"msg":"reloaded"/);
    // A worker that is slow to answer is shown with what it had counted before.
    await expect.poll(async () => total(await metricsOf(served), REQUESTS)).toBe(50);
  });

  it("does not wait for a worker that does not answer", async () => {
    const served = await serveWorkers(project(manifest), 2);
    for (let i = 0; i < 20; i++) await sendRequest(served.url, "/v1/flows/first", { key: KEYS.tier3 });
    expect(total(await metricsOf(served), REQUESTS)).toBe(20);
    const frozen = servingPids(served)[0]!;
    process.kill(frozen, "SIGSTOP");
    // The requests that the frozen worker holds get no answer.
    for (let i = 0; i < 6; i++) void sendRequest(served.url, "/").catch(() => undefined);
    expect(total(await metricsOf(served), REQUESTS)).toBe(20);
    // The supervisor ends and replaces the frozen worker by itself.
    await until(served, 2, [frozen]);
  });
});

describe("metrics of several processes", () => {
  const record = observation({ route: "/v1/a b", databaseMs: 4, rows: 2 });
  const counted = async (requests: number): Promise<MetricsSnapshot> => {
    const metrics = new Metrics(() => ({
      endpoints: new Map([["/v1/a b", null]]),
      manifest: null,
      skippedModels: 0,
      missingRelations: [],
    }));
    for (let i = 0; i < requests; i++) metrics.routes.count(record);
    return structuredClone(await metrics.snapshot());
  };
  const line = (text: string, name: string): string =>
    text.split("\n").find((each) => each.startsWith(name)) ?? "";

  it("adds counters; of the release in service it shows the highest value", async () => {
    const all = new WorkerMetrics();
    all.update(1, await counted(1));
    all.update(2, await counted(2));
    all.update(3, await counted(4));
    await all.retire(3, true);
    for (const text of [await all.text(2), await all.text(2)]) {
      expect(line(text, "routewright_requests_total")).toMatch(/route="\/v1\/a b".* 7$/);
      expect(line(text, "routewright_rows_total")).toMatch(/ 14$/);
      expect(line(text, "routewright_request_duration_seconds_count")).toMatch(/ 7$/);
      expect(line(text, "routewright_database_duration_seconds_count")).toMatch(/ 7$/);
      expect(line(text, "routewright_endpoints")).toBe("routewright_endpoints 1");
      expect(line(text, "routewright_worker_deaths_total")).toMatch(/ 1$/);
      expect(line(text, "routewright_workers")).toMatch(/ 2$/);
      expect(Number(line(text, "process_cpu_seconds_total").split(" ")[1])).toBeGreaterThan(0);
    }
  });

  it("drop removed routes", async () => {
    const all = new WorkerMetrics();
    all.update(1, await counted(1));
    await all.retire(1, false);
    all.forget(["/v1/other"]);
    expect(await all.text(0)).toContain("/v1/a b");
    all.forget(["/v1/a b"]);
    expect(await all.text(0)).not.toContain("/v1/a b");
  });
});
