import { describe, expect, it } from "vitest";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { type Reply, sendRequest } from "../support/http-client.js";

/** Each `id` four times, one of them 40 times: what an incremental model has until ClickHouse has merged its parts. */
const INSERTS = [0, 1, 2, 3].map(
  (version) =>
    `INSERT INTO @.replaced SELECT number % 50 AS id, ${String(version)} AS version, if(id % 3 = 0, NULL, id % 7) AS grp,
     if(id % 5 = 0, nan, id / 8) AS score FROM numbers(50)`,
);
const tcpPort = hasClickhouse ? (await clickhouse("SELECT tcpPort()")).trim() : "";
const database = await ownDatabase([
  `CREATE TABLE @.replaced (id UInt32, version UInt32, grp Nullable(Int32), score Float64) ENGINE = ReplacingMergeTree(version) ORDER BY id`,
  "SYSTEM STOP MERGES @.replaced",
  ...INSERTS,
  "INSERT INTO @.replaced SELECT 26, number + 10, 5, 3.25 FROM numbers(36) SETTINGS optimize_on_insert = 0",
  `CREATE TABLE @.times (id UInt32, t Nullable(Time64(3)), s Time) ORDER BY id`,
  `INSERT INTO @.times SELECT number, if(number % 6 = 0, NULL, CAST((number % 17 - 8) * 1000.125 AS Time64(3))), CAST(number % 5 * 100 AS Time) FROM numbers(60)`,
  `CREATE TABLE @.times_elsewhere AS remote('127.0.0.1:${tcpPort}', '@', 'times')`,
]);

const COLUMNS = {
  replaced: { id: "UInt32", version: "UInt32", grp: "Nullable(Int32)", score: "Float64" },
  times_elsewhere: { id: "UInt32", t: "Nullable(Time64(3))", s: "Time" },
};
const models = Object.entries(COLUMNS).map(([name, columns]) => ({
  name,
  schema: database,
  key: "id",
  tags: ["production", "walks", `api:${name}`],
  columns,
  api: {
    allow_unfiltered: true,
    pagination: { enabled: true, default_limit: 10, max_limit: 100, response: "envelope" },
    sortable_fields: Object.keys(columns).filter((column) => column !== "version"),
  },
  routewright: { cursor: true },
}));

interface Row {
  readonly id: number;
  readonly version?: number;
}

describe.skipIf(!hasClickhouse)("a walk by cursor", async () => {
  if (!hasClickhouse) return;
  const manifest = manifestOf(models, { adapter_type: "clickhouse" });
  const url = await serveManifest(manifest, { DATABASE_URL: clickhouseUrl() });
  const ask = (name: string, query: Readonly<Record<string, string>>): Promise<Reply> =>
    sendRequest(url, `/v1/walks/${name}?${new URLSearchParams(query).toString()}`, { key: KEYS.tier3 });

  /** The rows of each page. */
  async function walk(name: string, query: Readonly<Record<string, string>>) {
    const pages: (readonly Row[])[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const reply = await ask(name, { ...query, ...(cursor !== "" && { cursor }) });
      expect(reply.status).toBe(200);
      const { items, pagination } = JSON.parse(reply.text) as {
        items: Row[];
        pagination: { next_cursor: string | null };
      };
      pages.push(items);
      cursor = pagination.next_cursor;
    }
    return pages;
  }

  const SORTS = ["id", "grp", "score"].flatMap((field) => [`${field} ASC`, `${field} DESC`]);
  it.each(SORTS)("has every row of rows with one key once, none of them on two pages: %s", async (sort) => {
    const [sort_by = "", sort_direction = ""] = sort.split(" ");
    for (const limit of ["11", "50", "97"]) {
      const pages = await walk("replaced", { sort_by, sort_direction, limit });
      const rows = pages.flat();
      expect(rows).toHaveLength(236);
      expect(new Set(rows.map(({ id, version = 0 }) => `${String(id)} ${String(version)}`)).size).toBe(236);
      const idsOfPages = pages.map((page) => [...new Set(page.map(({ id }) => id))]);
      expect(new Set(idsOfPages.flat()).size).toBe(idsOfPages.flat().length);
      // One more than its limit for each further row of the last key.
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(Number(limit) + 39);
    }
  });

  it.each(["t ASC", "t DESC", "s ASC"])("follows times of the day on another server: %s", async (sort) => {
    const [sort_by = "", sort_direction = ""] = sort.split(" ");
    const pages = await walk("times_elsewhere", { sort_by, sort_direction, limit: "6" });
    // The last page is full, and none follows it.
    expect(pages).toHaveLength(10);
    const order = await clickhouse(
      `SELECT id FROM ${database}.times ORDER BY ${sort} NULLS ${sort_direction === "ASC" ? "LAST" : "FIRST"}, id FORMAT TSV`,
    );
    expect(pages.flat().map(({ id }) => id)).toEqual(order.trim().split("\n").map(Number));
  });
});
