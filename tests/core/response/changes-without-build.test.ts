import { describe, expect, it } from "vitest";
import { byEngine, engine, ownerQuery, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { startManifest } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";

/** A relation whose rows change without a build of dbt: what creates it, what changes its rows, what its node reads. */
interface Changing {
  readonly create: readonly string[];
  readonly change: string;
  readonly materialized?: string;
}

const POSTGRES: Readonly<Record<string, Changing>> = {
  table: { create: ["CREATE TABLE @.table AS SELECT 1 AS id"], change: "UPDATE @.table SET id = id + 1" },
  hard_coded_name: {
    create: [
      "CREATE TABLE @.fx_rates AS SELECT 1 AS rate",
      "CREATE VIEW @.hard_coded_name AS SELECT o.id * r.rate AS id FROM @.orders o, @.fx_rates r",
    ],
    change: "UPDATE @.fx_rates SET rate = rate + 1",
    materialized: "view",
  },
  clock: {
    create: [
      "CREATE FUNCTION @.ticks() RETURNS float8 LANGUAGE sql AS 'SELECT extract(epoch FROM clock_timestamp())::float8'",
      "CREATE VIEW @.clock AS SELECT @.ticks() AS id FROM @.orders",
    ],
    change: "SELECT pg_sleep(0.01)",
    materialized: "view",
  },
  refreshed: {
    create: [
      "CREATE TABLE @.counted AS SELECT 1 AS id",
      "CREATE MATERIALIZED VIEW @.refreshed AS SELECT count(*)::int AS id FROM @.counted",
    ],
    change: "INSERT INTO @.counted SELECT 1; REFRESH MATERIALIZED VIEW @.refreshed",
    materialized: "materialized_view",
  },
  partitioned: {
    create: [
      "CREATE TABLE @.partitioned (id int) PARTITION BY LIST (id)",
      "CREATE TABLE @.part PARTITION OF @.partitioned FOR VALUES IN (1)",
      "INSERT INTO @.partitioned VALUES (1)",
      "CREATE TABLE @.other AS SELECT 2 AS id",
    ],
    change: "ALTER TABLE @.partitioned ATTACH PARTITION @.other FOR VALUES IN (2)",
  },
};

const CLICKHOUSE: Readonly<Record<string, Changing>> = {
  table: {
    create: ["CREATE TABLE @.table ORDER BY id AS SELECT toInt32(1) AS id"],
    change: "INSERT INTO @.table VALUES (2)",
  },
  memory: {
    create: ["CREATE TABLE @.memory (id Int32) ENGINE = Memory", "INSERT INTO @.memory VALUES (1)"],
    change: "INSERT INTO @.memory VALUES (2)",
  },
  hard_coded_name: {
    create: [
      "CREATE TABLE @.fx_rates ORDER BY rate AS SELECT toInt32(2) AS rate",
      "CREATE VIEW @.hard_coded_name AS SELECT o.id * r.rate AS id FROM @.orders AS o, @.fx_rates AS r",
    ],
    change: "INSERT INTO @.fx_rates VALUES (3)",
    materialized: "view",
  },
  clock: {
    create: ["CREATE VIEW @.clock AS SELECT toUnixTimestamp64Nano(now64(9)) AS id FROM @.orders"],
    change: "SELECT 1",
    materialized: "view",
  },
  attached: {
    create: [
      "CREATE TABLE @.attached (id Int32) ORDER BY id",
      "INSERT INTO @.attached VALUES (1)",
      "CREATE TABLE @.spare (id Int32) ORDER BY id",
      "INSERT INTO @.spare VALUES (2)",
    ],
    change: "ALTER TABLE @.attached ATTACH PARTITION tuple() FROM @.spare",
  },
};

const RELATIONS = byEngine({ postgres: POSTGRES, clickhouse: CLICKHOUSE });
const creates = [
  "CREATE TABLE @.orders " +
    (engine === "clickhouse" ? "ORDER BY id AS SELECT toInt32(1)" : "AS SELECT 1") +
    " AS id",
  ...Object.values(RELATIONS).flatMap(({ create }) => create),
];
const schema = await ownTables({
  postgres: creates.join(";").replaceAll("@.table", '@."table"'),
  clickhouse: creates,
});

/** A service that knows the builds of all nodes. */
async function start(variables: Readonly<Record<string, string>> = {}) {
  const manifest = manifestOf([
    { name: "orders", schema, tags: [], materialized: "table" },
    ...Object.entries(RELATIONS).map(([name, { materialized = "table" }]) => ({
      name,
      schema,
      materialized,
      columns: { id: null },
      ...(materialized === "view" && { parents: ["model.test.orders"] }),
    })),
  ]);
  const service = await startManifest(manifest, variables);
  const names = ["orders", ...Object.keys(RELATIONS)];
  service.recordBuilds(names.map((name) => ({ node: `model.test.${name}`, completedAt: 1 })));
  return (name: string, tag = "") =>
    sendRequest(service.url, `/v1/shop/${name}`, { headers: { "if-none-match": tag } });
}

const changed = (name: string): Promise<unknown> =>
  ownerQuery((RELATIONS[name]?.change ?? "").replaceAll("@.table", '@."table"').replaceAll("@", schema));

describe("without the claim `changes: on_build`, a change without a build", () => {
  it.each(Object.keys(RELATIONS))("brings the new rows at once, under another tag: %s", async (name) => {
    const ask = await start();
    const before = await ask(name);
    await changed(name);
    const again = await ask(name, before.headers.etag);
    expect([again.status, before.status]).toEqual([200, 200]);
    expect(again.text).not.toBe(before.text);
    expect(again.headers.etag).not.toBe(before.headers.etag);
  });
});
