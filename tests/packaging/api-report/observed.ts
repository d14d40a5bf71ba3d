import { readFileSync } from "node:fs";
import { Metrics } from "../../../runtime/server/operations/metrics.js";
import { requestText } from "../../../runtime/server/operations/request-log.js";
import { RampMetrics } from "../../../runtime/ramp/core/ramp-metrics.js";

/** Names of our metrics with their labels. */
export function metricNames(): ReadonlyMap<string, string> {
  const data = new Metrics(
    () => {
      throw new Error("Nothing is scraped.");
    },
    { reloaded: 0, unchanged: 0, error: 0 },
  );
  const all = [data, new RampMetrics()]
    .flatMap(({ metrics }) => metrics)
    .map(({ name, labels = [] }) => [name, labels.join(" ")] as const);
  return new Map(all.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Fields of the line that each service writes of a request. */
export function logFields(): ReadonlyMap<string, string> {
  const record = {
    requestId: "1",
    method: "GET",
    route: "/v1/a/b",
    status: 400,
    milliseconds: 1,
    steps: { authorize: 0, resolve: 0, run: 0, respond: 0 },
    rows: null,
    bytes: 0,
    databaseMs: null,
    caller: { id: "a", tier: "tier0", key: null },
    error: { code: "notFound", parameter: "name" },
    path: "/v1/a",
    parameters: [],
    trace: { traceId: "1", spanId: "2", parentId: "3" },
  } as unknown as Parameters<typeof requestText>[0];
  return new Map([
    ...Object.entries(JSON.parse(`{${requestText(record)}}`) as object).map(
      ([name]) => [name, "data API"] as const,
    ),
    ...rampFields().map((name) => [`ramp ${name}`, "ramp"] as const),
  ]);
}

/** The ramp writes its line at one place. */
function rampFields(): readonly string[] {
  const source = readFileSync(new URL("../../../runtime/ramp/api/app.ts", import.meta.url), "utf8");
  const [, fields = ""] = /log\.info\(\{ ([^}]+) \}, "request"\)/.exec(source) ?? [];
  return fields.split(", ").map((field) => field.split(":")[0] ?? "");
}
