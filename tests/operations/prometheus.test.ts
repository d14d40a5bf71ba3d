/** A real Prometheus with the shipped scrape settings, alerts and dashboard against a server. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { parse, stringify } from "yaml";
import { atEnd } from "../support/at-end.js";
import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { needs, programPath } from "../support/needs.js";
import { freePort } from "../support/port.js";
import { KEYS, ownFolder, startManifest } from "../support/service.js";

const TEMPLATES = join(import.meta.dirname, "../../templates/docker");
const read = (file: string): string => readFileSync(join(TEMPLATES, file), "utf8");
const POLL = { timeout: 30_000, interval: 200 };

interface ScrapeConfig {
  readonly authorization: object;
  readonly [other: string]: unknown;
}

/** Starts Prometheus with the scrape settings of the cluster's; only the discovery of pods is replaced by an address. */
async function startPrometheus(target: string): Promise<string> {
  const folder = ownFolder();
  const { scrape_configs } = parse(read("kubernetes/prometheus-scrape.yml")) as {
    scrape_configs: ScrapeConfig[];
  };
  writeFileSync(join(folder, "metrics_key"), KEYS.tier3);
  writeFileSync(join(folder, "alerts.yml"), read("alerts.yml").replace(/for: \w+/g, "for: 0s"));
  const scraped = scrape_configs.map(({ authorization, job_name }) => ({
    job_name,
    authorization: { ...authorization, credentials_file: join(folder, "metrics_key") },
    static_configs: [{ targets: [new URL(target).host] }],
  }));
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: ["alerts.yml"],
    scrape_configs: scraped,
  };
  writeFileSync(join(folder, "prometheus.yml"), stringify(config));
  const port = await freePort();
  const child: ChildProcess = spawn(
    programPath("prometheus"),
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${String(port)}`,
    ],
    { stdio: "ignore" },
  );
  atEnd(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  return `http://127.0.0.1:${String(port)}`;
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

describe.skipIf(!needs("prometheus"))("the shipped monitoring", () => {
  let prometheus = "";

  async function query(expression: string): Promise<readonly Series[]> {
    const parameters = new URLSearchParams({ query: expression });
    const response = await fetch(`${prometheus}/api/v1/query?${parameters.toString()}`).catch(() => null);
    // It is still starting.
    if (response === null) return [];
    const { error, data } = (await response.json()) as { error?: string; data?: { result: Series[] } };
    if (data === undefined) throw new Error(`${expression}: ${String(error)}`);
    return data.result;
  }

  beforeAll(async () => {
    const schema = await ownSchema("CREATE TABLE @.present AS SELECT 1 AS id");
    const model = (name: string) => ({ name, schema, tags: ["production", "shop", `api:${name}`] });
    const skipped = { ...model("skipped"), api: { methods: ["PUT"] } };
    const manifest = manifestOf([{ ...model("present"), materialized: "table" }, model("absent"), skipped]);
    // Behind a proxy no caller counts as local.
    const { url, recordBuilds } = await startManifest(manifest, { TRUST_PROXY: "1" });
    recordBuilds([{ node: "model.test.present", completedAt: Date.now() - 60_000 }]);
    prometheus = await startPrometheus(url);
    for (let i = 0; i < 5; i++) await fetch(`${url}/v1/shop/present`);
    const hasSeries = (expression: string): Promise<void> =>
      vi.waitFor(async () => expect(await query(expression)).toHaveLength(1), POLL);
    await hasSeries("up == 1");
    await fetch(`${url}/v1/shop/present`);
    await hasSeries("sum(rate(routewright_requests_total[10s])) > 0");
  });

  it("scrapes with the settings of the cluster, and every panel of the dashboard has series", async () => {
    const { panels } = JSON.parse(read("grafana-dashboard.json")) as {
      panels: { title: string; targets?: { expr: string }[] }[];
    };
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const ofDataApi = expressions.filter((expr) => !expr.includes("routewright_ramp_"));
    expect(ofDataApi.length).toBeGreaterThan(10);
    for (const expr of ofDataApi)
      expect(await query(expr.replaceAll("$__rate_interval", "10s")), expr).not.toEqual([]);
  });

  it("knows at once of a relation that nobody has called, and of skipped models", async () => {
    expect((await query("routewright_missing_relations")).map(({ value }) => value[1])).toEqual(["1"]);
    expect((await query("routewright_skipped_models")).map(({ value }) => value[1])).toEqual(["1"]);
  });

  it("fires the alert of a missing relation, and no alert of a healthy server", async () => {
    const firing = async (): Promise<readonly string[]> =>
      (await query('ALERTS{alertstate="firing"}')).map(({ metric }) => metric["alertname"] ?? "");
    await expect.poll(firing, POLL).toEqual(["RelationsMissing"]);
    const { groups } = parse(read("alerts.yml")) as { groups: { rules: { expr: string }[] }[] };
    for (const { expr } of groups.flatMap(({ rules }) => rules)) await query(expr);
  });
});
