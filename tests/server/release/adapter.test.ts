import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run, serve } from "../../support/command.js";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { manifestOf, type TestModel } from "../../support/manifest.js";
import { generateInto, KEYS, ownFolder, startFolder, ownInstallation } from "../../support/service.js";

const schema = await ownSchema("CREATE TABLE @.items AS SELECT 1 AS id");
const model: TestModel = { name: "items", schema, columns: {} };
const manifest = (adapter?: string): unknown => manifestOf([model], { adapter_type: adapter });

/** Nothing listens there: what is refused is refused before a connection. */
const CLICKHOUSE = "clickhouse://127.0.0.1:1/default";
const BUILT_BY_CLICKHOUSE =
  "The models are served from ClickHouse (dbt's adapter, or `engine`), and the database is PostgreSQL";
const BUILT_BY_POSTGRES =
  "The models are served from PostgreSQL (dbt's adapter, or `engine`), and the database is ClickHouse";

function repository(adapter: string): string {
  const folder = ownInstallation(manifest(adapter));
  return folder;
}

describe("models of an adapter that does not fit the database", () => {
  it.each([[[]], [["--workers", "2"]]])("`serve %s` refuses them at the start", async (flags) => {
    const { code, stdout, stderr } = await run(
      repository("clickhouse"),
      ["serve", "--only", "data", ...flags],
      { DATABASE_URL: databaseUrl, PORT: "0", USAGE_ENABLED: "false" },
    );
    expect({ code, text: stdout + stderr }).toEqual({
      code: 2,
      text: expect.stringContaining(BUILT_BY_CLICKHOUSE) as string,
    });
  });

  it.each([{ DATABASE_URL: CLICKHOUSE }, { CLICKHOUSE_URL: CLICKHOUSE }])(
    "PostgreSQL's are refused for %o",
    async (variables) => {
      const folder = join(repository("postgres"), "generated");
      await expect(startFolder(folder, variables)).rejects.toThrow(BUILT_BY_POSTGRES);
    },
  );

  it("`verify` refuses them", async () => {
    for (const [adapter, url, message] of [
      ["clickhouse", databaseUrl, BUILT_BY_CLICKHOUSE],
      ["postgres", CLICKHOUSE, BUILT_BY_POSTGRES],
    ] as const) {
      const { code, stderr } = await run(repository(adapter), ["verify"], { DATABASE_URL: url });
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) as string });
    }
  });

  it("a refresh to them fails, and the active release stays", async () => {
    const folder = repository("postgres");
    const file = join(folder, "manifest.json");
    writeFileSync(file, JSON.stringify(manifest("clickhouse")));
    const { url } = await serve(folder, ["--only", "data"], {
      DATABASE_URL: databaseUrl,
      DBT_MANIFEST_PATH: file,
      API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
      USAGE_ENABLED: "false",
    });
    const headers = { "X-API-Key": KEYS.tier3 };
    const response = await fetch(`${url}/v1/system/manifest/refresh`, { method: "POST", headers });
    expect(await response.json()).toMatchObject({
      status: "error",
      detail: expect.stringContaining(BUILT_BY_CLICKHOUSE) as string,
    });
    expect(await (await fetch(`${url}/v1/shop/items`)).json()).toEqual([{ id: 1 }]);
  });
});

it.each([undefined, "redshift"])("models of %s are served from PostgreSQL", async (adapter) => {
  const folder = join(ownFolder(), "generated");
  generateInto(folder, manifest(adapter));
  const { url } = await startFolder(folder);
  expect(await (await fetch(`${url}/v1/shop/items`)).json()).toEqual([{ id: 1 }]);
});
