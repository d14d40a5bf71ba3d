import { describe, expect, it } from "vitest";
import { WorkerMetrics } from "../../../runtime/operations/workers/worker-metrics.js";
import { Metrics, type MetricsSnapshot } from "../../../runtime/operations/metrics.js";
import { IDLE_RELEASE, NO_REFRESHES, observation } from "../../support/observation.js";

describe("metrics of several processes", () => {
  const record = observation({ route: "/v1/a b", databaseMs: 4, rows: 2 });
  const counted = async (requests: number): Promise<MetricsSnapshot> => {
    const metrics = new Metrics(() => IDLE_RELEASE, null);
    for (let i = 0; i < requests; i++) metrics.routes.count(record);
    return structuredClone(await metrics.snapshot());
  };
  const line = (text: string, name: string): string =>
    text.split("\n").find((each) => each.startsWith(name)) ?? "";

  it("adds counters; of the release in service it shows the highest value", async () => {
    const all = new WorkerMetrics({ ...NO_REFRESHES, error: 3 });
    all.retire(await counted(4), true);
    const serving = [await counted(1), await counted(2)];
    for (const text of [await all.text(serving, 2), await all.text(serving, 2)]) {
      expect(line(text, "routewright_requests_total")).toMatch(/route="\/v1\/a b".* 7$/);
      expect(line(text, "routewright_rows_total")).toMatch(/ 14$/);
      expect(line(text, "routewright_request_duration_seconds_count")).toMatch(/ 7$/);
      expect(line(text, "routewright_database_duration_seconds_count")).toMatch(/ 7$/);
      expect(line(text, "routewright_endpoints")).toBe("routewright_endpoints 1");
      expect(line(text, "routewright_worker_deaths_total")).toMatch(/ 1$/);
      expect(line(text, 'routewright_refreshes_total{result="error"}')).toMatch(/ 3$/);
      expect(line(text, "routewright_workers")).toMatch(/ 2$/);
      expect(Number(line(text, "process_cpu_seconds_total").split(" ")[1])).toBeGreaterThan(0);
    }
  });

  it("drop removed routes", async () => {
    const all = new WorkerMetrics(NO_REFRESHES);
    all.retire(await counted(1), false);
    all.forget(["/v1/other"]);
    expect(await all.text([], 0)).toContain("/v1/a b");
    all.forget(["/v1/a b"]);
    expect(await all.text([], 0)).not.toContain("/v1/a b");
  });
});
