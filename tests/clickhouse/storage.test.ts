import { describe, expect, it } from "vitest";
import { clickhouseAddress } from "../../runtime/model/clickhouse-address.js";
import { openClickhouse } from "../../runtime/warehouse/clickhouse/clickhouse-warehouse.js";
import { atEnd } from "../support/at-end.js";
import {
  clickhouse,
  clickhouseUrl,
  hasClickhouse,
  ownClickhouse,
  ownDatabase,
} from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, ownFolder, startFolder } from "../support/service.js";

const database = await ownDatabase([
  "CREATE TABLE @.facts (id UInt64, day Date) ENGINE = MergeTree PARTITION BY day ORDER BY id",
  "INSERT INTO @.facts VALUES (1, '2026-01-01')",
  "CREATE TABLE @.names (id UInt64, name String) ENGINE = MergeTree ORDER BY id",
  "CREATE TABLE @.`odd.name` (id UInt64) ENGINE = MergeTree ORDER BY id",
  "CREATE TABLE @.other (id UInt64) ENGINE = MergeTree ORDER BY id",
  "CREATE VIEW @.joined AS SELECT f.id AS id, name FROM @.facts AS f LEFT JOIN @.names AS n ON n.id = f.id WHERE f.id NOT IN (SELECT id FROM @.`odd.name`)",
  "CREATE VIEW @.above AS SELECT id, (SELECT max(name) FROM @.joined) AS last FROM @.facts",
  "CREATE MATERIALIZED VIEW @.stored ENGINE = MergeTree ORDER BY id AS SELECT id FROM @.facts",
]);

function open(url: string) {
  const warnings: string[] = [];
  const limits = { tier0: 0, tier1: 0, tier2: 0, tier3: 0 };
  const warehouse = openClickhouse({
    address: clickhouseAddress(url)!,
    statementTimeoutMs: 30_000,
    streamTimeoutMs: limits,
    maxRowsRead: limits,
    poolSize: 4,
    streamPoolSize: 2,
    streamsPerCaller: 2,
    warn: (_, message) => warnings.push(message),
  });
  atEnd(() => warehouse.close());
  let versions = 0;
  // A new version each time: the storage of an old one is looked up once a second.
  const storageOf = async (name: string, of = database): Promise<string | undefined> =>
    (await warehouse.columns([of, name], String(versions++)))[0]?.storage;
  return { storageOf, warnings };
}

describe.skipIf(!hasClickhouse)("the storage of a relation", () => {
  const { storageOf } = open(hasClickhouse ? clickhouseUrl() : "clickhouse://none");
  const NAMES = ["above", "joined", "facts"] as const;
  const all = (): Promise<readonly (string | undefined)[]> =>
    Promise.all(NAMES.map((name) => storageOf(name)));
  /** The relations whose storage a statement changes. */
  const changedBy = async (...statements: readonly string[]): Promise<readonly string[]> => {
    const before = await all();
    for (const statement of statements) await clickhouse(statement.replaceAll("@", database));
    const after = await all();
    return NAMES.filter((_, i) => before[i] !== after[i]);
  };

  it("changes with the rows of each table beneath, through views, sub-queries and materialized views", async () => {
    const stored = await storageOf("stored");
    expect(await changedBy("INSERT INTO @.facts VALUES (2, '2026-01-02')")).toEqual(NAMES);
    expect(await storageOf("stored")).not.toBe(stored);
    expect(await changedBy("INSERT INTO @.names VALUES (1, 'one')")).toEqual(["above", "joined"]);
    expect(await changedBy("INSERT INTO @.`odd.name` VALUES (9)")).toEqual(["above", "joined"]);
  });

  it("stays through merges, reads and changes of other tables", async () => {
    await clickhouse(`INSERT INTO ${database}.facts VALUES (5, '2026-01-05')`);
    await clickhouse(`INSERT INTO ${database}.facts VALUES (6, '2026-01-05')`);
    const others = [
      "OPTIMIZE TABLE @.facts FINAL",
      "INSERT INTO @.other VALUES (1)",
      "SELECT count() FROM @.above",
    ];
    expect(await changedBy(...others)).toEqual([]);
  });

  it("changes with what dbt does: an exchange, delete and insert, an overwritten partition", async () => {
    expect(
      await changedBy(
        "CREATE TABLE @.facts_new AS @.facts",
        "INSERT INTO @.facts_new SELECT * FROM @.facts",
        "EXCHANGE TABLES @.facts AND @.facts_new",
      ),
    ).toEqual(["above", "joined", "facts"]);
    expect(await changedBy("DELETE FROM @.facts WHERE id = 2")).toEqual(["above", "joined", "facts"]);
    expect(await changedBy("ALTER TABLE @.facts DROP PARTITION '2026-01-01'")).toEqual([
      "above",
      "joined",
      "facts",
    ]);
    expect(await changedBy("CREATE OR REPLACE VIEW @.joined AS SELECT id, 'x' AS name FROM @.names")).toEqual(
      ["above", "joined"],
    );
  });
});

