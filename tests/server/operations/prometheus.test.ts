/** A real Prometheus with the shipped scrape settings, alerts and dashboard against servers in each state. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { parse, stringify } from "yaml";
import { atEnd, withAtEnd } from "../../support/at-end.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs, programPath } from "../../support/needs.js";
import { freePort } from "../../support/port.js";
import { generateInto, KEYS, ownFolder, startFolder } from "../../support/service.js";
import { workerRenderer } from "../../../generator/watch/worker-renderer.js";
import { clientAddress } from "../../../runtime/core/environment/common.js";
import type { RunningService } from "../../../runtime/server/server.js";
import { newCustomer, onramp, ownWorld } from "../../ramp/support/world.js";

const TEMPLATES = join(import.meta.dirname, "../../../templates/docker");
const read = (file: string): string => readFileSync(join(TEMPLATES, file), "utf8");
const POLL = { timeout: 90_000, interval: 100 };

interface ScrapeConfig {
  readonly job_name: "data-api" | "ramp";
  readonly authorization?: object;
}

const RULES = { "alerts.yml": "alerts.yml", "ramp.yml": "ramp/alerts.yml" };

/** Starts Prometheus with the scrape settings of the cluster's; only the discovery of pods is replaced by addresses. */
async function startPrometheus(targets: Partial<Record<ScrapeConfig["job_name"], string>>): Promise<string> {
  const folder = ownFolder();
  const scrape_configs = ["kubernetes", "ramp"].flatMap(
    (name) =>
      (parse(read(`${name}/prometheus-scrape.yml`)) as { scrape_configs: ScrapeConfig[] }).scrape_configs,
  );
  writeFileSync(join(folder, "metrics_key"), KEYS.tier3);
  for (const [name, file] of Object.entries(RULES))
    writeFileSync(join(folder, name), read(file).replace(/for: \w+/g, "for: 0s"));
  const scraped = scrape_configs.flatMap(({ authorization, job_name }) => {
    const target = targets[job_name];
    if (target === undefined) return [];
    const key = { ...authorization, credentials_file: join(folder, "metrics_key") };
    const static_configs = [{ targets: [new URL(target).host] }];
    return { job_name, static_configs, ...(authorization && { authorization: key }) };
  });
  const config = {
    global: { scrape_interval: "250ms", evaluation_interval: "250ms" },
    rule_files: Object.keys(RULES),
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

/** What a machine that stands still for seconds fires rightly, and for minutes: a late request is in the rates of the last five. */
const OF_SLOW_MACHINE = ["DataApiSlow", "QueriesWait"];

/** A server, what it says of itself, and what a Prometheus that scrapes it says. */
class Monitored {
  readonly #url: string;
  readonly #prometheus: string;
  /** A request took long. */
  #isLate = false;

  private constructor(url: string, prometheus: string) {
    this.#url = url;
    this.#prometheus = prometheus;
  }

  static async of(
    { url }: { readonly url: string },
    job: ScrapeConfig["job_name"] = "data-api",
  ): Promise<Monitored> {
    const monitored = new Monitored(url, await startPrometheus({ [job]: url }));
    await monitored.hasSeries("up == 1");
    return monitored;
  }

  async health(): Promise<unknown> {
    const response = await fetch(`${this.#url}/health`, { headers: { "X-API-Key": KEYS.tier3 } });
    return [response.status, await response.json()];
  }

  async query(expression: string): Promise<readonly Series[]> {
    const parameters = new URLSearchParams({ query: expression });
    const response = await fetch(`${this.#prometheus}/api/v1/query?${parameters.toString()}`).catch(
      () => null,
    );
    // It is still starting.
    if (response === null) return [];
    const { error, data } = (await response.json()) as { error?: string; data?: { result: Series[] } };
    if (data === undefined) throw new Error(`${expression}: ${String(error)}`);
    return data.result;
  }

  hasSeries(expression: string): Promise<void> {
    return vi.waitFor(async () => expect(await this.query(expression), expression).not.toEqual([]), POLL);
  }

  /** Names of the firing alerts. */
  async firing(): Promise<readonly string[]> {
    const alerts = await this.query('ALERTS{alertstate="firing"}');
    return [...new Set(alerts.map(({ metric }) => metric["alertname"] ?? ""))].sort();
  }

  fires(names: readonly string[]): Promise<void> {
    const unexpected = OF_SLOW_MACHINE.filter((name) => this.#isLate && !names.includes(name));
    const others = async (): Promise<readonly string[]> =>
      (await this.firing()).filter((name) => !unexpected.includes(name));
    return vi.waitFor(async () => expect(await others()).toEqual(names), POLL);
  }

  /** Counters rise between two scrapes: a request before, a scrape, and requests after. */
  async call(path: string, more: readonly string[]): Promise<void> {
    await this.#get(path);
    await this.hasSeries("sum(routewright_requests_total) > 0");
    await Promise.all(more.map((next) => this.#get(next)));
  }

  async #get(path: string): Promise<void> {
    const start = performance.now();
    await fetch(this.#url + path);
    this.#isLate ||= performance.now() - start > 500;
  }
}

/** What the panels of a dashboard ask for. */
function expressionsOf(file: string): string[] {
  const { panels } = JSON.parse(read(file)) as { panels: { targets?: { expr: string }[] }[] };
  return panels
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    .map((expr) => expr.replaceAll("$__rate_interval", "10s"));
}

/** A scenario waits for scrapes most of the time, so they go side by side. */
function scenario(name: string, run: () => Promise<void>): void {
  it.concurrent(name, ({ onTestFinished }) => withAtEnd(onTestFinished, run));
}

const schema = await ownSchema(
  `CREATE TABLE @.present AS SELECT 1 AS id;
   ${["a", "b"].map((name) => `CREATE VIEW @.slow_${name} AS SELECT 1 AS id FROM pg_sleep(2.6)`).join(";")}`,
);

describe.skipIf(!needs("prometheus"))("the shipped monitoring", () => {
  const model = (name: string) => ({ name, schema });

  /** A server of these models. Behind a proxy no caller counts as local. */
  function start(
    models: Parameters<typeof manifestOf>[0],
    variables: Readonly<Record<string, string>> = {},
    options: Parameters<typeof startFolder>[2] = {},
  ): Promise<RunningService> {
    const folder = ownFolder();
    generateInto(folder, manifestOf(models));
    return startFolder(folder, { TRUST_PROXY: "1", ...variables }, options);
  }

  scenario(
    "every panel of the data API has series; a missing relation is known at once and fires",
    async () => {
      const models = [
        { ...model("present"), materialized: "table" },
        model("absent"),
        { ...model("skipped"), api: { methods: ["PUT"] } },
      ];
      const server = await start(models);
      server.recordBuilds([{ node: "model.test.present", completedAt: Date.now() - 60_000 }]);
      const monitored = await Monitored.of(server);
      await monitored.call("/v1/shop/present", ["/v1/shop/present"]);
      await monitored.hasSeries("sum(rate(routewright_requests_total[10s])) > 0");
      const ofDataApi = expressionsOf("grafana-dashboard.json");
      expect(ofDataApi.length).toBeGreaterThan(15);
      for (const expr of ofDataApi) await monitored.hasSeries(expr);
      const missing = { missing_relations: [`${schema}.absent`] };
      expect(await monitored.health()).toEqual([
        200,
        { status: "degraded", database_connected: true, ...missing },
      ]);
      await monitored.hasSeries("routewright_missing_relations == 1");
      await monitored.hasSeries("routewright_skipped_models == 1");
      await monitored.fires(["RelationsMissing"]);
    },
  );

  scenario("a slow database leaves the server ok, and fires for its latency and its queue", async () => {
    const monitored = await Monitored.of(
      await start(
        ["a", "b"].map((name) => model(`slow_${name}`)),
        { DATABASE_POOL_SIZE: "1" },
      ),
    );
    await monitored.call("/v1/shop/slow_a", ["/v1/shop/slow_b", "/v1/shop/slow_a"]);
    expect(await monitored.health()).toEqual([200, { status: "ok", database_connected: true }]);
    await monitored.fires(["DataApiSlow", "QueriesWait"]);
  });

  scenario(
    "a stale catalogue leaves the server ok, and fires for the refreshes and for the age of the data",
    async () => {
      const server = await start(
        [{ ...model("present"), materialized: "table" }],
        {},
        {
          renderer: workerRenderer({
            manifest: join(ownFolder(), "missing.json"),
            title: null,
            generated: ownFolder(),
            allowEdited: false,
            guard: null,
          }),
        },
      );
      server.recordBuilds([{ node: "model.test.present", completedAt: Date.now() - 37 * 3_600_000 }]);
      const monitored = await Monitored.of(server);
      await monitored.hasSeries('routewright_refreshes_total{result="error"} == 0');
      await server.refresh();
      await monitored.hasSeries('routewright_refreshes_total{result="error"} == 1');
      expect(await monitored.health()).toEqual([200, { status: "ok", database_connected: true }]);
      await monitored.fires(["DataStale", "RefreshFails"]);
    },
  );

  scenario("without Redis the server is degraded, and fires", async () => {
    const redis = `redis://127.0.0.1:${String(await freePort())}`;
    const monitored = await Monitored.of(await start([model("present")], { REDIS_URL: redis }));
    await monitored.call("/v1/shop/present", []);
    const detail = "Redis is unreachable: rate limits are counted per process.";
    const degraded = [200, { status: "degraded", database_connected: true, detail }];
    // The first call does not wait until the connection has failed.
    // Not `expect.poll`, which knows no test once another one beside it has ended.
    await vi.waitFor(async () => expect(await monitored.health()).toEqual(degraded), POLL);
    await monitored.hasSeries('routewright_degraded{part="rate_limits"} == 1');
    await monitored.fires(["ServerDegraded"]);
  });

  scenario("every panel of the ramp has series, and no alert fires", async () => {
    const ramp = await ownWorld({ addressOf: clientAddress("1"), metricsPublic: true });
    const monitored = await Monitored.of(ramp, "ramp");
    const auth = await newCustomer(ramp, await ramp.project());
    const create = () => ramp.call("POST", "/v1/intent", { auth, body: onramp() });
    expect((await create()).status).toBe(201);
    await monitored.hasSeries('routewright_ramp_requests_total{path="/v1/intent"}');
    await create();
    await monitored.hasSeries("sum(rate(routewright_ramp_provider_calls_total[10s])) > 0");
    const ofRamp = expressionsOf("ramp/grafana-dashboard.json");
    expect(ofRamp.length).toBeGreaterThan(8);
    for (const expr of ofRamp) await monitored.hasSeries(expr);
    await monitored.fires([]);
  });
});
