/** The files of templates/docker: their schemas, and their alerts and dashboard against the metrics that the servers have. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { needs, programPath } from "../support/needs.js";
import { namesIn } from "../support/pages.js";
import { ownFolder } from "../support/service.js";
import { RampMetrics } from "../../runtime/ramp/core/ramp-metrics.js";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const alerts = read("templates/docker/alerts.yml");

it("the reference explains every alert, and no others", () => {
  const { groups } = parse(alerts) as { groups: { rules: { alert: string }[] }[] };
  const names = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  expect(namesIn("runtime/docs/metrics.md", "Dashboard and alerts")).toEqual(names.sort());
});

it("alerts and dashboard use metrics that there are", async () => {
  const ramp = await new RampMetrics().text({ attention: 0, exhausted: 0, queues: [], statuses: [] });
  const known = [
    ...namesIn("runtime/docs/metrics.md", "Metrics"),
    ...[...ramp.matchAll(/^# HELP (\S+)/gm)].map(([, name = ""]) => name),
  ];
  const text = alerts + read("templates/docker/grafana-dashboard.json");
  const used = new Set([...text.matchAll(/routewright_\w+/g)].map(([name]) => name.replace(/_bucket$/, "")));
  expect([...used].filter((name) => !known.includes(name))).toEqual([]);
});

const DOCKER = join(root, "templates/docker");

it.skipIf(!needs("kubernetes-validate"))("the Kubernetes files are valid, without unknown fields", () => {
  const validate = (folder: string): string =>
    execFileSync(
      programPath("kubernetes-validate"),
      ["--strict", ...["data-api.yml", "ramp.yml"].map((file) => join(folder, file))],
      { encoding: "utf8", stdio: "pipe" },
    );
  validate(join(DOCKER, "kubernetes"));
  const damaged = ownFolder();
  for (const file of ["data-api.yml", "ramp.yml"])
    writeFileSync(
      join(damaged, file),
      read(`templates/docker/kubernetes/${file}`).replace("readinessProbe", "readyProbe"),
    );
  expect(() => validate(damaged)).toThrow(/Command failed/);
});

it.skipIf(!needs("check-jsonschema"))(
  "the compose files fit the Compose Specification, and name what they have",
  () => {
    const files = ["compose.yml", "compose.clickhouse.yml"].map((file) => join(DOCKER, file));
    const schema = ["--builtin-schema", "vendor.compose-spec", ...files];
    execFileSync(programPath("check-jsonschema"), schema, { stdio: "pipe" });
    const { services, volumes } = parse(read("templates/docker/compose.yml"), { merge: true }) as {
      services: Record<string, { depends_on?: string[] | object; volumes?: string[] }>;
      volumes: object;
    };
    for (const { depends_on: needed = [], volumes: mounts = [] } of Object.values(services)) {
      const names = Array.isArray(needed) ? needed : Object.keys(needed);
      expect(Object.keys(services)).toEqual(expect.arrayContaining(names));
      const sources = mounts.map((mount) => mount.split(":")[0] ?? "");
      for (const source of sources)
        if (!source.startsWith("./")) expect(Object.keys(volumes)).toContain(source);
        else if (source !== "./keys") expect(existsSync(join(DOCKER, source)), source).toBe(true);
    }
  },
);
