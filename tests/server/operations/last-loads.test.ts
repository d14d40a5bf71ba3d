import { expect, it, vi } from "vitest";
import { BuildRecords } from "../../../runtime/core/warehouse/data-versions.js";
import { openPostgres } from "../../../runtime/postgres/engine.js";
import { LastLoads } from "../../../runtime/server/operations/last-loads.js";
import { atEnd } from "../../support/at-end.js";
import { setClockBack } from "../../support/clock.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";

const NODE = "model.test.orders";

/** Looks at a table each time that the returned function is called; `loaded` is what is known then. */
async function watched(latest: string, errorAfter: number, pauseMs: number) {
  const schema = await ownSchema("CREATE TABLE @.orders (loaded timestamptz)");
  const warehouse = openPostgres({ url: databaseUrl, statementTimeoutMs: 0, warn: () => undefined });
  const builds = new BuildRecords();
  const warnings: object[] = [];
  const spec = {
    path: "/v1/shop/orders",
    relation: [schema, "orders"] as const,
    lastLoad: { latest },
    freshness: { errorAfter },
  };
  const current = {
    endpoints: new Map([[spec.path, { spec }]]),
    rowNodes: new Map([[spec.path, [NODE]]]),
  };
  const log = { warn: (fields: object) => warnings.push(fields) };
  const loads = new LastLoads({ active: { current }, builds, warehouse, log, pauseMs });
  atEnd(() => loads.close().then(() => warehouse.close()));
  await loads.check();
  /** Resolves with the time, in milliseconds. */
  const load = async (secondsAgo: number): Promise<number> => {
    const at = new Date(Date.now() - secondsAgo * 1000);
    await query(`INSERT INTO ${schema}.orders VALUES ($1)`, [at]);
    return at.getTime();
  };
  const loaded = async (): Promise<number | null> => {
    await loads.check();
    return builds.checks.get(NODE)?.loadedAt ?? null;
  };
  return { load, loaded, builds, warnings };
}

it("asks again when the bound has passed, not before", async () => {
  const { load, loaded, builds } = await watched("max(loaded)", 100, 0);
  const first = await load(75);
  builds.record([{ node: NODE, completedAt: 1 }]);
  expect(await loaded()).toBe(first);
  const second = await load(0);
  expect(await loaded()).toBe(first);
  // Clocks that differ by more than half a minute would not be taken for equal.
  vi.useFakeTimers({ toFake: ["Date"], now: first + 101_000 });
  atEnd(() => void vi.useRealTimers());
  await expect.poll(loaded).toBe(second);
});

it("waits a minute while rows stay late or unknown, and says once what failed", async () => {
  const { load, loaded, warnings } = await watched("max(nothing)", 100, 60_000);
  expect(await loaded()).toBeNull();
  await load(0);
  expect(await loaded()).toBeNull();
  expect(warnings).toHaveLength(1);
  const late = await watched("max(loaded)", 1, 60_000);
  const known = await late.load(500);
  expect(await late.loaded()).toBeNull();
  late.builds.record([{ node: NODE, completedAt: 1 }]);
  expect(await late.loaded()).toBe(known);
  await late.load(0);
  expect(await late.loaded()).toBe(known);
});

it("goes by the clock of the machine as it is, though it is set back", async () => {
  const { load, loaded, builds } = await watched("max(loaded)", 1000, 60_000);
  const known = await load(500);
  builds.record([{ node: NODE, completedAt: 1 }]);
  expect(await loaded()).toBe(known);
  setClockBack(3_600_000);
  const age = (Date.now() - ((await loaded()) ?? NaN)) / 1000;
  expect(Math.abs(age - 500)).toBeLessThan(60);
});

it.each([
  ["reads another relation", "max(loaded + (SELECT 1) * interval '1 s')"],
  ["takes longer than 10 s", "max(loaded + pg_sleep(60)::text::interval)"],
])("an expression that %s says nothing", async (_, latest) => {
  const { load, loaded, builds } = await watched(latest, 100, 0);
  await load(1);
  builds.record([{ node: NODE, completedAt: 1 }]);
  expect(await loaded()).toBeNull();
});
