import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { suiteBrowser } from "../pages/browser.js";
import { visit } from "../pages/explorer/page.js";
import { type Served, serve } from "../support/command.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { putJson } from "../support/files.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { generateInto, KEYS, ownFolder } from "../support/service.js";

const schema = await ownSchema(
  `CREATE TABLE @.one AS SELECT 1 AS n; CREATE TABLE @.two AS SELECT 2 AS n;
   CREATE VIEW @.both AS SELECT n FROM @.one UNION ALL SELECT n FROM @.two`,
);
const model = (name: string, materialized: string, reads: readonly string[], more: object) => ({
  ...{ name, schema, materialized, tags: ["production", "flows", `api:${name}`], columns: { n: "int" } },
  parents: reads.map((parent) => `model.test.${parent}`),
  routewright: { fresh_within: "26h", ...more },
});
const manifest = manifestOf([
  model("one", "table", [], { max_age: 300 }),
  model("two", "table", [], {}),
  model("both", "view", ["one", "two"], {}),
]);

const HOUR = 3_600_000;
const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * HOUR);

/** Builds of nodes, so many hours ago; a negative number: it failed then. */
function runResults(nodes: Readonly<Record<string, number>>) {
  const results = Object.entries(nodes).map(([name, hours]) => ({
    unique_id: `model.test.${name}`,
    status: hours < 0 ? "error" : "success",
    timing: [{ name: "execute", completed_at: hoursAgo(Math.abs(hours)).toISOString() }],
  }));
  const dbt_schema_version = "https://schemas.getdbt.com/dbt/run-results/v6.json";
  return {
    metadata: { dbt_schema_version, generated_at: hoursAgo(0).toISOString() },
    results,
    args: { which: "build" },
  };
}

const METRICS = { METRICS_PUBLIC: "true", API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }) };

async function started(nodes: Readonly<Record<string, number>> | null): Promise<Served & { file: string }> {
  const folder = ownFolder();
  generateInto(join(folder, "generated"), manifest);
  const file = join(folder, "run_results.json");
  if (nodes !== null) putJson(file, runResults(nodes));
  const variables = nodes === null ? {} : { DBT_RUN_RESULTS_PATH: "run_results.json" };
  const command = await serve(folder, ["--only", "data"], {
    DATABASE_URL: databaseUrl,
    ...METRICS,
    ...variables,
  });
  return { ...command, file };
}

const get = async ({ url }: Served, path: string) => fetch(`${url}${path}`);

/** `ok` or `error`, and how many hours are left. */
async function stateOf(
  command: Served,
  name: string,
): Promise<readonly [state: string, hours: number] | null> {
  const text = (await get(command, `/v1/flows/${name}`)).headers.get("x-data-freshness");
  if (text === null) return null;
  const [, state = "", due = ""] = /^(\w+);due="(.*)"$/.exec(text) ?? [];
  return [state, Math.round((Date.parse(due) - Date.now()) / HOUR)];
}

async function lateIn(command: Served): Promise<unknown> {
  const health = (await (await get(command, "/health")).json()) as { late_endpoints?: unknown };
  const metrics = await (await get(command, "/metrics")).text();
  const routes = [...metrics.matchAll(/^routewright_late_endpoints\{route="(.*)"\} 1$/gm)].map(
    ([, path]) => path,
  );
  expect(routes).toEqual(health.late_endpoints ?? []);
  return routes;
}

it("rows say whether they are as fresh as promised, by the oldest table behind them, also after a failed build", async () => {
  const command = await started({ one: 2, two: 20, both: 40 });
  expect(await stateOf(command, "one")).toEqual(["ok", 24]);
  expect(await stateOf(command, "both")).toEqual(["ok", 6]);
  expect(await lateIn(command)).toEqual([]);
  // The next run builds one of the two, and fails at the other.
  putJson(command.file, runResults({ one: 1, two: -1 }));
  await expect.poll(() => stateOf(command, "one")).toEqual(["ok", 25]);
  expect(await stateOf(command, "two")).toEqual(["ok", 6]);
  expect(await stateOf(command, "both")).toEqual(["ok", 6]);
  const catalogue = (await (await get(command, "/v1/system/catalogue")).json()) as {
    endpoints: readonly { path: string; freshness?: { promise: string; due: string } }[];
  };
  const { freshness } = catalogue.endpoints.find(({ path }) => path === "/v1/flows/both") ?? {};
  expect(freshness).toMatchObject({ promise: "at most 26 hours old", within_seconds: 93_600 });
  expect(Math.round((Date.parse(freshness?.due ?? "") - Date.now()) / HOUR)).toBe(6);
  await command.stop();
});

