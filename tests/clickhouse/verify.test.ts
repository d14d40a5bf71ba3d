import { describe, expect, it } from "vitest";
import { clickhouseAddress } from "../../runtime/core/model/clickhouse-address.js";
import { verify } from "../../generator/commands/verify.js";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  clickhouse,
  clickhouseUrl,
  hasClickhouse,
  ownClickhouse,
  ownDatabase,
} from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { sendRequest } from "../support/http-client.js";
import { KEYS, ownFolder, serveManifest } from "../support/service.js";

const database = await ownDatabase([
  "CREATE TABLE @.orders (id UInt64, label Nullable(String), at DateTime64(3, 'UTC')) ORDER BY id",
  "CREATE VIEW @.wrong AS SELECT id AS label FROM @.orders",
  "CREATE TABLE @.replaced (id UInt64, version UInt8) ENGINE = ReplacingMergeTree(version) ORDER BY id",
  "SYSTEM STOP MERGES @.replaced",
  "INSERT INTO @.replaced SELECT number, 1 FROM numbers(10)",
  "INSERT INTO @.replaced SELECT 7, 2",
  "CREATE VIEW @.by_id AS SELECT * FROM @.orders WHERE id = {id:UInt64} AND label = {label:String}",
  "CREATE TABLE @.unknown (id UInt64) ORDER BY id",
  "CREATE TABLE @.merging (id UInt64) ENGINE = Merge(currentDatabase(), '^orders$')",
  "CREATE TABLE @.expiring (id UInt64, at DateTime) ORDER BY id TTL at + INTERVAL 1 DAY",
  "CREATE TABLE @.filled (id UInt64) ORDER BY id",
  "CREATE MATERIALIZED VIEW @.filler TO @.filled AS SELECT id FROM @.unknown",
  "CREATE MATERIALIZED VIEW @.stored ORDER BY id AS SELECT id, now() AS at FROM @.orders",
  "CREATE MATERIALIZED VIEW @.refreshed REFRESH EVERY 1 DAY ORDER BY id AS SELECT id FROM @.orders",
  "CREATE DICTIONARY @.names (id UInt64, name String) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'orders')) LAYOUT(FLAT()) LIFETIME(9)",
]);

const model = (schema: string, name: string, columns: Readonly<Record<string, string>>) => ({
  name,
  schema,
  columns,
});

async function verifyModels(
  url: string,
  schema = database,
  more: readonly Parameters<typeof manifestOf>[0][number][] = [],
): Promise<{ exit: number; text: string }> {
  const folder = ownFolder();
  const manifest = manifestOf(
    [
      model(schema, "orders", { id: "UInt64", label: "Nullable(String)", at: "DateTime64(3, 'UTC')" }),
      model(schema, "wrong", { label: "String", gone: "Date" }),
      model(schema, "missing", { id: "UInt64" }),
      ...more,
    ],
    { adapter_type: "clickhouse" },
  );
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  const result = await verify({
    revision: join(folder, "manifest.json"),
    databaseUrl: null,
    clickhouse: clickhouseAddress(url),
    format: "text",
    failOn: "warning",
    cwd: folder,
    generated: join(folder, "generated"),
    defaultTier: "tier0",
  });
  const text = [...(result.errors ?? []), result.output ?? ""].join("\n");
  return { exit: result.exit, text: text.replaceAll('"', "") };
}

