import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { EXPOSURE } from "../metrics/exposure-tables.js";
import { inPay } from "../metrics/pay-tables.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";
import { routewright } from "./run.js";

async function metricsOf(manifest: string, ...flags: readonly string[]) {
  const folder = ownFolder();
  writeFileSync(join(folder, "manifest.json"), manifest);
  return routewright(folder, ["metrics", "--manifest", "manifest.json", ...flags]);
}

it("says of each metric, saved query and measure whether it is served, where and by which groups, or why not", async () => {
  const { exit, out, err } = await metricsOf(JSON.stringify(EXPOSURE));
  expect([exit, err]).toEqual([0, ""]);
  expect(out).toContain(
    "served      metric revenue  /v1/pay/revenue  (tier0)\n              sum of amount in payments; time: paid_on (day)\n              by metric_time, metric_time__day,",
  );
  expect(out).toContain(
    "served      saved query by_region  /v1/pay/by_region  (tier0)\n              revenue, payment_count; grouped by customer__region\n",
  );
  expect(out).toContain("served      measure gno  /v1/pay/own_payments  (tier0)\n");
  expect(out).toContain(
    "skipped     metric max_email\n              A measure of payments shows values of a private column (email).\n",
  );
  expect(out).toMatch(/\d+ served, \d+ skipped, 0 without the tags/);
});

it("prints the same as JSON; a metric without tags is not tagged", async () => {
  const json = JSON.parse(inPay("manifest.json")) as {
    metrics: Record<string, { name: string; config: { tags: string[] } }>;
  };
  const [first] = Object.values(json.metrics);
  first!.config.tags = [];
  const { out } = await metricsOf(JSON.stringify(json), "--json");
  const { metrics } = JSON.parse(out) as {
    metrics: readonly { name: string; kind: string; state: string; groups: string[] }[];
  };
  const ofKind = (kind: string) => metrics.filter((each) => each.kind === kind);
  expect([ofKind("metric").length, ofKind("saved query").length]).toEqual([72, 5]);
  expect(metrics.find(({ name, kind }) => name === first!.name && kind === "metric")?.state).toBe(
    "not tagged",
  );
  expect(ofKind("saved query").every(({ groups }) => groups.length > 0)).toBe(true);
});

it("a manifest without metrics is no error", async () => {
  const { exit, out } = await metricsOf(JSON.stringify(manifestOf([{ name: "sales" }])));
  expect([exit, out]).toEqual([0, "The manifest has no metrics, saved queries or aggregates.\n"]);
});
