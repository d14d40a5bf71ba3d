import { expect, it } from "vitest";
import { byEngine, ownerQuery, ownTables } from "../../support/engines.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";

const key = KEYS.tier3;
const HOUR = 3_600_000;
const ago = (hours: number): string =>
  byEngine({
    postgres: `now() - interval '${String(hours)} hours'`,
    clickhouse: `now64(3) - toIntervalHour(${String(hours)})`,
  });
const TODAY = new Date().toISOString().slice(0, 10);
const rowsOf = (...hours: readonly number[]): string =>
  hours.map((each, i) => `SELECT ${String(i)} AS id, ${ago(each)} AS loaded`).join(" UNION ALL ");
const NAMES = ["zoned", "local", "days", "filtered", "queried", "empty", "wrong", "texts"] as const;
const tables = {
  zoned: rowsOf(50, 2),
  local: byEngine({
    postgres: "SELECT 1 AS id, (now() - interval '2 hours') AT TIME ZONE 'UTC' AS loaded",
    clickhouse: "SELECT 1 AS id, toDateTime(now() - toIntervalHour(2), 'Asia/Kolkata') AS loaded",
  }),
  days: byEngine({
    postgres: `SELECT 1 AS id, date '${TODAY}' AS loaded`,
    clickhouse: `SELECT 1 AS id, toDate('${TODAY}') AS loaded`,
  }),
  filtered: rowsOf(5, 2),
  queried: rowsOf(5, 2),
  empty: `SELECT * FROM (${rowsOf(2)}) AS t WHERE id = 7`,
  wrong: rowsOf(2),
  texts: "SELECT 1 AS id, 'yesterday' AS loaded",
};
const schema = await ownTables({
  postgres: NAMES.map((name) => `CREATE TABLE @.${name} AS ${tables[name]}`).join("; "),
  clickhouse: NAMES.map((name) => `CREATE TABLE @.${name} ORDER BY tuple() AS ${tables[name]}`),
});

const DAY = { error_after: { count: 1, period: "day" } };
const FIELD = { freshness: DAY, loaded_at_field: "loaded" };
const config: Readonly<Record<(typeof NAMES)[number] | "elsewhere", object>> = {
  ...{ zoned: FIELD, local: FIELD, days: FIELD, empty: FIELD, texts: FIELD },
  filtered: { freshness: { ...DAY, filter: "id < 1" }, loaded_at_field: "loaded" },
  queried: {
    freshness: DAY,
    loaded_at_query: "select max(loaded) as last\nfrom {{ this }} where id < 1;\n",
  },
  wrong: { freshness: DAY, loaded_at_field: "no_such_column" },
  elsewhere: { freshness: DAY, loaded_at_query: "select max(loaded) from other.relation" },
};
const manifest = manifestOf(
  Object.keys(config).map((name) => ({
    ...{ name, schema, alias: name === "elsewhere" ? "zoned" : name, materialized: "table" },
    columns: { id: byEngine({ postgres: "integer", clickhouse: "UInt8" }) },
    routewright: { require_fresh: true },
  })),
) as { nodes: Record<string, { config: object }> };
for (const [name, more] of Object.entries(config))
  Object.assign(manifest.nodes[`model.test.${name}`]?.config ?? {}, more);

const { url, recordBuilds } = await startManifest(manifest);

const read = (name: string, search = "") => sendRequest(url, `/v1/shop/${name}${search}`, { key });
/** The state and the hours that are left; null: nobody knows. */
async function stateOf(name: string) {
  const header = (await read(name)).headers["x-data-freshness"] ?? "";
  const [, state = "", due = ""] = /^(\w+);due="(.*)"$/.exec(String(header)) ?? [];
  return state === "" ? null : [state, Math.round((Date.parse(due) - Date.now()) / HOUR)];
}

it.each([
  ["zoned", 22],
  ["local", 22],
  ["filtered", 19],
  ["queried", 19],
] as const)("the database says when the rows of %s were loaded", async (name, hours) => {
  await expect.poll(() => stateOf(name)).toEqual(["ok", hours]);
  expect((await read(name, "?require_fresh=true")).status).toBe(200);
});

it("a day is its start in UTC", async () => {
  const due = async () => (await read("days")).headers["x-data-freshness"];
  const midnight = new Date(Date.parse(TODAY) + 24 * HOUR).toISOString();
  await expect.poll(due).toContain(`;due="${midnight}"`);
});

it("what the database cannot say is not known, and never fresh", async () => {
  await expect.poll(() => stateOf("queried")).not.toBeNull();
  for (const name of ["wrong", "texts", "elsewhere"]) {
    expect([name, await stateOf(name)]).toEqual([name, null]);
    expect((await read(name, "?require_fresh=true")).status).toBe(503);
  }
  // Without rows ClickHouse's greatest time of a column without nulls is that of 1970.
  await expect
    .poll(async () => (await stateOf("empty"))?.[0] ?? null)
    .toBe(byEngine({ postgres: null, clickhouse: "error" }));
});

it("is asked once per build, and no request asks", async () => {
  await expect.poll(() => stateOf("zoned")).toEqual(["ok", 22]);
  const table = `"${schema}".zoned`;
  await ownerQuery(`INSERT INTO ${table} SELECT 9, ${ago(0)}`);
  for (let i = 0; i < 20; i++) {
    expect(await stateOf("zoned")).toEqual(["ok", 22]);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  recordBuilds([{ node: "model.test.zoned", completedAt: Date.now() }]);
  await expect.poll(() => stateOf("zoned")).toEqual(["ok", 24]);
});

it("a statement that fails after a build takes back what was known", async () => {
  await expect.poll(() => stateOf("local")).toEqual(["ok", 22]);
  await ownerQuery(`ALTER TABLE "${schema}".local RENAME COLUMN loaded TO other`);
  recordBuilds([{ node: "model.test.local", completedAt: Date.now() }]);
  await expect.poll(() => stateOf("local")).toBeNull();
});
