import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { routewright } from "../commands/run.js";
import { ownDatabase, ownSchema, queryAt } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { recordedIn } from "../diff/recorded-usage.js";
import { ownFolder } from "../support/service.js";

/** A half more than an index is suggested for. */
const ROWS = 15_000;
const TABLE = (schema: string): string => `
  CREATE TABLE ${schema}.orders AS
    SELECT n::bigint AS id, date '2026-01-01' + n % 90 AS day, (ARRAY['open', 'paid', 'void'])[n % 3 + 1] AS status,
      'c' || n % 750 AS customer, md5(n::text) AS note, 'x'::text AS same, n::double precision AS amount
    FROM generate_series(1, ${String(ROWS)}) AS n;
  COMMENT ON COLUMN ${schema}.orders.customer IS 'Who buys.';
  ANALYZE ${schema}.orders;`;

const schema = await ownSchema("SELECT 1");
const YAML = [
  "version: 2",
  "models:",
  "  # All orders.",
  "  - name: orders",
  "    description: Orders.",
  "    config:",
  "      meta:",
  "        api:",
  "          allow_unfiltered: true # all may read",
  "          pagination: { enabled: true, default_limit: 100, max_limit: 1000 }",
  "    columns:",
  "      - name: status # one of three",
  "      - name: customer",
  "",
].join("\n");

/** A project with one model, whose `target/manifest.json` is as dbt would write it after the YAML. */
function project(
  routewright: object = {},
  more: object = {},
  { config = {}, semantics = {} }: { readonly config?: object; readonly semantics?: object } = {},
): string {
  const folder = ownFolder();
  mkdirSync(join(folder, "models"));
  mkdirSync(join(folder, "target"));
  writeFileSync(join(folder, "dbt_project.yml"), "name: test\n");
  writeFileSync(join(folder, "models/shop.yml"), YAML);
  const manifest = manifestOf(
    [
      {
        name: "orders",
        schema,
        key: "id",
        columns: {
          ...{ id: "bigint", day: "date", status: "text", customer: "text", note: "text" },
          ...{ same: "text", amount: "double precision" },
        },
        api: { allow_unfiltered: true, pagination: { enabled: true, default_limit: 100, max_limit: 1000 } },
        routewright,
        materialized: "table",
      },
    ],
    { dbt_version: "1.11.16" },
  ) as { nodes: Record<string, Record<string, unknown>> };
  Object.assign(manifest.nodes["model.test.orders"]?.["config"] ?? {}, config);
  Object.assign(manifest.nodes["model.test.orders"] ?? {}, {
    original_file_path: "models/orders.sql",
    patch_path: "test://models/shop.yml",
    ...more,
  });
  writeFileSync(join(folder, "target/manifest.json"), JSON.stringify({ ...manifest, ...semantics }));
  return folder;
}

/** A semantic model over the orders, and metrics of them. */
const SEMANTICS = {
  semantic_models: {
    "semantic_model.test.orders": {
      ...{ name: "orders", unique_id: "semantic_model.test.orders", label: "Orders" },
      depends_on: { nodes: ["model.test.orders"] },
      node_relation: { schema_name: schema, alias: "orders" },
      defaults: { agg_time_dimension: "day" },
      entities: [{ name: "order", type: "primary", expr: "id" }],
      dimensions: [
        { name: "day", type: "time", label: "Order day", type_params: { time_granularity: "day" } },
        { name: "note", type: "categorical", label: "Secret remarks", config: { meta: { pii: true } } },
      ],
      measures: [
        { name: "value", agg: "sum", expr: "amount", label: "Gross merchandise value" },
        { name: "customers", agg: "count_distinct", expr: "customer", label: "Buyers" },
      ],
    },
  },
  metrics: {
    "metric.test.purchases": {
      ...{ name: "purchases", unique_id: "metric.test.purchases", label: "Purchases", type: "simple" },
      type_params: { measure: { name: "value" } },
    },
    "metric.test.share": {
      ...{ name: "share", unique_id: "metric.test.share", label: "Market share", type: "derived" },
      type_params: { expr: "purchases", metrics: [{ name: "purchases" }] },
    },
  },
};

interface Found {
  readonly suggestions: readonly {
    readonly kind: string;
    readonly subject: string;
    readonly figures: readonly string[];
    readonly reason: string;
    readonly statement?: string;
  }[];
  readonly notes: readonly string[];
}

const run = (folder: string, address: string | null, ...flags: readonly string[]) =>
  routewright(
    folder,
    ["suggest", "--manifest", "target/manifest.json", ...flags],
    address === null ? {} : { DATABASE_URL: address },
  );

