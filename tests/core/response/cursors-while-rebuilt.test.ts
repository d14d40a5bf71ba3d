import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Relation, SortKey } from "../../../runtime/core/model/endpoint.js";
import type { KeyValues, Selection } from "../../../runtime/core/model/query.js";
import { selectKeys } from "../../../runtime/clickhouse/keyed-pages.js";
import { selectRows, printed } from "../../../runtime/clickhouse/select.js";
import { selectRows as selectPostgresRows } from "../../../runtime/postgres/select.js";
import { ServedColumns } from "../../../runtime/core/warehouse/served-columns.js";
import { sql, type Statement } from "../../../runtime/core/warehouse/sql.js";
import { clickhouse } from "../../support/clickhouse.js";
import { query } from "../../support/database.js";
import { byEngine, engine, ownerQuery, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";

/** Rows of both builds together. One build lacks every tenth, the other another tenth. */
const ROWS = 1_000_000;
const LACKS = { points: 3, next: 7 } as const;
const BUCKETS = 100;

const create = (table: keyof typeof LACKS): string =>
  byEngine({
    postgres: `CREATE TABLE @.${table} AS SELECT id, id % ${String(BUCKETS)} AS bucket FROM generate_series(1, ${String(ROWS)}) id
      WHERE id % 10 <> ${String(LACKS[table])}; CREATE INDEX ON @.${table} (bucket DESC, id);`,
    clickhouse: `CREATE TABLE @.${table} ENGINE = MergeTree ORDER BY (bucket, id) AS
      SELECT toInt64(number + 1) AS id, id % ${String(BUCKETS)} AS bucket FROM numbers(${String(ROWS)}) WHERE id % 10 <> ${String(LACKS[table])}`,
  });
const schema = await ownTables({
  postgres: `${create("points")} ${create("next")} ANALYZE @.points; ANALYZE @.next;`,
  clickhouse: [create("points"), create("next")],
});
if (engine === "postgres")
  await query(`VACUUM "${schema}".points`).then(() => query(`VACUUM "${schema}".next`));

const exchange = (): Promise<unknown> =>
  ownerQuery(
    byEngine({
      postgres: `BEGIN; ALTER TABLE "${schema}".points RENAME TO old; ALTER TABLE "${schema}".next RENAME TO points;
        ALTER TABLE "${schema}".old RENAME TO next; COMMIT`,
      clickhouse: `EXCHANGE TABLES "${schema}".points AND "${schema}".next`,
    }),
  );

const NODE = "model.test.points";
const manifest = manifestOf([
  {
    name: "points",
    schema,
    materialized: "table",
    columns: byEngine<Readonly<Record<string, string>>>({
      postgres: { id: "integer", bucket: "integer" },
      clickhouse: { id: "Int64", bucket: "Int64" },
    }),
    api: {
      allow_unfiltered: true,
      pagination: { enabled: true, default_limit: 100, max_limit: 50_000 },
      sort: [{ column: "bucket", direction: "DESC" }],
    },
    routewright: { cursor: true, fields: true, filters: ["bucket"] },
  },
]) as { nodes: Record<string, unknown> };
manifest.nodes["test.test.unique_key"] = {
  resource_type: "test",
  test_metadata: {
    name: "unique_combination_of_columns",
    namespace: "dbt_utils",
    kwargs: { combination_of_columns: ["bucket", "id"] },
  },
  attached_node: NODE,
  config: {},
};
const service = await startManifest(manifest, { RATE_LIMITS: "tier3=1000000" });

async function walk(target: string): Promise<readonly number[]> {
  const ids: number[] = [];
  for (let next: string | undefined = `/v1/shop/points.ndjson?fields=id&${target}`; next !== undefined;) {
    const reply = await sendRequest(service.url, next, { key: KEYS.tier3 });
    expect([reply.status, reply.text.slice(0, 200)]).toEqual([200, expect.anything()]);
    for (const [, id] of reply.text.matchAll(/:(\d+)/g)) ids.push(Number(id));
    next = /<([^>]*)>; rel="next"/.exec(String(reply.headers.link ?? ""))?.[1];
  }
  return ids;
}

/** Exchanges the tables over and over while something runs; returns how often. */
async function whileExchanged(run: () => Promise<void>): Promise<number> {
  let exchanges = 0;
  const state = { isDone: false };
  const running = run().finally(() => (state.isDone = true));
  while (!state.isDone) {
    await exchange();
    exchanges++;
    await Promise.race([running.catch(() => undefined), sleep(20)]);
  }
  await running;
  return exchanges;
}

it("walks over a million rows while their table is exchanged: no row of both builds is lost or doubled", async () => {
  const isInBoth = (id: number): boolean => id % 10 !== LACKS.points && id % 10 !== LACKS.next;
  for (const target of ["limit=23000", "limit=1000&bucket[gte]=90"]) {
    let ids: readonly number[] = [];
    const exchanges = await whileExchanged(async () => {
      ids = await walk(target);
    });
    expect(exchanges).toBeGreaterThan(2);
    expect(new Set(ids).size).toBe(ids.length);
    const first = target.includes("bucket") ? 90 : 0;
    const stable = Array.from({ length: ROWS }, (_, i) => i + 1).filter(
      (id) => id % BUCKETS >= first && isInBoth(id),
    );
    const found = new Set(ids);
    expect(stable.filter((id) => !found.has(id))).toEqual([]);
    const inOrder = ids.toSorted((a, b) => (b % BUCKETS) - (a % BUCKETS) || a - b);
    expect(ids).toEqual(inOrder);
  }
});

it("continues after a build, whose time each page has", async () => {
  const get = (target: string) => sendRequest(service.url, target, { key: KEYS.tier3 });
  service.recordBuilds([{ node: NODE, completedAt: Date.parse("2026-03-01T00:00:00Z") }]);
  const first = await get("/v1/shop/points?limit=10");
  const second = /<([^>]*)>; rel="next"/.exec(String(first.headers.link))?.[1] ?? "";
  await exchange();
  service.recordBuilds([{ node: NODE, completedAt: Date.parse("2026-03-02T00:00:00Z") }]);
  const continued = await get(second);
  expect([first, continued].map(({ status, headers }) => [status, headers["x-data-as-of"]])).toEqual([
    [200, "2026-03-01T00:00:00.000Z"],
    [200, "2026-03-02T00:00:00.000Z"],
  ]);
});

const relation: Relation = [schema, "points"];
const columns = byEngine({
  postgres: [
    { name: "id", type: "int4" },
    { name: "bucket", type: "int4" },
  ],
  clickhouse: [
    { name: "id", type: "Int64" },
    { name: "bucket", type: "Int16" },
  ],
});
function selectionOf(sort: readonly SortKey[], after: KeyValues): Selection {
  const page = { limit: 100, offset: 0, lookAhead: true };
  return { conditions: [], sort, page, keyset: { scope: "", after } };
}

it.skipIf(engine !== "postgres")("reads a page by the index of the sort", async () => {
  const explain = async ({ text, values }: Statement): Promise<string> => {
    const rows = await query(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) ${text}`, values);
    return rows.map((row) => String(row["QUERY PLAN"])).join("\n");
  };
  for (const after of [
    ["50", "500050"],
    ["0", "999900"],
    [null, "3"],
  ] as const) {
    const selection = selectionOf(
      [
        ["bucket", "DESC"],
        ["id", "ASC"],
      ],
      after,
    );
    const plan = await explain(selectPostgresRows({ relation }, columns, selection));
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toContain("Index Cond");
    const [, hit = "0"] = /Buffers: shared hit=(\d+)/.exec(plan) ?? [];
    const [, read = "0"] = /Buffers: shared (?:hit=\d+ )?read=(\d+)/.exec(plan) ?? [];
    expect(Number(hit) + Number(read)).toBeLessThan(100);
    expect(plan).not.toMatch(/Rows Removed by Filter: \d{3,}/);
  }
});

it.skipIf(engine !== "clickhouse")("reads the granules of a page by the primary key", async () => {
  const sort: readonly SortKey[] = [
    ["bucket", "ASC"],
    ["id", "ASC"],
  ];
  const selection = selectionOf(sort, ["50", "500050"]);
  const source = { relation, columns, roleSettingsClause: sql` SETTINGS date_time_output_format = 'simple'` };
  const upTo = { ...selection, keyset: { scope: "", after: ["50", "500050"], upTo: ["50", "512050"] } };
  const granulesOf = async ({ text, values }: Statement): Promise<readonly number[]> => {
    const parameters = Object.fromEntries(
      values.map((value, i) => [`param_p${String(i + 1)}`, String(value)]),
    );
    const plan = await clickhouse(`EXPLAIN indexes = 1 ${text.replace(/ FORMAT \w+$/, "")}`, parameters);
    return [...plan.matchAll(/Granules: (\d+)\/(\d+)/g)]
      .slice(-1)
      .flatMap(([, read, all]) => [Number(read), Number(all)]);
  };
  const [keys = 0, all = 0] = await granulesOf(printed(selectKeys(source, selection), "ndjson"));
  expect(all).toBeGreaterThan(100);
  expect(keys).toBeLessThan(all * 0.55);
  const [rows = Infinity] = await granulesOf(
    printed(
      selectRows(source, upTo, { served: new ServedColumns(columns), format: "json", maxRows: 101 }),
      "json",
    ),
  );
  expect(rows).toBeLessThan(5);
});
