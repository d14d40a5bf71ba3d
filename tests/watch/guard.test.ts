import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serve } from "../support/command.js";
import { described } from "../support/described.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, KEYS, ownInstallation } from "../support/service.js";
import { manifestServer, serving } from "./manifest-server.js";

const schema = await ownSchema(
  "CREATE TABLE @.one AS SELECT 1 AS n, 'hush' AS secret; CREATE TABLE @.two AS SELECT 2 AS n, 3 AS m; CREATE TABLE @.three AS SELECT 3 AS n",
);

const model = (name: string, tier: string, columns: Record<string, string>, api?: unknown) => ({
  name,
  schema,
  tags: ["production", "flows", `api:${name}`, tier],
  columns,
  api,
});
const filtered = {
  allow_unfiltered: true,
  parameters: [{ name: "n", column: "n", operator: "=", type: "string" }],
};

const REVIEWED = manifestOf([
  model("one", "tier2", { n: "int" }, filtered),
  model("two", "tier0", { n: "int", m: "int" }),
]);
/** Opens one, takes a column of two, and adds three. */
const WILD = manifestOf([
  model("one", "tier0", { n: "int" }, filtered),
  model("two", "tier0", { n: "int" }),
  model("three", "tier0", { n: "int" }),
]);
const NONE = manifestOf([]);

async function guarded(args: readonly string[], variables: Readonly<Record<string, string>> = {}) {
  const folder = ownInstallation(REVIEWED);
  const manifests = await manifestServer(serving(WILD, '"wild"'));
  const command = await serve(folder, ["--only", "data", ...args], {
    DATABASE_URL: databaseUrl,
    DBT_MANIFEST_URL: manifests.url,
    API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
    METRICS_PUBLIC: "true",
    ...variables,
  });
  const { url } = command;
  const refresh = (): Promise<unknown> => described(url, "POST", "/v1/system/manifest/refresh", KEYS.tier3);
  const get = async (path: string): Promise<unknown> => (await fetch(url + path)).json();
  const metric = async (): Promise<string | undefined> =>
    /^routewright_held_back_endpoints (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1];
  return { folder, command, manifests, refresh, get, metric };
}

const HELD_BACK = [
  {
    endpoint: "/v1/flows/one",
    changes: ["Tier lowered: tier2 → tier0. Callers of a lower tier can read data that they could not read."],
  },
  { endpoint: "/v1/flows/two", changes: [expect.stringMatching(/^Column removed: m/)] },
];

describe.each([
  ["REFRESH_GUARD=true", [], { REFRESH_GUARD: "true" }],
  ["--guard with workers", ["--guard", "--workers", "2"], {}],
])("serve %s", (_, args, variables) => {
  it("keeps endpoints whose changes diff calls breaking or exposing, and follows the others", async () => {
    const { command, refresh, get, metric } = await guarded(args, variables);
    expect(await metric()).toBe("0");
    expect(await refresh()).toMatchObject({
      status: "reloaded",
      added: ["/v1/flows/three"],
      removed: [],
      changed: [],
      held_back: HELD_BACK,
    });
    expect((await fetch(`${command.url}/v1/flows/one`)).status).toBe(403);
    expect(await get("/v1/flows/two")).toEqual([{ n: 2, m: 3 }]);
    expect(await get("/v1/flows/three")).toEqual([{ n: 3 }]);
    expect(await get("/openapi.json")).toHaveProperty(["paths", "/v1/flows/one", "get", "x-tier"], "tier2");
    expect(await described(command.url, "GET", "/health")).toMatchObject({
      status: "ok",
      held_back: HELD_BACK,
    });
    expect(await metric()).toBe("2");
    await command.until(/"kind":"held_back","subject":"\/v1\/flows\/one"/);
    // The same manifest again.
    expect(await refresh()).toMatchObject({ status: "unchanged", held_back: HELD_BACK });
  });
});

/** As another version might write it: the order of an endpoint's keys means nothing. */
function reverseKeys(file: string): void {
  const catalogue = JSON.parse(readFileSync(file, "utf8")) as { endpoints: object[] };
  const endpoints = catalogue.endpoints.map((each) => Object.fromEntries(Object.entries(each).reverse()));
  writeFileSync(file, JSON.stringify({ ...catalogue, endpoints }));
}

