import { describe, expect, it } from "vitest";
import { routesText } from "../../runtime/operations/metrics.js";
import { RouteCounter } from "../../runtime/operations/request-counters.js";
import { ANN, observation } from "../support/observation.js";
import { KEYS } from "../support/service.js";
import { sendRequest, post } from "./http-client.js";
import { serveOrders } from "./orders.js";

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

describe("the metrics of the routes", () => {
  const ROUTES = new Map([["/v1/a", {}]]);
  const text = (counter: RouteCounter): Promise<string> => routesText(counter.snapshot());

  it("sort times into buckets that hold all shorter ones", async () => {
    const counter = new RouteCounter(() => ROUTES);
    for (const milliseconds of [0.2, 1, 1.1, 30, 700, 60_000])
      counter.count(observation({ route: "/v1/a", milliseconds, databaseMs: null, owner: ANN }));
    const lines = (await text(counter)).split("\n");
    const buckets = lines
      .filter((line) => line.startsWith("routewright_request_duration_seconds_bucket{"))
      .map((line) =>
        line.replace('routewright_request_duration_seconds_bucket{route="/v1/a",tier="tier1",', ""),
      );
    expect(buckets).toEqual([
      'le="0.001"} 2',
      'le="0.005"} 3',
      'le="0.01"} 3',
      'le="0.025"} 3',
      'le="0.05"} 4',
      'le="0.1"} 4',
      'le="0.25"} 4',
      'le="0.5"} 4',
      'le="1"} 5',
      'le="2.5"} 5',
      'le="10"} 5',
      'le="+Inf"} 6',
    ]);
    expect(lines).toContain('routewright_request_duration_seconds_sum{route="/v1/a",tier="tier1"} 60.7323');
    expect(lines).toContain('routewright_request_duration_seconds_count{route="/v1/a",tier="tier1"} 6');
    expect(lines).toContain('routewright_database_duration_seconds_count{tier="tier1"} 0');
  });

  it("drop removed endpoints, and start again at zero when they return", async () => {
    let served = new Map([["/v1/a", {}]]);
    const counter = new RouteCounter(() => served);
    counter.count(observation({ route: "/v1/a" }));
    served = new Map([["/v1/b", {}]]);
    counter.count(observation({ route: "/v1/b" }));
    expect(await text(counter)).not.toContain("/v1/a");
    served = new Map([["/v1/a", {}]]);
    counter.count(observation({ route: "/v1/a" }));
    expect(await text(counter)).toContain('routewright_rows_total{route="/v1/a"} 1\n');
  });

  it("do not grow with refreshes between scrapes", async () => {
    let served = new Map<string, object>();
    const all = new Map<string, object>();
    const counter = new RouteCounter(() => served);
    for (let refresh = 0; refresh < 1000; refresh++) {
      served = new Map([1, 2, 3].map((n) => [`/v1/at-${String(refresh)}/${String(n)}`, {}]));
      for (const route of served.keys()) {
        all.set(route, {});
        counter.count(observation({ route }));
      }
    }
    // As if all were in service: what is still there shows.
    served = all;
    expect((await text(counter)).match(/^routewright_rows_total/gm)?.length).toBeLessThanOrEqual(4);
  });

  it("write a path so that it cannot break out of its label", async () => {
    const route = '/v1/a"} 1\n\\evil';
    const counter = new RouteCounter(() => new Map([[route, {}]]));
    counter.count(observation({ route }));
    expect(await text(counter)).toContain(String.raw`routewright_rows_total{route="/v1/a\"} 1\n\\evil"} 1`);
  });
});
