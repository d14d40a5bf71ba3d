import { describe, expect, it } from "vitest";
import { openClickhouse } from "../../runtime/warehouse/clickhouse/engine.js";
import { atEnd } from "../support/at-end.js";
import {
  clickhouse,
  clickhouseUrl,
  hasClickhouse,
  ownClickhouse,
  ownDatabase,
} from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { startManifest } from "../support/service.js";

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

const CACHING = { DATABASE_URL: clickhouseUrl(), CACHE_TTL_SECONDS: "3600" };

function open(url: string) {
  const warnings: string[] = [];
  const warehouse = openClickhouse({
    url,
    statementTimeoutMs: 30_000,
    warn: (_, message) => warnings.push(message),
  });
  atEnd(() => warehouse.close());
  let versions = 0;
  // A new version each time: the storage of an old one is looked up once a second.
  const storageOf = async (name: string, of = database): Promise<string | null | undefined> =>
    (await warehouse.columns([of, name], String(versions++)))[0]?.storage;
  return { storageOf, warnings };
}

describe.skipIf(!hasClickhouse)("the storage of a relation", () => {
  const { storageOf } = open(hasClickhouse ? clickhouseUrl() : "clickhouse://none");
  const NAMES = ["above", "joined", "facts"] as const;
  const all = (): Promise<readonly (string | null | undefined)[]> =>
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

  it("changes with the merges that change rows: duplicates, a TTL", async () => {
    const { storageOf: of } = open(clickhouseUrl());
    for (const [name, engine, row] of [
      ["replacing", "ReplacingMergeTree ORDER BY id", "(1, now() - 3)"],
      ["expiring", "MergeTree ORDER BY id TTL at + INTERVAL 1 SECOND", "(1, now() - 3)"],
    ] as const) {
      await clickhouse(
        `CREATE TABLE ${database}.${name} (id UInt64, at DateTime) ENGINE = ${engine} SETTINGS merge_with_ttl_timeout = 86400`,
      );
      await clickhouse(`SYSTEM STOP MERGES ${database}.${name}`);
      for (let i = 0; i < 2; i++) await clickhouse(`INSERT INTO ${database}.${name} VALUES ${row}`);
      const before = await of(name);
      await clickhouse(`SYSTEM START MERGES ${database}.${name}`);
      await clickhouse(`OPTIMIZE TABLE ${database}.${name} FINAL`);
      expect([name, before === (await of(name))]).toEqual([name, false]);
    }
  });

  it("changes with lightweight updates", async () => {
    await clickhouse(`CREATE TABLE ${database}.updated (id UInt64, v UInt64) ENGINE = MergeTree ORDER BY id
      SETTINGS enable_block_number_column = 1, enable_block_offset_column = 1`);
    await clickhouse(`INSERT INTO ${database}.updated VALUES (1, 1)`);
    const before = await storageOf("updated");
    await clickhouse(`UPDATE ${database}.updated SET v = 2 WHERE id = 1`, { enable_lightweight_update: "1" });
    expect(before).not.toBeNull();
    expect(await storageOf("updated")).not.toBe(before);
  });

  it("is there for what dbt's views are made of", async () => {
    await clickhouse(`CREATE VIEW ${database}.rich AS WITH last AS (SELECT max(id) AS id FROM ${database}.names)
      SELECT f.id AS id, toStartOfMonth(f.day) AS month, countIf(n.name LIKE '%now()%') OVER (PARTITION BY f.day) AS n, CASE WHEN f.id > 1 THEN 0.5 ELSE 1 END AS half,
        CAST(f.id AS Decimal(10, 2)) AS money, f.day + INTERVAL 1 DAY AS next, quantile(0.9)(f.id) AS q, sumMerge(s.total) AS total
      FROM ${database}.facts AS f LEFT JOIN ${database}.names AS n ON n.id = f.id, (SELECT id, sumState(id) AS total FROM ${database}.names GROUP BY id) AS s
      WHERE f.id IN (SELECT id FROM last) AND (f.id, f.id) IN ((1, 1)) AND EXISTS (SELECT 1) GROUP BY f.id, f.day, n.name`);
    expect(await storageOf("rich")).toEqual(expect.stringMatching(/^\w+$/));
  });

  it("changes with what dbt does: an exchange, delete and insert, an overwritten partition", async () => {
    expect(
      await changedBy(
        "CREATE TABLE @.facts_new AS @.facts",
        "INSERT INTO @.facts_new SELECT * FROM @.facts",
        "EXCHANGE TABLES @.facts AND @.facts_new",
      ),
    ).toEqual(NAMES);
    expect(await changedBy("DELETE FROM @.facts WHERE id = 2")).toEqual(NAMES);
    expect(await changedBy("ALTER TABLE @.facts ADD COLUMN day2 Date ALIAS day")).toEqual(NAMES);
    expect(await changedBy("ALTER TABLE @.facts DROP PARTITION '2026-01-01'")).toEqual(NAMES);
    expect(await changedBy("ALTER TABLE @.facts MODIFY COLUMN day2 Date ALIAS day + 1")).toEqual(NAMES);
    expect(await changedBy("CREATE OR REPLACE VIEW @.joined AS SELECT id, 'x' AS name FROM @.names")).toEqual(
      ["above", "joined"],
    );
  });
});

