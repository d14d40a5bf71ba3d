import { describe, expect, it } from "vitest";
import { clickhouseAddress } from "../../runtime/model/clickhouse-address.js";
import { verify } from "../../generator/commands/verify.js";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { clickhouseUrl, hasClickhouse, ownClickhouse, ownDatabase } from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

const database = await ownDatabase([
  "CREATE TABLE @.orders (id UInt64, label Nullable(String), at DateTime64(3, 'UTC')) ORDER BY id",
  "CREATE VIEW @.wrong AS SELECT id AS label FROM @.orders",
  "CREATE TABLE @.replaced (id UInt64, version UInt8) ENGINE = ReplacingMergeTree(version) ORDER BY id",
  "SYSTEM STOP MERGES @.replaced",
  "INSERT INTO @.replaced SELECT number, 1 FROM numbers(10)",
  "INSERT INTO @.replaced SELECT 7, 2",
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
    expect(text).toContain("The role of DATABASE_URL may not read served.orders");
    expect(text).toContain("The relation served.missing does not exist.");
    expect(text).toContain("the grants of its role");
    expect(text).not.toContain("served.wrong");
  });

  it("fails with the reason where the role may not connect", async () => {
    const { exit, text } = await verifyModels(clickhouseUrl("nobody"));
    expect(exit).toBe(2);
    expect(text).toContain("Authentication failed");
    expect(text).not.toContain("secret");
  });
});