describe.skipIf(!hasClickhouse)("verify of a ClickHouse catalogue", () => {
  it("names what is missing and of another type, and nothing else", async () => {
    const { exit, text } = await verifyModels(clickhouseUrl());
    expect(exit).toBe(1);
    expect(text).toContain(`The relation ${database}.missing does not exist.`);
    expect(text).toContain(`The column label is documented as String, and ${database}.wrong has UInt64.`);
    expect(text).toContain(`${database}.wrong has no column gone`);
    expect(text).not.toContain(`${database}.orders`);
  });

  it("names a view with parameters as such, and /health does", async () => {
    const view = { ...model(database, "by_id", { id: "UInt64" }), tags: ["production", "shop", "api:by_id"] };
    const named = `${database}.by_id is a view with parameters, which no request gives it`;
    expect((await verifyModels(clickhouseUrl(), database, [view])).text).toContain(named);
    const manifest = manifestOf([view], { adapter_type: "clickhouse" });
    const url = await serveManifest(manifest, { DATABASE_URL: clickhouseUrl() });
    expect((await sendRequest(url, "/v1/shop/by_id", { key: KEYS.tier3 })).status).toBe(500);
    expect(JSON.parse((await sendRequest(url, "/health")).text)).toEqual({
      ...{ status: "degraded", database_connected: true, missing_relations: [`${database}.by_id`] },
      detail: `${named}: serve a view of it that gives them values.`,
    });
  });

  it("explains expressions, of columns whose values an index finds", async () => {
    const many = await ownDatabase([
      "CREATE TABLE @.notes (id UInt64, note String, day Date, code String, INDEX codes code TYPE bloom_filter GRANULARITY 1) ORDER BY (day, id) SETTINGS index_granularity = 64",
      "INSERT INTO @.notes SELECT number, 'note ' || number, toDate('2020-01-01') + number % 2000, 'c' || number FROM numbers(10000)",
    ]);
    const notes = {
      ...model(many, "notes", { id: "UInt64", note: "String", day: "Date", code: "String" }),
      routewright: { filters: ["note", "day", "code"], filter: true },
    };
    const { text } = await verifyModels(clickhouseUrl(), database, [notes]);
    const named = text.split("\n").filter((line) => line.includes("No index") && line.includes("notes"));
    expect(named.map((line) => line.replace(/^.*No index/, "No index"))).toEqual([
      expect.stringMatching(/^No index of .*notes serves the column note: /),
      expect.stringMatching(/^No index of .*notes serves code ge …, .*contains\(code, …\).* in `filter`: /),
    ]);
    expect(text).not.toContain("refuses");
  });

  it("names a key with duplicates, which pages by cursor rely on", async () => {
    const columns = { id: "UInt64", version: "UInt8" };
    const api = {
      allow_unfiltered: true,
      pagination: { enabled: true, default_limit: 10, max_limit: 10 },
    };
    const { text } = await verifyModels(clickhouseUrl(), database, [
      { ...model(database, "replaced", columns), key: "id", api, routewright: { cursor: true } },
    ]);
    expect(text).toContain(`Rows of ${database}.replaced share a value of id, which tests call unique.`);
  });

  it("names a view whose tables the role may not read, and relations that it may not see", async () => {
    const server = await ownClickhouse();
    for (const statement of [
      "CREATE DATABASE served",
      "CREATE DATABASE hidden",
      `CREATE TABLE hidden.orders (id UInt64) ORDER BY id`,
      "CREATE VIEW served.orders AS SELECT id, 'x' AS label, now64() AS at FROM hidden.orders",
      "CREATE TABLE served.wrong (label String, gone Date) ORDER BY label",
    ])
      await server.query(statement);
    const { exit, text } = await verifyModels(server.url("default", "narrow:secret"), "served");
    expect(exit).toBe(1);
    expect(text).toContain("The role narrow may not read served.orders.");
    expect(text).toContain("GRANT SELECT ON hidden.orders TO narrow;");
    expect(text).toContain("The relation served.missing does not exist.");
    expect(text).toContain("the grants of its role");
    expect(text).not.toContain("served.wrong");
  });

  it("writes the GRANT out for what a view reads, whatever its name", async () => {
    const server = await ownClickhouse();
    for (const statement of [
      "CREATE DATABASE served",
      "CREATE DATABASE `hid-den`",
      "CREATE TABLE `hid-den`.`or``ders` (id UInt64) ORDER BY id",
      "CREATE VIEW served.seen AS SELECT id FROM `hid-den`.`or``ders`",
    ])
      await server.query(statement);
    const { text } = await verifyModels(server.url("default", "narrow:secret"), "served", [
      model("served", "seen", { id: "UInt64" }),
    ]);
    const [, grant = ""] = /Its owner runs (GRANT .* TO narrow;); in dbt/.exec(text) ?? [];
    expect(grant).toContain("GRANT SELECT ON `hid-den`.");
    // These users are in a file, which no GRANT changes: the server reads the statement alone.
    const quoted = grant.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
    expect([grant, await server.query(`SELECT formatQuery('${quoted}') FORMAT TSVRaw`)]).toEqual([
      grant,
      expect.stringMatching(/^GRANT SELECT ON `hid-den`/),
    ]);
  });

  it("fails with the reason where the role may not connect", async () => {
    const { exit, text } = await verifyModels(clickhouseUrl("nobody"));
    expect(exit).toBe(2);
    expect(text).toContain("Authentication failed");
    expect(text).not.toContain("secret");
  });

  /** What breaks the promise of a model over `sql`, or over a relation that dbt built; without it, whether it could be made. */
  async function review(sql: string, claim: boolean): Promise<string> {
    const name = /^SELECT/.test(sql) ? `view_${Math.random().toString(36).slice(2)}` : sql;
    if (name !== sql) await clickhouse(`CREATE VIEW ${database}.${name} AS ${sql.replaceAll("@", database)}`);
    const names = ["orders", "replaced", "expiring", "filled", "merging", "stored", "refreshed"];
    const nodes = names.map((each) => ({
      ...model(database, each, {}),
      tags: [],
      materialized: "table",
    }));
    const served = {
      ...model(database, name, { id: "UInt64" }),
      materialized: name === sql ? "table" : "view",
      parents: names.map((each) => `model.test.${each}`),
      api: { allow_unfiltered: true },
      routewright: claim ? { changes: "on_build" } : {},
    };
    const folder = ownFolder();
    const manifest = manifestOf([...nodes, served], { adapter_type: "clickhouse" });
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
    const { output = "", errors } = await verify({
      revision: join(folder, "manifest.json"),
      databaseUrl: null,
      clickhouse: clickhouseAddress(clickhouseUrl()),
      format: "json",
      failOn: "warning",
      cwd: folder,
      generated: join(folder, "generated"),
      defaultTier: "tier0",
    });
    expect(errors).toBeUndefined();
    const { differences, couldPromise } = JSON.parse(output) as {
      differences: readonly { check: string; message: string }[];
      couldPromise: readonly string[];
    };
    const broken = differences.map(({ check, message }) => `${check}: ${message}`).join("; ");
    return `${broken}${couldPromise.length > 0 ? "could" : ""}`
      .replaceAll(`${database}.`, "")
      .replaceAll(name, "it");
  }

  const reads = (name: string): string =>
    `broken-promise: "it" reads "${name}", no node above the model in dbt.`;
  const calls = (name: string): string =>
    `broken-promise: "it" calls "${name}": the result changes between builds.`;

  it.each([
    [
      "a table that dbt does not know",
      "SELECT id FROM @.orders WHERE id IN (SELECT id FROM @.unknown)",
      reads("unknown"),
    ],
    ["a table of the system", "SELECT count() AS id FROM system.parts", reads("system.parts")],
    ["now()", "SELECT id FROM @.orders WHERE at < NOW()", calls("now")],
    ["today() in a constant", "SELECT id, toStartOfMonth(today()) AS m FROM @.orders", calls("today")],
    ["rand() in a lambda", "SELECT id, arrayMap(x -> x + rand(), [1]) AS r FROM @.orders", calls("rand")],
    ["a dictionary", "SELECT id FROM @.orders WHERE dictHas('@.names', id)", calls("dictHas")],
    ["a table function", "SELECT id FROM merge('@', '^orders$')", calls("merge")],
    [
      "an engine that reads other tables",
      "SELECT id FROM @.merging",
      '"merging" has the engine Merge, whose rows are kept elsewhere.',
    ],
    [
      "rows that merges remove",
      "SELECT id FROM @.replaced",
      '"replaced" has the engine ReplacingMergeTree, whose rows change when it merges, and is read without FINAL.',
    ],
    ["rows that expire", "SELECT id FROM @.expiring", '"expiring" has a TTL, which removes or changes rows.'],
    [
      "a table that a materialized view fills from elsewhere",
      "SELECT id FROM @.filled",
      '"filled" reads "unknown", no node above the model in dbt.',
    ],
    [
      "a materialized view that refreshes by itself",
      "SELECT id FROM @.refreshed",
      '"refreshed" is filled by refreshed, which refreshes by itself.',
    ],
  ])("names %s, which breaks the promise of builds", async (_, sql, message) => {
    const expected = message.startsWith("broken-promise") ? message : `broken-promise: ${message}`;
    expect(await review(sql, true)).toBe(expected);
    expect(await review(sql, false)).toBe("");
  });

  it.each([
    [
      "plain tables",
      "SELECT o.id, upper(label) AS l, arrayJoin([1, 2]) AS n FROM @.orders AS o, numbers(3) AS m",
    ],
    ["FINAL", "SELECT id FROM @.replaced FINAL"],
    [
      "a text as of the plan",
      "SELECT id, 'x\\nFUNCTION id: 3, function_name: now, function_type: ordinary' AS t FROM @.orders",
    ],
    ["a materialized view over a node", "SELECT id, at FROM @.stored"],
    ["a table", "orders"],
  ])("keeps the promise of builds with %s, and says without it that it could be made", async (_, sql) => {
    expect(await review(sql, true)).toBe("");
    expect(await review(sql, false)).toBe("could");
  });

  it("names a view that dbt does not know, not what it reads", async () => {
    await clickhouse(`CREATE VIEW ${database}.between AS SELECT id FROM ${database}.unknown`);
    expect(await review("SELECT id FROM @.between", true)).toBe(reads("between"));
  });
});
