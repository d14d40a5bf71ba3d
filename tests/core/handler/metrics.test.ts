import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { METRICS_CONTENT_TYPE } from "../../../runtime/core/http/service-metrics.js";
import { Metrics } from "../../../runtime/server/operations/metrics.js";
import { ANN, callerOf, IDLE_RELEASE, NO_REFRESHES, observation } from "../../support/observation.js";
import { KEYS } from "../../support/service.js";
import { sendRequest, post } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();

async function metric(name: string): Promise<string[]> {
  const { text } = await sendRequest(url, "/metrics");
  return text.split("\n").filter((line) => line.startsWith(`${name}{`));
}

describe("the metrics of a running service", () => {
  it("count the responses of each endpoint by tier, method and status, and leave out endpoints without requests", async () => {
    await sendRequest(url, "/v1/shop/pages");
    await sendRequest(url, "/v1/shop/pages", { key: KEYS.tier2 });
    await sendRequest(url, "/v1/shop/pages?limit=0");
    await post(url, "/v1/shop/pages", {}, { key: KEYS.tier2 });
    expect(await metric("routewright_requests_total")).toEqual([
      'routewright_requests_total{route="/v1/shop/pages",tier="tier0",method="GET",status="200"} 1',
      'routewright_requests_total{route="/v1/shop/pages",tier="tier2",method="GET",status="200"} 1',
      'routewright_requests_total{route="/v1/shop/pages",tier="tier0",method="GET",status="400"} 1',
      'routewright_requests_total{route="/v1/shop/pages",tier="tier2",method="POST",status="200"} 1',
    ]);
    const counts = await metric("routewright_request_duration_seconds_count");
    expect(counts).toEqual([
      'routewright_request_duration_seconds_count{route="/v1/shop/pages",tier="tier0"} 2',
      'routewright_request_duration_seconds_count{route="/v1/shop/pages",tier="tier2"} 2',
    ]);
  });

  it("put all paths that no endpoint has together", async () => {
    for (const path of ["/v1/made-up", "/v1/invented", "/v1/shop/legacy%00"]) await sendRequest(url, path);
    const lines = await metric("routewright_requests_total");
    expect(lines).toContain(
      'routewright_requests_total{route="none",tier="tier0",method="GET",status="404"} 3',
    );
    expect(lines.join("")).not.toMatch(/made-up|invented|%00/);
  });

  it("add up rows, bytes and what the database took", async () => {
    const { text } = await sendRequest(url, "/v1/shop/filters?id=1");
    await sendRequest(url, "/v1/shop/filters?id=2&id=3");
    const label = '{route="/v1/shop/filters"}';
    expect(await metric("routewright_rows_total")).toContain(`routewright_rows_total${label} 1`);
    const [bytes] = (await metric("routewright_response_bytes_total")).filter((line) => line.includes(label));
    expect(Number(bytes?.split(" ")[1])).toBeGreaterThan(text.length);
    const [seconds] = (await metric("routewright_database_seconds_total")).filter((line) =>
      line.includes(label),
    );
    expect(Number(seconds?.split(" ")[1])).toBeGreaterThan(0);
  });

  it("are text that Prometheus can read, to the last line", async () => {
    await sendRequest(url, "/v1/shop/legacy");
    const { text } = await sendRequest(url, "/metrics");
    const label = String.raw`[a-z_]+="(?:[^"\\]|\\.)*"`;
    // Prometheus reads `Nan`, as the library writes it, in any letter case.
    const line = new RegExp(
      String.raw`^(?:|# (?:HELP|TYPE) \w+ .+|\w+(?:\{${label}(?:,${label})*\})? (?:[-+\d.e]+|Na[nN]|[+-]Inf))$`,
    );
    expect(text.split("\n").filter((each) => !line.test(each))).toEqual([]);
    expect(text.endsWith("\n")).toBe(true);
    const families = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
    expect(new Set(families).size).toBe(families.length);
  });
});

describe("the metrics of the process", () => {
  it("are measured before the first scrape is answered", async () => {
    const text = await new Metrics(() => IDLE_RELEASE, NO_REFRESHES).scrape();
    const [, shortest] = /^nodejs_eventloop_lag_min_seconds (\S+)$/m.exec(text) ?? [];
    expect(Number(shortest)).toBeLessThan(10);
    expect(text).toMatch(/^nodejs_eventloop_lag_mean_seconds \d/m);
    expect(text).toMatch(/^process_start_time_seconds \d/m);
    const [, processor] = /^process_cpu_seconds_total (\S+)$/m.exec(text) ?? [];
    expect(Number(processor)).toBeGreaterThan(0.1);
  });

  it("have the content type of the library that writes them", () => {
    expect(METRICS_CONTENT_TYPE).toBe(Registry.PROMETHEUS_CONTENT_TYPE);
  });
});

describe("the metrics of the routes", () => {
  it("sort times into buckets that hold all shorter ones", async () => {
    const metrics = new Metrics(() => IDLE_RELEASE, NO_REFRESHES);
    for (const milliseconds of [0.2, 1, 1.1, 30, 700, 60_000])
      metrics.record(observation({ route: "/v1/a", milliseconds, databaseMs: null, caller: callerOf(ANN) }));
    const lines = (await metrics.scrape()).split("\n");
    const buckets = lines.flatMap((line) => {
      const [, bound, count] =
        /^routewright_request_duration_seconds_bucket\{le="(.+?)",.+} (\d+)$/.exec(line) ?? [];
      return bound === undefined ? [] : [`${bound} ${String(count)}`];
    });
    expect(buckets).toEqual([
      "0.001 2",
      "0.005 3",
      "0.01 3",
      "0.025 3",
      "0.05 4",
      "0.1 4",
      "0.25 4",
      "0.5 4",
      "1 5",
      "2.5 5",
      "10 5",
      "+Inf 6",
    ]);
    expect(lines).toContain('routewright_request_duration_seconds_count{route="/v1/a",tier="tier1"} 6');
  });

  it("write a path so that it cannot break out of its label", async () => {
    const metrics = new Metrics(() => IDLE_RELEASE, NO_REFRESHES);
    metrics.record(observation({ route: '/v1/a"} 1\n\\evil' }));
    expect(await metrics.scrape()).toContain(
      String.raw`routewright_rows_total{route="/v1/a\"} 1\n\\evil"} 1`,
    );
  });
});
