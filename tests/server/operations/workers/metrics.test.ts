import { expect, it } from "vitest";
import type { MetricsSnapshot } from "../../../../runtime/core/http/prometheus.js";
import { WorkerMetrics } from "../../../../runtime/server/operations/workers/worker-cluster.js";
import { Metrics } from "../../../../runtime/server/operations/metrics.js";
import { IDLE_RELEASE, NO_REFRESHES, observation } from "../../../support/observation.js";

const record = observation({ route: "/v1/a b", databaseMs: 4, rows: 2 });

async function counted(requests: number): Promise<MetricsSnapshot> {
  const metrics = new Metrics(() => IDLE_RELEASE, { ...NO_REFRESHES, error: 1 });
  for (let i = 0; i < requests; i++) metrics.record(record);
  return structuredClone(await metrics.snapshot());
}

it("of several processes add up; of the release in service they show the highest value", async () => {
  const line = (text: string, name: string): string =>
    text.split("\n").find((each) => each.startsWith(name)) ?? "";
  const all = new WorkerMetrics(() => 2);
  const [three, one] = [await counted(3), await counted(1)];
  all.retire(three, true);
  all.retire(one, false);
  const serving = [await counted(1), await counted(2)];
  for (const text of [await all.text(serving), await all.text(serving)]) {
    expect(line(text, "routewright_requests_total")).toMatch(/route="\/v1\/a b".* 7$/);
    expect(line(text, "routewright_rows_total")).toMatch(/ 14$/);
    expect(line(text, "routewright_request_duration_seconds_count")).toMatch(/ 7$/);
    expect(line(text, "routewright_database_duration_seconds_count")).toMatch(/ 7$/);
    expect(line(text, "routewright_endpoints")).toBe("routewright_endpoints 1");
    expect(line(text, "routewright_worker_deaths_total")).toMatch(/ 1$/);
    expect(line(text, 'routewright_refreshes_total{result="error"}')).toMatch(/ 4$/);
    expect(line(text, "routewright_workers")).toMatch(/ 2$/);
    expect(Number(line(text, "process_cpu_seconds_total").split(" ")[1])).toBeGreaterThan(0);
  }
});
