import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { verify } from "../../generator/commands/verify.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { plainText } from "../../generator/report/report.js";
import { type CompareLimits, verifyRollUps } from "../../generator/verify/roll-ups.js";
import { clickhouseAddress } from "../../runtime/core/model/clickhouse-address.js";
import { rollUpManifest, rollUpTables } from "../metrics/roll-up-tables.js";
import { openWarehouse } from "../../runtime/server/server.js";
import { byEngine, engine, engineUrl, ownerQuery } from "../support/engines.js";
import { databaseUrl } from "../support/database.js";
import { ownFolder } from "../support/service.js";

const schema = await rollUpTables(200);

async function found(): Promise<readonly string[]> {
  const folder = ownFolder();
  const file = join(folder, "manifest.json");
  writeFileSync(file, JSON.stringify(rollUpManifest(schema)));
  const { output = "" } = await verify({
    revision: file,
    generated: join(folder, "generated"),
    cwd: folder,
    defaultTier: "tier0",
    databaseUrl: engine === "postgres" ? engineUrl() : null,
    clickhouse: engine === "clickhouse" ? clickhouseAddress(engineUrl()) : null,
    format: "json",
    failOn: "none",
    severities: { "unindexed-filter": "off" },
  });
  const { differences } = JSON.parse(output) as {
    readonly differences: readonly { readonly check: string; readonly message: string }[];
  };
  const ofRollUps = differences.filter(({ check }) => check.endsWith("roll-up"));
  return [...new Set(ofRollUps.map(({ check, message }) => `${check}: ${message}`))].sort();
}

/** The same within limits of time. */
async function foundWithin(schema: string, limits: CompareLimits): Promise<readonly string[]> {
  const reading = parseManifest(JSON.stringify(rollUpManifest(schema)), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const warehouse = await openWarehouse(engineUrl(), { rollUpVersion: () => "now" });
  try {
    const all = await verifyRollUps(catalogueOf(reading.value), warehouse, () => true, limits);
    return [...new Set(all.map(({ rule, message }) => `${rule}: ${plainText(message)}`))].sort();
  } finally {
    await warehouse.close();
  }
}

const update = (table: string, set: string, where: string, own = schema): Promise<unknown> =>
  ownerQuery(
    byEngine({
      postgres: `UPDATE ${own}.${table} SET ${set} WHERE ${where}`,
      clickhouse: `ALTER TABLE ${own}.${table} UPDATE ${set} WHERE ${where} SETTINGS mutations_sync = 1`,
    }),
  );

it("says where a roll-up has other totals or groups than the rows, and which is not read", async () => {
  expect(await found()).toEqual([]);
  await update("orders_by_month", "revenue_sum = 7", "country = 'CH' AND org_id = 'acme'");
  await ownerQuery(
    byEngine({
      postgres: `DELETE FROM ${schema}.orders_by_week WHERE org_id = 'other'`,
      clickhouse: `DELETE FROM ${schema}.orders_by_week WHERE org_id = 'other'`,
    }),
  );
  await ownerQuery(`ALTER TABLE ${schema}.orders_by_day DROP COLUMN customer_id`);
  const all = await found();
  expect(all).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^wrong-roll-up: The roll-up \S+orders_by_month" has other totals than the rows of "orders" in a group by "org_id", "country", "month": "revenue_sum"\.$/,
      ),
      expect.stringMatching(
        /^wrong-roll-up: The roll-up \S+orders_by_week" and the rows of "orders" have other groups by "org_id", "country", "week"\.$/,
      ),
      expect.stringMatching(/^unread-roll-up: The roll-up \S+orders_by_day" is not read: /),
    ]),
  );
});

it("compares the rows of a few groups where all of them take too long", async () => {
  const own = await rollUpTables(200);
  const some = { all: 0, some: 30_000 };
  expect(await foundWithin(own, some)).toEqual([]);
  const last = `(SELECT max(month) FROM ${own}.orders_by_month)`;
  await update("orders_by_month", "fee_sum = 7.5", `month = ${last}`, own);
  await ownerQuery(`DELETE FROM ${own}.orders_by_week WHERE week > '2026-05-01'`);
  await ownerQuery(`DELETE FROM ${own}.orders_by_day WHERE day < '2025-12-01'`);
  expect(await foundWithin(own, some)).toEqual([
    expect.stringMatching(/^wrong-roll-up: .*orders_by_day" and the rows of "orders" have other groups by /),
    expect.stringMatching(/^wrong-roll-up: .*orders_by_month" has other totals .*: "fee_sum"\.$/),
    expect.stringMatching(/^wrong-roll-up: .*orders_by_week" and the rows of "orders" have other groups by /),
  ]);
});

it("says which roll-up was not compared in time", async () => {
  const own = await rollUpTables(50);
  await ownerQuery(
    byEngine({
      postgres: `ALTER TABLE ${own}.orders RENAME TO stored`,
      clickhouse: `RENAME TABLE ${own}.orders TO ${own}.stored`,
    }),
  );
  const slowly = byEngine({ postgres: "(SELECT pg_sleep(3)) IS NOT NULL", clickhouse: "sleep(3) = 0" });
  await ownerQuery(`CREATE VIEW ${own}.orders AS SELECT * FROM ${own}.stored WHERE ${slowly}`);
  const all = await foundWithin(own, { all: 1000, some: 1000 });
  expect(all).toHaveLength(3);
  for (const each of all)
    expect(each).toMatch(
      /^uncompared-roll-up: The roll-up \S+ was not compared with the rows of "orders": .* takes too long\.$/,
    );
});

it.skipIf(engine !== "postgres")(
  "says which roll-up was not compared since dbt holds the lock of its rows",
  async () => {
    const own = await rollUpTables(50);
    const client = new pg.Client(databaseUrl);
    await client.connect();
    try {
      await client.query(`BEGIN; LOCK TABLE ${own}.orders IN ACCESS EXCLUSIVE MODE`);
      const all = await foundWithin(own, { all: 300, some: 300 });
      expect(all).toHaveLength(3);
      for (const each of all) expect(each).toMatch(/^uncompared-roll-up: /);
    } finally {
      await client.end();
    }
  },
);
