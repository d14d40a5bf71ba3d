import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { hashOf } from "../../../runtime/core/request/keyring.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { run, serve, type Served } from "../../support/command.js";
import { manifestOf } from "../../support/manifest.js";
import { ownInstallation } from "../../support/service.js";
import { recorded, requestsRecorded } from "./recorded.js";

const KEY = "sk_live_confidential_Zq7";
const WRONG_KEY = "sk_live_attempted_Xw3";
const ID = hashOf(KEY).slice(0, 12);
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

const MODELS = [
  { name: "api_a", tags: ["production", "s", "api:a"], columns: { id: "int" } },
  { name: "api_b", tags: ["production", "s", "api:b", "tier1"], columns: { id: "int" } },
];

/** A folder to serve from, with one key. */
function ownService(): string {
  const folder = ownInstallation(manifestOf(MODELS));
  writeFileSync(
    join(folder, "api_keys.json"),
    JSON.stringify({ [KEY]: { user: "ann", org: "Acme", tier: "tier2" } }),
  );
  return folder;
}

/** An endpoint with everything that a caller can ask by. */
const ASKED = {
  name: "api_a",
  tags: ["production", "s", "api:a"],
  columns: { id: "int", day: "date", symbol: "text" },
  api: {
    methods: ["GET", "POST"],
    allow_unfiltered: true,
    parameters: [{ name: "symbol", column: "symbol", operator: "=", type: "string" }],
    pagination: { enabled: true, default_limit: 10, max_limit: 10 },
    sort: [{ column: "id", direction: "ASC" }],
  },
  routewright: { filters: ["day"], fields: true, former_paths: [{ path: "/v1/s/old" }] },
};

async function filledDatabase(): Promise<string> {
  const url = await ownDatabase();
  const select = "AS SELECT generate_series(1, 3) AS id";
  await queryAt(
    url,
    `CREATE SCHEMA analytics; CREATE TABLE analytics.api_a ${select}; CREATE TABLE analytics.api_b ${select}`,
  );
  return url;
}

/** Fifty requests: with the key, with a wrong one, without one, and to a path that nothing has. */
async function fifty({ url }: Served, headers: Record<string, string> = {}): Promise<void> {
  const one = [
    () => sendRequest(url, "/v1/s/a", { key: KEY, headers }),
    () => sendRequest(url, "/v1/s/b", { key: KEY, headers }),
    () => sendRequest(url, "/v1/s/b", { key: WRONG_KEY, headers }),
    () => sendRequest(url, "/v1/s/b", { headers }),
    () => sendRequest(url, `/v1/${KEY}`, { key: KEY, headers }),
  ];
  for (let i = 0; i < 10; i++) await Promise.all(one.map((send) => send()));
}

/** What fifty of them are in the database; three rows are `[{"id":1},{"id":2},{"id":3}]`. */
const FIFTY = [
  { key: ID, route: "/v1/s/a", requests: 10, refused: 0, errors: 0, rows: 30 },
  { key: ID, route: "/v1/s/b", requests: 10, refused: 0, errors: 0, rows: 30 },
  { key: ID, route: "none", requests: 10, refused: 0, errors: 10, rows: 0 },
  { key: "none", route: "/v1/s/b", requests: 20, refused: 20, errors: 0, rows: 0 },
];

const byText = (a: { key?: unknown; route?: unknown }, b: typeof a): number =>
  `${String(a.key)} ${String(a.route)}` < `${String(b.key)} ${String(b.route)}` ? -1 : 1;

interface Line {
  readonly msg?: string;
  readonly route?: string | null;
  readonly status?: number;
  readonly [field: string]: unknown;
}

function requestLines(stdout: string): Line[] {
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === "request");
}

