/** Models of a warehouse that no engine serves, copied into one that serves them: `engine` in the config file. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ServedEngine } from "../../../generator/catalogue/types/type-in-copy.js";
import { verify } from "../../../generator/commands/verify.js";
import { clickhouseAddress } from "../../../runtime/core/model/clickhouse-address.js";
import { clickhouseUrl, hasClickhouse, ownDatabase } from "../../support/clickhouse.js";
import { run } from "../../support/command.js";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, ownFolder, ownInstallation, startFolder } from "../../support/service.js";

const COLUMNS = {
  id: "NUMBER(38,0)",
  amount: "NUMBER(20,4)",
  paid_at: "TIMESTAMP_TZ(6)",
  tags: "ARRAY(VARCHAR)",
  isopen: "BOOLEAN",
};
const manifest = (schema: string): unknown =>
  manifestOf([{ name: "orders", schema, columns: COLUMNS }], { adapter_type: "snowflake" });

const ROW =
  '{"id":12345678901234567890123456789012345678,"amount":1234567890123456.7891,"paid_at":"2026-01-02T03:04:05.678901Z","tags":["a",null],"isopen":true}';

interface Copy {
  readonly engine: ServedEngine;
  readonly schema: string;
  readonly url: string;
}

async function copyIn(engine: ServedEngine): Promise<Copy> {
  const id = "12345678901234567890123456789012345678";
  if (engine === "postgres") {
    const schema = await ownSchema(
      `CREATE TABLE @.orders (id numeric(38,0), amount numeric(20,4), paid_at timestamptz, tags text[], isopen boolean);
       INSERT INTO @.orders VALUES (${id}, 1234567890123456.7891, '2026-01-02 03:04:05.678901Z', '{a,NULL}', true)`,
    );
    return { engine, schema, url: databaseUrl };
  }
  const schema = await ownDatabase([
    `CREATE TABLE @.orders (id Nullable(Decimal(38, 0)), amount Nullable(Decimal(20, 4)), paid_at Nullable(DateTime64(6, 'UTC')), tags Array(Nullable(String)), isopen Nullable(Bool)) ENGINE = MergeTree ORDER BY tuple()`,
    `INSERT INTO @.orders VALUES ('${id}', '1234567890123456.7891', '2026-01-02 03:04:05.678901', ['a', NULL], true)`,
  ]);
  return { engine, schema, url: clickhouseUrl() };
}

const copies = [await copyIn("postgres"), ...(hasClickhouse ? [await copyIn("clickhouse")] : [])];

describe.each(copies)("a copy of Snowflake's relations in $engine", ({ engine, schema, url }) => {
  it("is served exactly", async () => {
    const folder = join(ownFolder(), "generated");
    generateInto(folder, manifest(schema), { engine });
    const served = await startFolder(folder, { DATABASE_URL: url });
    const text = await (await fetch(`${served.url}/v1/shop/orders`)).text();
    expect(text.replaceAll(/:\s/g, ":").replace(/^\[\s*|\s*\]\s*$/g, "")).toBe(ROW);
  });

  it("shows the warehouse's types beside those that are served", () => {
    const folder = join(ownFolder(), "generated");
    generateInto(folder, manifest(schema), { engine });
    const module = readFileSync(join(folder, "routes/shop/orders.ts"), "utf8");
    expect(module).toMatch(
      /(?:Nullable\(Decimal\(38, 0\)\)|numeric\(38,0\) null).*, copied from NUMBER\(38,0\)/,
    );
    const { copiedFrom, endpoints } = JSON.parse(readFileSync(join(folder, "catalogue.json"), "utf8")) as {
      readonly copiedFrom: string;
      readonly endpoints: readonly { readonly columns: readonly { readonly sourceType: string }[] }[];
    };
    expect(copiedFrom).toBe("snowflake");
    expect(endpoints[0]?.columns.map(({ sourceType }) => sourceType)).toEqual(Object.values(COLUMNS));
  });

  it("has the columns that `verify` expects", async () => {
    const folder = ownFolder();
    const file = join(folder, "manifest.json");
    writeFileSync(file, JSON.stringify(manifest(schema)));
    const options = { revision: file, generated: join(folder, "generated"), cwd: folder };
    const { output = "" } = await verify({
      ...options,
      defaultTier: "tier0",
      engine,
      databaseUrl: engine === "postgres" ? url : null,
      clickhouse: engine === "clickhouse" ? clickhouseAddress(url) : null,
      format: "json",
      failOn: "none",
      severities: {},
    });
    const { differences } = JSON.parse(output) as { readonly differences: readonly { check: string }[] };
    expect(differences.filter(({ check }) => check !== "unindexed-filter")).toEqual([]);
  });
});

it("`generate` reads `engine` of the config file, and knows the types of the copy", async () => {
  const folder = ownFolder();
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest("shop")));
  const config = { manifest: "manifest.json", engine: "clickhouse" };
  writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(config));
  const { code, stdout, stderr } = await run(folder, ["generate"], {});
  expect({ code, text: stdout + stderr }).toEqual({ code: 0, text: expect.not.stringContaining("warning") });
  const openApi = await run(folder, ["config", "--json"], {});
  expect(JSON.parse(openApi.stdout)).toMatchObject({ engine: { value: "clickhouse" } });
});

it("`serve` without a database refuses models that no engine serves", async () => {
  const { code, stderr } = await run(ownInstallation(manifest("shop")), ["serve", "--only", "data"], {
    PORT: "0",
    USAGE_ENABLED: "false",
  });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining(
      "built by dbt-snowflake, which no engine of Routewright serves",
    ) as string,
  });
});