async function found(folder: string, address: string | null, ...flags: readonly string[]): Promise<Found> {
  const { exit, out, err } = await run(folder, address, "--format", "json", ...flags);
  expect([exit, err.includes("error:")], err).toEqual([0, false]);
  return JSON.parse(out) as Found;
}

const named = ({ suggestions }: Found): readonly string[] =>
  suggestions.map(({ kind, subject }) => `${kind} ${subject}`);

describe("routewright suggest", () => {
  it("reads YAML, tests and types where there is no database", async () => {
    const all = await found(project(), null);
    expect(named(all)).toEqual([
      "filters id",
      "filters day",
      "cursor cursor",
      "sort sort",
      "title Orders",
      "tier tier0",
    ]);
    expect(all.notes.join(" ")).toContain("Without the database");
  });

  it("proposes labels of the semantic layer as synonyms, and none that a search finds, or of what is private", async () => {
    const folder = project({}, {}, { semantics: SEMANTICS });
    const all = await found(folder, null);
    expect(named(all)).toContain("synonyms Gross merchandise value, Buyers, Purchases");
    expect((await run(folder, null, "--apply")).exit).toBe(0);
    expect(readFileSync(join(folder, "models/shop.yml"), "utf8")).toMatch(
      /synonyms:\n +- Gross merchandise value\n +- Buyers\n +- Purchases\n/,
    );
    const own = project({ synonyms: ["Gross merchandise value", "purchase"] }, {}, { semantics: SEMANTICS });
    expect(named(await found(own, null))).toContain("synonyms Buyers");
  });

  it("reads statistics, comments and plans where there is one, and calls estimates so", async () => {
    const { databaseUrl } = await import("../support/database.js");
    await queryAt(databaseUrl, TABLE(schema));
    const all = await found(project(), databaseUrl);
    expect(named(all)).toEqual([
      "filters id",
      "filters day",
      "filters status",
      "filters customer",
      "cursor cursor",
      "sort sort",
      "changes changes",
      "accepted-values status",
      "title Orders",
      "description customer",
      "tier tier0",
      "index day",
      "index id",
      "index customer",
    ]);
    const of = (name: string) => all.suggestions.find(({ kind, subject }) => `${kind} ${subject}` === name);
    expect(of("filters customer")?.figures.join()).toMatch(
      /about 7\d\d different values in about 15,000 rows.*\(estimate\)/,
    );
    expect(of("index customer")?.figures.join()).toMatch(
      /about 15,000 rows are read, with an index about 2\d \(estimate\)/,
    );
    expect(of("description customer")?.reason).toContain("the database's comment");
  });

  it("writes the YAML beside comments, and a second run suggests nothing of it", async () => {
    const { databaseUrl } = await import("../support/database.js");
    const folder = project();
    expect((await run(folder, databaseUrl, "--apply")).exit).toBe(0);
    const text = readFileSync(join(folder, "models/shop.yml"), "utf8");
    expect(text).toContain("  # All orders.\n  - name: orders\n");
    expect(text).toContain(
      "- name: status # one of three\n        data_tests:\n          - accepted_values:\n",
    );
    expect(text).toMatch(/filters:\n +- id\n +- day\n +- status\n +- customer\n/);
    expect(text).toMatch(/indexes:\n +- columns:\n +- day\n +- columns:\n +- id\n/);
    expect(named(await found(folder, databaseUrl))).toEqual([]);
  });

  it("measures indexes in another database, leaves out those that help nobody, and leaves nothing there", async () => {
    const { databaseUrl } = await import("../support/database.js");
    const other = await ownDatabase();
    await queryAt(other, `CREATE SCHEMA ${schema}`);
    await queryAt(other, TABLE(schema));
    const all = await found(project(), databaseUrl, "--try", other);
    const index = all.suggestions.find(({ kind, subject }) => kind === "index" && subject === "customer");
    expect(index?.figures.join()).toMatch(
      /measured, median of 5: 15,000 rows in [\d.]+ ms before, 20 rows in [\d.]+ ms after/,
    );
    const left = await queryAt(
      other,
      `SELECT count(*)::int AS n FROM pg_indexes WHERE schemaname = '${schema}'`,
    );
    expect(left).toEqual([{ n: 0 }]);
    expect((await run(project(), databaseUrl, "--try", databaseUrl)).err).toContain(
      "--try names the serving database",
    );
  });

  it("has an index of trigrams for texts that expressions look into, and measures it", async () => {
    // The shared database may have the extension in a schema that the statement names.
    const served = await ownDatabase();
    const other = await ownDatabase();
    for (const url of [served, other])
      await queryAt(url, `CREATE SCHEMA ${schema}; CREATE EXTENSION pg_trgm; ${TABLE(schema)}`);
    const settings = { filters: ["note", "status"], filter: true };
    const all = await found(project(settings), served, "--try", other);
    const index = all.suggestions.find(({ subject }) => subject === "texts in note");
    expect(index).toMatchObject({
      kind: "index",
      statement: `CREATE INDEX ON "${schema}"."orders" USING gin ("note" gin_trgm_ops)`,
    });
    expect(index?.figures.join()).toMatch(/: 15,000 rows in [\d.]+ ms before, 1 rows in [\d.]+ ms after/);
    // Three values.
    expect(named(all)).not.toContain("index texts in status");
    expect(named(await found(project({ ...settings, filter: undefined }), served))).not.toContain(
      "index texts in note",
    );
    const indexes = [{ columns: ["note gin_trgm_ops"], type: "gin" }];
    const declared = await found(project(settings, {}, { config: { indexes } }), served);
    expect(named(declared)).not.toContain("index texts in note");
  });

  it("measures the first page in its order, and names columns that have one direction", async () => {
    const { databaseUrl } = await import("../support/database.js");
    const other = await ownDatabase();
    await queryAt(other, `CREATE SCHEMA ${schema}`);
    await queryAt(other, TABLE(schema));
    const sortedBy = (...sort: readonly (readonly [string, string])[]) => {
      const meta = {
        api: {
          allow_unfiltered: true,
          pagination: { enabled: true, default_limit: 100, max_limit: 1000 },
          sort: sort.map(([column, direction]) => ({ column, direction })),
        },
      };
      return project({}, { config: { materialized: "table", meta } });
    };
    const indexIn = async (folder: string) =>
      (await found(folder, databaseUrl, "--try", other)).suggestions.find(({ kind }) => kind === "index");
    const amount = await indexIn(sortedBy(["amount", "DESC"]));
    expect(amount).toMatchObject({
      subject: "amount",
      reason: "each page by amount reads and sorts the whole relation (EXPLAIN)",
    });
    expect(amount?.figures.join()).toMatch(
      /about 15,000 rows are read, with an index about 101 \(estimate\),measured, median of 5: 15,000 rows in [\d.]+ ms before, 101 rows in/,
    );
    const both = await indexIn(sortedBy(["status", "DESC"], ["note", "DESC"], ["id", "ASC"]));
    expect(both?.subject).toBe("status, note");
    expect(both?.figures.join()).toMatch(/ 10\d rows in [\d.]+ ms after/);
    // Three values: each has 5,000 rows to sort.
    expect((await indexIn(sortedBy(["status", "DESC"], ["id", "ASC"])))?.subject).not.toContain("status");
  });

  it("says how many requests of those with a shape filter by nothing", async () => {
    const route = "/v1/shop/orders";
    const shapes = new Map([
      ["GET json tier0 limit", 30],
      ["GET json tier0", 5],
    ]);
    const usage = await recordedIn([{ route, requests: 40, shapes }]);
    const { suggestions } = await found(project(), usage);
    expect(suggestions.find(({ kind }) => kind === "filters")?.figures).toContain(
      "35 of 40 requests of 30 days filtered by nothing",
    );
  });

  it("says that it needs the types of columns, where nothing names them", async () => {
    const columns = { day: { name: "day" } };
    const { notes } = await found(project({}, { columns }), null);
    expect(notes.join(" ")).toContain("Without types of columns, of 1 endpoint: run `dbt docs generate`");
  });

  it("touches no setting that stands in a folder or in SQL", async () => {
    const { out, err } = await run(project({ synonyms: ["sales"] }), null);
    expect(err).toContain("by itself: edit it by hand");
    expect(out).toContain("+         - tier0");
    expect(out.split("\n").filter((line) => /^\+.*(title|filters|cursor)/.test(line))).toEqual([]);
    expect(await run(ownFolder(), null)).toMatchObject({ exit: 2 });
  });

  it("follows no link out of the project", async () => {
    const [folder, other] = [project(), ownFolder()];
    writeFileSync(join(other, "shop.yml"), YAML);
    rmSync(join(folder, "models"), { recursive: true });
    symlinkSync(other, join(folder, "models"));
    const { exit, err } = await run(folder, null, "--apply");
    expect([exit, err]).toEqual([0, expect.stringContaining("models/shop.yml is outside of the project")]);
    expect(readFileSync(join(other, "shop.yml"), "utf8")).toBe(YAML);
  });

  it("suggests nothing for a private column, and nothing that would skip the model", async () => {
    const columns = {
      secret: { name: "secret", data_type: "date", meta: { pii: true } },
      limit: { name: "limit", data_type: "date" },
    };
    const all = await found(project({}, { columns }), null);
    expect(named(all).filter((name) => name.startsWith("filters"))).toEqual([]);
  });
});
