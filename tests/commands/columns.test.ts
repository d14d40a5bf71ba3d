import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { byEngine, engineUrl, ownTables } from "../support/engines.js";
import { filesIn } from "../support/files.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";
import { routewright } from "./run.js";

const schema = await ownTables({
  postgres: `CREATE TABLE @.orders (id bigint NOT NULL, label varchar(20), org_id text, secret text);
    COMMENT ON COLUMN @.orders.label IS 'What "it" is.'`,
  clickhouse: [
    `CREATE TABLE @.orders (id Int64, label Nullable(String) COMMENT 'What "it" is.', org_id String, secret String) ORDER BY id`,
  ],
});
const TYPES = byEngine({
  postgres: {
    id: { type: "bigint", notNull: true },
    label: { type: "character varying(20)" },
    org_id: { type: "text" },
    secret: { type: "text" },
  },
  clickhouse: {
    id: { type: "Int64", notNull: true },
    label: { type: "Nullable(String)" },
    org_id: { type: "String", notNull: true },
    secret: { type: "String", notNull: true },
  },
});

const environment = { DATABASE_URL: engineUrl() };
function project(): string {
  const folder = ownFolder();
  const rows = { column: "org_id", equals: "org" };
  const models = [
    { name: "orders", schema, columns: { id: null, label: null }, routewright: { rows } },
    { name: "absent", schema, columns: { id: null } },
    { name: "other", schema, alias: "orders", tags: [] },
  ];
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf(models)));
  const config = { manifest: "manifest.json", columns: "columns.json" };
  writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(config));
  return folder;
}

describe("columns pull", () => {
  it("writes what the database says of published models, which then types them", async () => {
    const folder = project();
    const before = await routewright(folder, ["generate"], environment);
    // The setting names a column that nothing lists yet.
    expect(before).toMatchObject({ exit: 2, err: expect.stringContaining("columns.json") as string });
    const pulled = await routewright(folder, ["columns", "pull"], environment);
    expect(pulled).toEqual({
      exit: 0,
      out: "columns.json: 1 relation; written\n",
      err: `The database has no relation ${schema}.absent, of model.test.absent.\n`,
    });
    const comment = 'What "it" is.';
    expect(JSON.parse(readFileSync(join(folder, "columns.json"), "utf8"))).toMatchObject({
      columns: {
        "model.test.orders": [
          { name: "id", ...TYPES.id },
          { name: "label", ...TYPES.label, comment },
          { name: "org_id", ...TYPES.org_id },
          { name: "secret", ...TYPES.secret },
        ],
      },
    });
    expect((await routewright(folder, ["generate"], environment)).exit).toBe(0);
    const module = filesIn(join(folder, "generated"))["routes/shop/orders.ts"] ?? "";
    expect(module).toContain(`  /** What "it" is`);
    expect(module).toContain("  label: string | null;");
    expect(module).not.toContain("secret");
  });

  it("with --check tells whether the database differs, and writes nothing", async () => {
    const folder = project();
    await routewright(folder, ["columns", "pull"], environment);
    const check = ["columns", "pull", "--check"];
    expect(await routewright(folder, check, environment)).toMatchObject({ exit: 0 });
    const file = join(folder, "columns.json");
    writeFileSync(file, readFileSync(file, "utf8").replace("org_id", "org"));
    const edited = readFileSync(file, "utf8");
    expect(await routewright(folder, check, environment)).toMatchObject({
      exit: 1,
      out: "columns.json: 1 relation; differs from the database: run `routewright columns pull`\n",
    });
    expect(readFileSync(file, "utf8")).toBe(edited);
  });
});