it("a server that is stopped has recorded and logged every request, and no key anywhere", async () => {
  const folder = ownService();
  const DATABASE_URL = await filledDatabase();
  const served = await serve(folder, ["--only", "data"], { DATABASE_URL, LOG_LEVEL: "trace" });
  await fifty(served, { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, tracestate: "vendor=secretive" });
  const { text: metrics } = await sendRequest(served.url, "/metrics", {
    headers: { traceparent: KEY, tracestate: KEY, "x-request-id": KEY },
    key: KEY,
  });
  const { code, stdout, stderr } = await served.stop();
  expect(code).toBe(0);
  expect((await recorded(DATABASE_URL)).toSorted(byText)).toMatchObject(FIFTY.toSorted(byText));
  const { stdout: byKey } = await run(folder, ["usage", "--json"], { DATABASE_URL });
  expect(JSON.parse(byKey)).toMatchObject([
    { key: ID, user: "ann", org: "Acme", tier: "tier2", requests: 30, refused: 0, errors: 10 },
    { key: "none", user: "", org: "", requests: 20, refused: 20, errors: 0 },
  ]);
  const { stdout: byRoute } = await run(folder, ["usage", "--by", "route"], { DATABASE_URL });

  const lines = requestLines(stdout).filter(({ route }) => route !== "/metrics");
  expect(lines).toHaveLength(50);
  const [rows] = lines.filter(({ route, status }) => route === "/v1/s/a" && status === 200);
  expect(rows).toMatchObject({
    method: "GET",
    key: ID,
    tier: "tier2",
    rows: 3,
    databaseMs: expect.any(Number),
    milliseconds: expect.any(Number),
    trace_id: TRACE,
    parent_id: "00f067aa0ba902b7",
  });
  expect(rows?.["bytes"]).toBeGreaterThanOrEqual(28);
  expect(new Set(lines.map((line) => line["span_id"])).size).toBe(50);

  const table = JSON.stringify(await queryAt(DATABASE_URL, "SELECT * FROM routewright.usage"));
  expect(table).toContain(ID);
  for (const text of [metrics, byRoute]) expect(text).toContain("/v1/s/a");
  for (const text of [stdout, stderr, metrics, table, byKey, byRoute])
    expect(text).not.toMatch(/confidential|attempted|vendor|secretive/);
});

/** Loaded in front of the server: at a signal it prints how large the young generation of its heap is. */
const PROBE = `import { getHeapSpaceStatistics } from "node:v8";
  process.on("SIGUSR2", () => {
    const { space_size } = getHeapSpaceStatistics().find((space) => space.space_name === "new_space");
    console.log("new_space:", space_size);
  });`;

it.runIf(process.platform !== "win32")("a start does not grow a server's young generation", async () => {
  const DATABASE_URL = await filledDatabase();
  const columns = { id: "int", missing: "int" };
  const folder = ownInstallation(manifestOf(MODELS.map((model) => ({ ...model, columns }))));
  writeFileSync(join(folder, "probe.mjs"), PROBE);
  const NODE_OPTIONS = `--import=${join(folder, "probe.mjs")}`;
  const served = await serve(folder, ["--only", "data"], { DATABASE_URL, NODE_OPTIONS });
  // It has compared its catalogue with the database.
  for (const path of ["/v1/s/a", "/v1/s/b"])
    await served.until(new RegExp(`"endpoint":"${path}".*lacks columns`));
  served.child.kill("SIGUSR2");
  const [, bytes] = await served.until(/new_space: (\d+)/);
  // 2 MiB; 16 where V8 has doubled it for what a start loads.
  expect(Number(bytes) / 2 ** 20).toBeLessThan(8);
});

it("a killed server has recorded all but the last seconds, which a caller sees by day", async () => {
  const DATABASE_URL = await filledDatabase();
  const served = await serve(ownService(), ["--only", "data"], { DATABASE_URL });
  await fifty(served);
  await expect.poll(() => requestsRecorded(DATABASE_URL)).toBe(50);
  const { text } = await sendRequest(served.url, "/v1/system/usage", { key: KEY });
  // Two lines where midnight is between the requests.
  const { days } = JSON.parse(text) as { days: Record<string, number>[] };
  const sum = (name: string): number => days.reduce((total, day) => total + (day[name] ?? 0), 0);
  expect([sum("requests"), sum("errors"), sum("rows")]).toEqual([30, 10, 60]);
  await fifty(served);
  await served.stop("SIGKILL");
  const written = await requestsRecorded(DATABASE_URL);
  expect(written).toBeGreaterThanOrEqual(50);
  expect(written).toBeLessThanOrEqual(101);
});

it.each([
  ["usage.shapes of the config file", {}, ["GET json tier2"]],
  ["a variable that says otherwise", { USAGE_SHAPES: "false" }, []],
])("shapes of requests are kept by %s", async (_, variables, expected) => {
  const DATABASE_URL = await filledDatabase();
  const folder = ownService();
  writeFileSync(join(folder, "routewright.config.json"), JSON.stringify({ usage: { shapes: true } }));
  const served = await serve(folder, ["--only", "data"], { DATABASE_URL, ...variables });
  await sendRequest(served.url, "/v1/s/a", { key: KEY });
  await served.stop();
  const rows = await queryAt(DATABASE_URL, "SELECT shape FROM routewright.usage_shapes");
  expect(rows.map(({ shape }) => shape)).toEqual(expected);
});

