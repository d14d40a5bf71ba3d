/** The alerts and the dashboard of templates/docker against the reference and the metrics that the servers have. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { RampMetrics } from "../../runtime/ramp/ramp-metrics.js";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const alerts = read("templates/docker/alerts.yml");

/** First cells of the table rows in a section of the reference that begin with a name in code. */
function namesIn(section: string): readonly string[] {
  const text = read("runtime/README.md").split(`\n## ${section}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...text.matchAll(/^\| `([^`]+)`/gm)].map(([, name = ""]) => name).sort();
}

it("the reference explains every alert, and no others", () => {
  const { groups } = parse(alerts) as { groups: { rules: { alert: string }[] }[] };
  const names = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  expect(namesIn("Dashboard and alerts")).toEqual(names.sort());
});

it("alerts and dashboard use metrics that there are", async () => {
  const ramp = await new RampMetrics().text({ attention: 0, exhausted: 0, queues: [], statuses: [] });
  const known = [
    ...namesIn("Operations"),
    ...[...ramp.matchAll(/^# HELP (\S+)/gm)].map(([, name = ""]) => name),
  ];
  const text = alerts + read("templates/docker/grafana-dashboard.json");
  const used = new Set([...text.matchAll(/routewright_\w+/g)].map(([name]) => name.replace(/_bucket$/, "")));
  expect([...used].filter((name) => !known.includes(name))).toEqual([]);
});
