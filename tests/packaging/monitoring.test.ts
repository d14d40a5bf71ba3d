/** The files of templates/docker: their schemas, and their alerts and dashboard against the metrics that the servers have. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { needs, programPath } from "../support/needs.js";
import { namesIn } from "../support/pages.js";
import { ownFolder } from "../support/service.js";
import { RampMetrics } from "../../runtime/ramp/core/ramp-metrics.js";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** The monitoring of each service, and the page that explains it. */
const SERVICES = [
  ["templates/docker", "runtime/docs/metrics.md"],
  ["templates/docker/ramp", "runtime/ramp/docs/deploy.md"],
] as const;

it.each(SERVICES)("the page of %s explains every alert, and no others", (folder, page) => {
  const { groups } = parse(read(`${folder}/alerts.yml`)) as { groups: { rules: { alert: string }[] }[] };
  const names = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  expect(namesIn(page, "Dashboard and alerts")).toEqual(names.sort());
});

it.each(SERVICES)("alerts and dashboard of %s use metrics that there are", async (folder) => {
  const ramp = await new RampMetrics().text({
    attention: 0,
    providers: 0,
    exhausted: 0,
    queues: [],
    statuses: [],
  });
  const known = folder.endsWith("ramp")
    ? [...ramp.matchAll(/^# HELP (\S+)/gm)].map(([, name = ""]) => name)
    : namesIn("runtime/docs/metrics.md", "Metrics");
  const text = read(`${folder}/alerts.yml`) + read(`${folder}/grafana-dashboard.json`);
  const used = new Set([...text.matchAll(/routewright_\w+/g)].map(([name]) => name.replace(/_bucket$/, "")));
  expect(used.size).toBeGreaterThan(5);
  expect([...used].filter((name) => !known.includes(name))).toEqual([]);
});

const DOCKER = join(root, "templates/docker");
const KUBERNETES = ["kubernetes/data-api.yml", "ramp/kubernetes.yml"];

it.skipIf(!needs("kubernetes-validate"))("the Kubernetes files are valid, without unknown fields", () => {
  const validate = (folder: string): string =>
    execFileSync(
      programPath("kubernetes-validate"),
      ["--strict", ...KUBERNETES.map((file) => join(folder, file))],
      { encoding: "utf8", stdio: "pipe" },
    );
  validate(DOCKER);
  const damaged = ownFolder();
  for (const file of KUBERNETES) {
    mkdirSync(dirname(join(damaged, file)), { recursive: true });
    const text = read(`templates/docker/${file}`).replace("readinessProbe", "readyProbe");
    writeFileSync(join(damaged, file), text);
  }
  expect(() => validate(damaged)).toThrow(/Command failed/);
});

it.skipIf(!needs("check-jsonschema"))(
  "the compose files fit the Compose Specification, and name what they have",
  () => {
    const files = ["compose.yml", "ramp/compose.yml"];
    const schema = ["--builtin-schema", "vendor.compose-spec", ...files.map((file) => join(DOCKER, file))];
    execFileSync(programPath("check-jsonschema"), schema, { stdio: "pipe" });
    for (const file of files) {
      const { services, volumes } = parse(read(`templates/docker/${file}`), { merge: true }) as {
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
    }
  },
);

it("the data API's files do not name the ramp", () => {
  for (const file of readdirSync(DOCKER, { recursive: true, encoding: "utf8" }))
    if (/\.\w+$/.test(file) && !file.startsWith("ramp/"))
      expect(read(`templates/docker/${file}`), file).not.toMatch(/ramp_|\bramp\b/i);
});
