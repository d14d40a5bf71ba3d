import { describe, expect, it } from "vitest";
import { clickhouseAddress } from "../../runtime/model/clickhouse-address.js";
import { verify } from "../../generator/commands/verify.js";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

const database = await ownDatabase([
  "CREATE TABLE @.orders (id UInt64, label Nullable(String), at DateTime64(3, 'UTC')) ORDER BY id",
  "CREATE VIEW @.wrong AS SELECT id AS label FROM @.orders",
]);

const model = (name: string, columns: Readonly<Record<string, string>>) => ({
  name,
  schema: database,
  tags: ["production", "shop", `api:${name}`],
  columns,
});

async function verifyModels(url: string): Promise<{ exit: number; text: string }> {
  const folder = ownFolder();
  const manifest = manifestOf(
    [
      model("orders", { id: "UInt64", label: "Nullable(String)", at: "DateTime64(3, 'UTC')" }),
      model("wrong", { label: "String", gone: "Date" }),
      model("missing", { id: "UInt64" }),
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

  it("fails with the reason where the role may not connect", async () => {
    const { exit, text } = await verifyModels(clickhouseUrl("nobody"));
    expect(exit).toBe(2);
    expect(text).toContain("Authentication failed");
    expect(text).not.toContain("secret");
  });
});
