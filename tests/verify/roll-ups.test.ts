import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { verify } from "../../generator/commands/verify.js";
import { clickhouseAddress } from "../../runtime/core/model/clickhouse-address.js";
import { rollUpManifest, rollUpTables } from "../metrics/roll-up-tables.js";
import { byEngine, engine, engineUrl, ownerQuery } from "../support/engines.js";
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

const update = (table: string, set: string, where: string): Promise<unknown> =>
  ownerQuery(
    byEngine({
      postgres: `UPDATE ${schema}.${table} SET ${set} WHERE ${where}`,
      clickhouse: `ALTER TABLE ${schema}.${table} UPDATE ${set} WHERE ${where} SETTINGS mutations_sync = 1`,
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
        /^wrong-roll-up: The roll-up \S+orders_by_month" has other totals than the rows of "orders" where "org_id = acme", "country = CH", "month = \S+": "revenue_sum"\.$/,
      ),
      expect.stringMatching(
        /^wrong-roll-up: The roll-up \S+orders_by_week" and the rows of "orders" have other groups, first where "org_id = other", /,
      ),
      expect.stringMatching(/^unread-roll-up: The roll-up \S+orders_by_day" is not read: /),
    ]),
  );
});