describe.skipIf(!hasClickhouse)("a role that may not read system.parts", () => {
  it("follows exchanged tables, and is named in the log", async () => {
    const server = await ownClickhouse();
    await server.query("CREATE DATABASE served ENGINE = Atomic");
    await server.query("CREATE TABLE served.facts (id UInt64) ORDER BY id");
    await server.query("CREATE TABLE served.facts2 (id UInt64) ORDER BY id");
    await server.query("CREATE VIEW served.above AS SELECT * FROM served.facts");
    const { storageOf, warnings } = open(server.url("served", "narrow:secret"));
    const before = await storageOf("above", "served");
    expect(warnings).toEqual([expect.stringContaining("SELECT on system.parts")]);
    expect(await storageOf("above", "served")).toBe(before);
    await server.query("EXCHANGE TABLES served.facts AND served.facts2");
    expect(await storageOf("above", "served")).not.toBe(before);
    expect(warnings).toHaveLength(1);
  });
});

describe.skipIf(!hasClickhouse)("a response of a table that is changed in place", () => {
  const model = {
    name: "above",
    schema: database,
    tags: ["production", "shop", "api:above"],
    columns: { id: "UInt64" },
  };
  const manifest = manifestOf([{ ...model, materialized: "table" }], { adapter_type: "clickhouse" });

  it.each(["", "a run_results.json"])(
    "is cached no longer than a second, with versions of %j",
    async (results) => {
      const folder = ownFolder();
      generateInto(folder, manifest);
      const { url, recordBuilds } = await startFolder(folder, {
        DATABASE_URL: clickhouseUrl(),
        CACHE_TTL_SECONDS: "3600",
      });
      if (results !== "") recordBuilds([{ node: "model.test.above", completedAt: 1 }]);
      const count = async (): Promise<number> =>
        ((await (await fetch(`${url}/v1/shop/above`)).json()) as unknown[]).length;
      const first = await count();
      expect(await count()).toBe(first);
      await clickhouse(`INSERT INTO ${database}.facts SELECT 100 + number, '2026-02-01' FROM numbers(3)`);
      await expect.poll(count).toBe(first + 3);
      // The moment without rows, in the middle of a delete_insert.
      await clickhouse(`ALTER TABLE ${database}.facts DELETE WHERE id >= 100 SETTINGS mutations_sync = 2`);
      await expect.poll(count).toBe(first);
      await clickhouse(`INSERT INTO ${database}.facts SELECT 100 + number, '2026-02-01' FROM numbers(5)`);
      await expect.poll(count).toBe(first + 5);
      const tag = (await fetch(`${url}/v1/shop/above`)).headers.get("etag") ?? "";
      expect((await fetch(`${url}/v1/shop/above`, { headers: { "If-None-Match": tag } })).status).toBe(304);
      await clickhouse(`ALTER TABLE ${database}.facts DELETE WHERE id >= 100 SETTINGS mutations_sync = 2`);
      const again = async (): Promise<number> =>
        (await fetch(`${url}/v1/shop/above`, { headers: { "If-None-Match": tag } })).status;
      await expect.poll(again).toBe(200);
    },
  );
});