it("with USAGE_ENABLED=false nothing is written", async () => {
  const DATABASE_URL = await filledDatabase();
  const served = await serve(ownService(), ["--only", "data"], { DATABASE_URL, USAGE_ENABLED: "false" });
  await sendRequest(served.url, "/v1/s/a", { key: KEY });
  await served.stop();
  expect(await requestsRecorded(DATABASE_URL)).toBe(0);
});

it("with the embedded database, usage is there for the command while the server runs and after it", async () => {
  const folder = ownService();
  const served = await serve(folder, ["--only", "data"], {});
  await Promise.all(Array.from({ length: 7 }, () => sendRequest(served.url, "/v1/none", { key: KEY })));
  // What it finds by now depends on the clock; that it finds the database does not.
  expect((await run(folder, ["usage"])).code).toBe(0);
  expect((await sendRequest(served.url, "/v1/none", { key: KEY })).status).toBe(404);
  await served.stop();
  const { stdout } = await run(folder, ["usage", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject([{ key: ID, requests: 8, errors: 8 }]);
});

it("a server records the names of parameters and of chosen columns, by key and path, and no value", async () => {
  const folder = ownInstallation(manifestOf([ASKED]));
  const DATABASE_URL = await ownDatabase();
  await queryAt(
    DATABASE_URL,
    "CREATE SCHEMA analytics; CREATE TABLE analytics.api_a AS SELECT 1 AS id, date '2026-01-31' AS day, 'x' AS symbol",
  );
  const served = await serve(folder, ["--only", "data"], { DATABASE_URL });
  const day = encodeURIComponent("day[gte]");
  for (const target of [
    "/v1/s/a?symbol=confidential",
    `/v1/s/a?symbol=x&${day}=2026-01-01&limit=5`,
    "/v1/s/a?fields=id,day",
    "/v1/s/old?symbol=x",
    "/v1/s/a",
    // Refused: nothing of it counts.
    "/v1/s/a?symbol=x&unheard_of=1",
  ])
    await sendRequest(served.url, target);
  await sendRequest(served.url, "/v1/s/a", { method: "POST", body: '{"day": {"gte": "2026-01-01"}}' });
  await served.stop();
  const found = await queryAt(
    DATABASE_URL,
    'SELECT route, parameter, requests::int FROM routewright.usage_parameters ORDER BY route, parameter COLLATE "C"',
  );
  expect(found.map(({ route, parameter, requests }) => [route, parameter, requests])).toEqual([
    ["/v1/s/a", "day[gte]", 2],
    ["/v1/s/a", "fields", 1],
    ["/v1/s/a", "fields=day", 1],
    ["/v1/s/a", "fields=id", 1],
    ["/v1/s/a", "limit", 1],
    ["/v1/s/a", "symbol", 2],
    ["/v1/s/old", "symbol", 1],
  ]);
});

it("a server records the groups and measures that requests ask for, also where they name no measure", async () => {
  const aggregate = {
    group_by: ["symbol"],
    measures: { rows: { agg: "count" }, ids: { agg: "sum", column: "id" } },
  };
  const folder = ownInstallation(manifestOf([{ ...ASKED, routewright: { aggregate } }]));
  const DATABASE_URL = await ownDatabase();
  await queryAt(
    DATABASE_URL,
    "CREATE SCHEMA analytics; CREATE TABLE analytics.api_a AS SELECT 1 AS id, date '2026-01-31' AS day, 'x' AS symbol",
  );
  const served = await serve(folder, ["--only", "data"], { DATABASE_URL });
  for (const target of ["/v1/s/a?group_by=symbol", "/v1/s/a?measures=ids", "/v1/s/a"])
    await sendRequest(served.url, target);
  await served.stop();
  const found = await queryAt(
    DATABASE_URL,
    'SELECT parameter, requests::int FROM routewright.usage_parameters ORDER BY parameter COLLATE "C"',
  );
  expect(found.map(({ parameter, requests }) => [parameter, requests])).toEqual([
    ["group_by", 1],
    ["group_by=symbol", 1],
    ["measures", 1],
    ["measures=ids", 2],
    ["measures=rows", 1],
  ]);
});