it("what is older than promised is said to be, in answers, health and metrics, and so is what nobody knows", async () => {
  const late = await started({ one: 2, two: 30, both: 1 });
  expect(await stateOf(late, "two")).toEqual(["error", -4]);
  expect(await stateOf(late, "both")).toEqual(["error", -4]);
  expect(await lateIn(late)).toEqual(["/v1/flows/both", "/v1/flows/two"]);
  await late.stop();
  const unknown = await started(null);
  expect(await stateOf(unknown, "one")).toBeNull();
  expect(await lateIn(unknown)).toEqual(["/v1/flows/both", "/v1/flows/one", "/v1/flows/two"]);
  await unknown.stop();
});

it("no public copy outlives the promise", async () => {
  const folder = await started({ one: 26 - 250 / 3600, two: 1, both: 1 });
  const control = (await get(folder, "/v1/flows/one")).headers.get("cache-control");
  const [, seconds] = /^public, max-age=(\d+)$/.exec(control ?? "") ?? [];
  expect(Number(seconds)).toBeLessThanOrEqual(250);
  expect(Number(seconds)).toBeGreaterThan(0);
  await folder.stop();
});

/** dbt's bounds, as its manifests of models and sources have them. */
const AFTER = {
  warn_after: { count: 12, period: "hour" },
  error_after: { count: 1, period: "day" },
  filter: null,
};

/** A file of results, of so many hours since the last load of each node. */
function checkResults(kind: "sources" | "freshness", nodes: Readonly<Record<string, number>>) {
  return {
    metadata: {
      dbt_schema_version: `https://schemas.getdbt.com/dbt/${kind}/${kind === "sources" ? "v3" : "v0"}.json`,
      generated_at: hoursAgo(0).toISOString(),
    },
    results: Object.entries(nodes).map(([unique_id, hours]) => ({
      unique_id,
      max_loaded_at: hoursAgo(hours).toISOString(),
      snapshotted_at: hoursAgo(0).toISOString(),
      status: hours > 24 ? "error" : hours > 12 ? "warn" : "pass",
      criteria: AFTER,
    })),
  };
}

