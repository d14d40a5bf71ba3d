import { join } from "node:path";
import { expect, it } from "vitest";
import { type Served, serve } from "../support/command.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { putJson } from "../support/files.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, KEYS, ownFolder } from "../support/service.js";
import { manifestServer } from "./manifest-server.js";

const schema = await ownSchema(
  "CREATE TABLE @.one AS SELECT 1 AS n; CREATE TABLE @.pair AS SELECT 1 AS n, 'hush' AS secret",
);
const model = {
  name: "one",
  schema,
  tags: ["production", "flows", "api:one"],
  columns: { n: "int" },
  routewright: { changes: "on_build" },
};
const manifest = manifestOf([{ ...model, materialized: "table" }]);

const runResults = (completed_at: string, result: object = { status: "success" }, name = "one") => ({
  metadata: {
    dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
    generated_at: "2026-05-21T04:00:00.000000Z",
  },
  results: [{ unique_id: `model.test.${name}`, ...result, timing: [{ name: "execute", completed_at }] }],
  args: { which: "build" },
});

/** The real server in this folder, with these variables. */
function served(folder: string, variables: Readonly<Record<string, string>>): Promise<Served> {
  generateInto(join(folder, "generated"), manifest);
  return serve(folder, ["--only", "data"], { DATABASE_URL: databaseUrl, ...variables });
}

const asOf = async ({ url }: Served): Promise<string | null> =>
  (await fetch(`${url}/v1/flows/one`)).headers.get("x-data-as-of");

it("the first answer has the version of the last build, and a later one that of the next", async () => {
  const folder = ownFolder();
  const file = join(folder, "run_results.json");
  putJson(file, runResults("2026-05-21T03:00:01.000000Z"));
  const command = await served(folder, {
    DBT_RUN_RESULTS_PATH: "run_results.json",
    // The file wins.
    DBT_RUN_RESULTS_URL: "http://127.0.0.1:1/run_results.json",
  });
  expect(await asOf(command)).toBe("2026-05-21T03:00:01.000Z");
  putJson(file, runResults("2026-05-21T03:00:12.000000Z"));
  await expect.poll(() => asOf(command)).toBe("2026-05-21T03:00:12.000Z");
  expect((await command.stop()).code).toBe(0);
});

it("a model that dbt 2 built with warnings or cloned has a new version, a reused one keeps it and is fresh", async () => {
  const folder = ownFolder();
  const file = join(folder, "run_results.json");
  const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();
  putJson(file, runResults(hoursAgo(40)));
  const command = await served(folder, { DBT_RUN_RESULTS_PATH: "run_results.json", METRICS_PUBLIC: "true" });
  const tagOf = async (): Promise<string | null> =>
    (await fetch(`${command.url}/v1/flows/one`)).headers.get("etag");
  const ageInHours = async (): Promise<number> => {
    const text = await (await fetch(`${command.url}/metrics`)).text();
    return Math.round(Number(/^routewright_data_age_seconds\{.*\} (.*)$/m.exec(text)?.[1]) / 3600);
  };
  const first = await tagOf();
  expect(await ageInHours()).toBe(40);
  putJson(file, runResults(hoursAgo(30), { status: "reused", message: "No new changes on any upstreams" }));
  await expect.poll(ageInHours).toBe(30);
  const ifNoneMatch = { headers: { "If-None-Match": first ?? "" } };
  expect((await fetch(`${command.url}/v1/flows/one`, ifNoneMatch)).status).toBe(304);
  putJson(file, runResults(hoursAgo(20), { status: "reused", message: "Cloned from cached relation" }));
  await expect.poll(ageInHours).toBe(20);
  const cloned = await tagOf();
  putJson(file, runResults(hoursAgo(10), { status: "warn", message: "Warn" }));
  await expect.poll(ageInHours).toBe(10);
  expect(new Set([first, cloned, await tagOf()]).size).toBe(3);
  expect((await command.stop()).code).toBe(0);
});

it("a refresh that takes a column away takes it from answers and tags that are known too", async () => {
  const folder = ownFolder();
  const wide = { ...model, name: "pair", tags: ["production", "flows", "api:pair"], materialized: "table" };
  const both = manifestOf([{ ...wide, columns: { n: "int", secret: "text" } }]);
  generateInto(join(folder, "generated"), both);
  putJson(join(folder, "manifest.json"), manifestOf([{ ...wide, columns: { n: "int" } }]));
  putJson(
    join(folder, "run_results.json"),
    runResults("2026-05-21T03:00:01.000000Z", { status: "success" }, "pair"),
  );
  const { url } = await serve(folder, ["--only", "data"], {
    DATABASE_URL: databaseUrl,
    DBT_MANIFEST_PATH: "manifest.json",
    DBT_RUN_RESULTS_PATH: "run_results.json",
    API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
  });
  const before = await fetch(`${url}/v1/flows/pair`);
  expect(await before.text()).toBe('[{"n":1,"secret":"hush"}]');
  expect(before.headers.get("x-data-as-of")).not.toBeNull();
  const headers = { "X-API-Key": KEYS.tier3 };
  await fetch(`${url}/v1/system/manifest/refresh`, { method: "POST", headers });
  const tag = before.headers.get("etag") ?? "";
  const after = await fetch(`${url}/v1/flows/pair`, { headers: { "If-None-Match": tag } });
  expect([after.status, await after.text()]).toEqual([200, '[{"n":1}]']);
});

it("serves without versions, and says why, where the run results cannot be read; no secret of theirs is shown", async () => {
  const results = await manifestServer((_, response) => void response.writeHead(403).end());
  const address = `${results.url.replace("//", "//me:hush@")}?signature=hush`;
  const command = await served(ownFolder(), { DBT_RUN_RESULTS_URL: address, LOG_LEVEL: "trace" });
  await command.until(/answered 403.*"run results not read"/);
  expect(await asOf(command)).toBeNull();
  const { stdout, stderr } = await command.stop();
  expect(stdout + stderr).not.toContain("hush");
});

it("a missing path is reported before the server listens", async () => {
  const command = await served(ownFolder(), { DBT_RUN_RESULTS_PATH: "none/run_results.json" });
  const { stdout } = await command.stop();
  expect(stdout).toMatch(/there is no such file.*"run results not read"[^]*"msg":"listening"/);
});