it("follows what has been reviewed: in the generated folder, or in the accept file", async () => {
  const { folder, manifests, refresh, get } = await guarded(["--guard"]);
  await refresh();
  generateInto(join(folder, "generated"), WILD);
  reverseKeys(join(folder, "generated/catalogue.json"));
  const described = manifestOf([
    model("one", "tier0", { n: "int" }, filtered),
    { ...model("two", "tier0", { n: "int" }), description: "As reviewed, but for this." },
  ]);
  manifests.behave(serving(described, '"described"'));
  expect(await refresh()).toMatchObject({
    changed: ["/v1/flows/one"],
    removed: [],
    held_back: [{ endpoint: "/v1/flows/three" }, { endpoint: "/v1/flows/two" }],
  });
  expect(await get("/v1/flows/one")).toEqual([{ n: 1 }]);
  const accepted = [
    {
      kind: "column-removed",
      endpoint: "/v1/flows/two",
      subject: "m",
      before: "int null",
      reason: "nobody reads it",
    },
    { kind: "endpoint-removed", endpoint: "/v1/flows/three", reason: "a mistake" },
  ];
  // As some editors save it, and as `diff` reads it: with a byte order mark.
  writeFileSync(join(folder, ".routewright-accept.json"), `\uFEFF${JSON.stringify(accepted)}`);
  manifests.behave(serving({ ...(described as object), extra: 1 }, '"extra"'));
  expect(await refresh()).toMatchObject({
    changed: ["/v1/flows/two"],
    removed: ["/v1/flows/three"],
    held_back: [],
  });
  expect(await get("/v1/flows/two")).toEqual([{ n: 2 }]);
});

it("a broken accept file lets nothing through; a manifest without endpoints counts as broken", async () => {
  const { folder, manifests, refresh, get } = await guarded(["--guard"]);
  writeFileSync(join(folder, ".routewright-accept.json"), "{");
  expect(await refresh()).toMatchObject({ status: "error", detail: expect.stringContaining("accept") });
  manifests.behave(serving(NONE, '"none"'));
  expect(await refresh()).toMatchObject({ status: "error", detail: expect.stringContaining("no endpoint") });
  expect(await get("/v1/flows/two")).toEqual([{ n: 2, m: 3 }]);
});

it("an alias that moves to another table is held back, and so are columns that are no longer declared", async () => {
  const { manifests, refresh, get } = await guarded(["--guard"]);
  const moved = manifestOf([
    { ...model("one", "tier2", { n: "int" }, filtered), alias: "three" },
    model("two", "tier0", {}),
  ]);
  manifests.behave(serving(moved, '"moved"'));
  expect(await refresh()).toMatchObject({
    status: "unchanged",
    held_back: [
      { endpoint: "/v1/flows/two", changes: [expect.stringMatching(/^Columns no longer declared/)] },
      { endpoint: "/v1/flows/one", changes: [expect.stringMatching(/^Served from another relation/)] },
    ],
  });
  expect(await get("/v1/flows/two")).toEqual([{ n: 2, m: 3 }]);
});

it("a measure with another formula is held back: the total stays", async () => {
  const summing = (column: string) => ({
    ...model("two", "tier0", { n: "int", m: "int" }),
    routewright: { aggregate: { measures: { total: { agg: "sum", column } } } },
  });
  const { folder, manifests, refresh, get } = await guarded(["--guard"]);
  generateInto(join(folder, "generated"), manifestOf([summing("n")]));
  manifests.behave(serving(manifestOf([summing("n")]), '"n"'));
  await refresh();
  expect(await get("/v1/flows/two?measures=total")).toEqual([{ total: 2 }]);
  manifests.behave(serving(manifestOf([summing("m")]), '"m"'));
  expect(await refresh()).toMatchObject({
    held_back: [
      {
        endpoint: "/v1/flows/two",
        changes: [
          "Formula, filter or join changed: total: sum of n in two → sum of m in two. The same call returns numbers or groups that mean something else.",
        ],
      },
    ],
  });
  expect(await get("/v1/flows/two?measures=total")).toEqual([{ total: 2 }]);
});

it("lets a move through whose old path answers long enough, and holds back one that does not", async () => {
  const { command, manifests, refresh, get } = await guarded(["--guard"]);
  const movedTo = (sunset: string): unknown => ({
    ...(manifestOf([
      model("one", "tier2", { n: "int" }, filtered),
      {
        ...model("two", "tier0", { n: "int", m: "int" }),
        tags: ["production", "trips", "api:two"],
        routewright: { former_paths: [{ path: "/v1/flows/two", sunset }] },
      },
    ]) as object),
    sunset,
  });
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  manifests.behave(serving(movedTo(tomorrow), '"hasty"'));
  expect(await refresh()).toMatchObject({
    status: "unchanged",
    held_back: [{ endpoint: "/v1/flows/two", changes: [expect.stringMatching(/^Sunset without enough/)] }],
  });
  manifests.behave(serving(movedTo("2999-12-31"), '"moved"'));
  expect(await refresh()).toMatchObject({
    added: ["/v1/trips/two"],
    removed: [],
    held_back: [],
    warnings: [],
  });
  for (const path of ["/v1/flows/two", "/v1/trips/two"]) expect(await get(path)).toEqual([{ n: 2, m: 3 }]);
  expect((await fetch(`${command.url}/v1/flows/two`)).headers.get("sunset")).toMatch(/ 2999 /);
});