it("keeps dbt's own bounds of a model, and is late where a source is, which is named", async () => {
  const folder = ownFolder();
  const source = "source.test.raw.orders";
  const json = manifestOf([
    { ...model("one", "table", [], {}), routewright: { require_fresh: true } },
    { ...model("two", "table", [], {}), parents: [source] },
    { ...model("three", "table", [], {}), alias: "one", routewright: {} },
  ]) as { nodes: Record<string, object>; sources?: object };
  const one = json.nodes["model.test.one"];
  json.nodes["model.test.one"] = {
    ...one,
    config: { ...(one as { config?: object }).config, freshness: AFTER },
  };
  // dbt 1.12: how seldom to build, which is no promise.
  const three = json.nodes["model.test.three"];
  json.nodes["model.test.three"] = {
    ...three,
    config: {
      ...(three as { config?: object }).config,
      freshness: { build_after: { count: 4, period: "hour", updates_on: "all" } },
    },
  };
  json.sources = {
    [source]: {
      ...{ resource_type: "source", unique_id: source, name: "orders", schema, identifier: "orders" },
      freshness: AFTER,
    },
  };
  generateInto(join(folder, "generated"), json);
  const files = ["run_results", "sources", "freshness"].map((name) => join(folder, `${name}.json`));
  const [results = "", sources = "", freshness = ""] = files;
  putJson(results, runResults({ one: 1, two: 1, three: 1 }));
  const variables = {
    DBT_RUN_RESULTS_PATH: "run_results.json",
    DBT_SOURCES_PATH: "sources.json",
    DBT_FRESHNESS_PATH: "freshness.json",
  };
  putJson(sources, checkResults("sources", { [source]: 1 }));
  putJson(freshness, checkResults("freshness", {}));
  const start = () =>
    serve(folder, ["--only", "data"], { DATABASE_URL: databaseUrl, ...METRICS, ...variables });
  const first = await start();
  // Nobody knows how old its rows are: dbt has never looked.
  expect(await stateOf(first, "one")).toBeNull();
  expect(await lateIn(first)).toEqual(["/v1/flows/one"]);
  expect(await stateOf(first, "two")).toEqual(["ok", 23]);
  expect((await get(first, "/v1/flows/three")).headers.get("x-data-freshness")).toBeNull();
  putJson(freshness, checkResults("freshness", { "model.test.one": 2, [source]: 1 }));
  await expect.poll(() => stateOf(first, "one")).toEqual(["ok", 22]);
  putJson(freshness, checkResults("freshness", { "model.test.one": 13 }));
  await expect.poll(() => stateOf(first, "one")).toEqual(["warn", 11]);
  expect((await get(first, "/v1/flows/one?require_fresh=true")).status).toBe(200);
  putJson(freshness, checkResults("freshness", { "model.test.one": 25 }));
  putJson(sources, checkResults("sources", { [source]: 30 }));
  await expect.poll(() => stateOf(first, "one")).toEqual(["error", -1]);
  await expect.poll(() => stateOf(first, "two")).toEqual(["error", -6]);
  expect((await get(first, "/v1/flows/one?require_fresh=true")).status).toBe(503);
  writeFileSync(sources, "no JSON");
  await first.until(/"source freshness not read"/);
  await first.stop();
  // A later file has another part of the nodes: what was found of the others holds, over a restart too.
  putJson(sources, checkResults("sources", { "source.test.raw.other": 1 }));
  putJson(freshness, checkResults("freshness", {}));
  const second = await start();
  expect(await stateOf(second, "two")).toEqual(["error", -6]);
  expect(await lateIn(second)).toEqual(["/v1/flows/one", "/v1/flows/two"]);
  const health = (await (await get(second, "/health")).json()) as { late_nodes?: unknown };
  expect(health.late_nodes).toEqual(["model.test.one", source]);
  const key = { "x-api-key": KEYS.tier3 };
  const response = await fetch(`${second.url}/v1/system/catalogue`, { headers: key });
  const { endpoints } = (await response.json()) as {
    endpoints: readonly { path: string; freshness?: object }[];
  };
  const shown = new Map(endpoints.map((each) => [each.path, each.freshness]));
  expect(shown.get("/v1/flows/one")).toMatchObject({
    promise: "at most 24 hours after their last load, with a warning 12 hours after their last load",
    ...{ warn_after_seconds: 43_200, error_after_seconds: 86_400 },
  });
  expect(shown.get("/v1/flows/two")).toMatchObject({ late_nodes: [source] });
  expect(shown.get("/v1/flows/three")).toBeUndefined();
  await second.stop();
});

describe.skipIf(!needs("chromium"))("the explorer and the guide", () => {
  const browser = suiteBrowser();

  it("say what is promised, and what is late", async () => {
    const command = await started({ one: 2, two: 30, both: 1 });
    const { page } = await visit(browser.context, command.url, "/explore?endpoint=/v1/flows/two");
    const fact = page.locator("dl.facts div", { hasText: "Promised" });
    await expect.poll(() => fact.innerText()).toMatch(/at most 26 hours old; late since /);
    await page.goto(`${command.url}/explore?endpoint=/v1/flows/one`);
    await expect.poll(() => fact.innerText()).toMatch(/at most 26 hours old; next build by /);
    await page.goto(`${command.url}/guide`);
    const rows = page.locator("#freshness ~ * tbody tr, section:has(#freshness) tbody tr");
    await expect
      .poll(async () => (await rows.allInnerTexts()).filter((row) => row.includes("at most 26 hours old")))
      .toHaveLength(3);
    await command.stop();
  });
});