/** Relations whose rows can change while nothing that can be looked up does, and a statement for each that changes rows. */
const UNPROVEN: Readonly<Record<string, readonly [create: readonly string[], change: string]>> = {
  memory: [["CREATE TABLE @.memory (id UInt64) ENGINE = Memory"], "TRUNCATE TABLE @.memory"],
  tiny: [["CREATE TABLE @.tiny (id UInt64) ENGINE = TinyLog"], "TRUNCATE TABLE @.tiny"],
  merge: [["CREATE TABLE @.merge (id UInt64) ENGINE = Merge('@', '^memory$')"], "TRUNCATE TABLE @.memory"],
  merged: [["CREATE VIEW @.merged AS SELECT * FROM merge('@', '^memory$')"], "TRUNCATE TABLE @.memory"],
  buffered: [
    ["CREATE TABLE @.buffered AS @.other ENGINE = Buffer('@', 'other', 1, 10, 100, 10, 100, 10, 100)"],
    "INSERT INTO @.buffered VALUES (7)",
  ],
  dictionary: [
    [
      "CREATE TABLE @.labels (id UInt64, label String) ENGINE = MergeTree ORDER BY id",
      "CREATE DICTIONARY @.dict (id UInt64, label String) PRIMARY KEY id SOURCE(CLICKHOUSE(DB '@' TABLE 'labels')) LAYOUT(FLAT()) LIFETIME(0)",
      "CREATE VIEW @.dictionary AS SELECT id, dictGet('@.dict', 'label', id) AS label FROM @.facts",
    ],
    "SYSTEM RELOAD DICTIONARY @.dict",
  ],
  looked_up: [
    [
      "CREATE TABLE @.looked_up (id UInt64, label String ALIAS dictGet('@.dict', 'label', id)) ENGINE = MergeTree ORDER BY id",
    ],
    "SYSTEM RELOAD DICTIONARY @.dict",
  ],
  now: [["CREATE VIEW @.now AS SELECT id, now64() AS at FROM @.facts"], "SELECT 1"],
  hidden: [["CREATE VIEW @.hidden AS SELECT id FROM @.gone"], "SELECT 1"],
};

describe.skipIf(!hasClickhouse)("a relation of which nothing proves that its rows are the same", () => {
  const { storageOf } = open(hasClickhouse ? clickhouseUrl() : "clickhouse://none");

  it("has no storage", async () => {
    await clickhouse(`CREATE TABLE ${database}.gone (id UInt64) ENGINE = MergeTree ORDER BY id`);
    for (const [name, [create, change]] of Object.entries(UNPROVEN)) {
      for (const statement of [...create, change]) await clickhouse(statement.replaceAll("@", database));
      if (name === "hidden") await clickhouse(`DROP TABLE ${database}.gone SYNC`);
      expect([name, await storageOf(name)]).toEqual([name, null]);
    }
  });

  it("has none outside Atomic databases, where a table can be dropped and created unnoticed", async () => {
    const server = await ownClickhouse();
    await server.query("CREATE DATABASE plain ENGINE = Ordinary", {
      allow_deprecated_database_ordinary: "1",
    });
    await server.query("CREATE TABLE plain.facts (id UInt64) ENGINE = MergeTree ORDER BY id");
    expect(await open(server.url("plain", "api:secret")).storageOf("facts", "plain")).toBeNull();
  });

  it("has none for a role that may not read system.parts, and the log says so once", async () => {
    const server = await ownClickhouse();
    await server.query("CREATE DATABASE served ENGINE = Atomic");
    await server.query("CREATE TABLE served.facts (id UInt64) ORDER BY id");
    const { storageOf, warnings } = open(server.url("served", "narrow:secret"));
    expect([await storageOf("facts", "served"), await storageOf("facts", "served")]).toEqual([null, null]);
    expect(warnings).toEqual([expect.stringContaining("system.parts")]);
  });

  it("is neither cached nor answered with 304 before its query has run", async () => {
    const model = { name: "tiny2", schema: database, columns: { id: "UInt64" } };
    await clickhouse(`CREATE TABLE ${database}.tiny2 (id UInt64) ENGINE = TinyLog`);
    await clickhouse(`INSERT INTO ${database}.tiny2 VALUES (1)`);
    const manifest = manifestOf([{ ...model, materialized: "table" }], { adapter_type: "clickhouse" });
    const { url, recordBuilds } = await startManifest(manifest, CACHING);
    recordBuilds([{ node: "model.test.tiny2", completedAt: 1 }]);
    const ask = (tag = "") => fetch(`${url}/v1/shop/tiny2`, { headers: { "If-None-Match": tag } });
    const first = await ask();
    const tag = first.headers.get("etag") ?? "";
    expect([await first.json(), first.headers.get("x-data-as-of")]).toEqual([[{ id: 1 }], null]);
    expect((await ask(tag)).status).toBe(304);
    await clickhouse(`TRUNCATE TABLE ${database}.tiny2`);
    await clickhouse(`INSERT INTO ${database}.tiny2 VALUES (2)`);
    const second = await ask(tag);
    expect([second.status, await second.json()]).toEqual([200, [{ id: 2 }]]);
  });
});

describe.skipIf(!hasClickhouse)("a response of a table that is changed in place", () => {
  const model = { name: "above", schema: database, columns: { id: "UInt64" } };
  const manifest = manifestOf([{ ...model, materialized: "table" }], { adapter_type: "clickhouse" });

  it.each(["", "a run_results.json"])(
    "is cached no longer than a second, with versions of %j",
    async (results) => {
      const { url, recordBuilds } = await startManifest(manifest, CACHING);
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
