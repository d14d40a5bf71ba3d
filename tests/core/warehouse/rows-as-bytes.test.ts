import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { Projection } from "../../../runtime/core/model/projection.js";
import type { Condition, RowFormat, Selection } from "../../../runtime/core/model/query.js";
import { openPostgres } from "../../../runtime/postgres/engine.js";
import { type Warehouse } from "../../../runtime/core/warehouse/warehouse.js";
import { atEnd } from "../../support/at-end.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";
import { proxyOf } from "../../support/database-proxy.js";
import { bytesOf, callerNamed, queryContext } from "../../support/query-context.js";
import { seeded } from "../../metrics/random-requests.js";

/** Rows of each caller of the fault test; those of every fourth have 1,000 characters, and are a stream. */
const OWN_ROWS = 40;
const LONG_ROWS = 2300;

/** A connection that is cut in the middle of a frame, a killed backend, a client that leaves, a time limit between rows. */
const KINDS = ["cut", "kill", "leave", "timeout"] as const;
type Fault = (typeof KINDS)[number];

/** Faults of a run, a quarter of each kind. */
const FAULTS = Number(process.env["FAULTS"] ?? 30);

/** `FAULT_SEED` gives other faults. */
const random = seeded(Number(process.env["FAULT_SEED"] ?? 1));

/** Names that our statements have, and names that look like parts of them. */
const HOSTILE = [
  ..."s t c i0 i1 v u k f0 f1 min0 max0 count c0 c1 q.id".split(" "),
  ...[
    "s.id",
    "t.s",
    'a"b',
    "select",
    "null",
    "$1",
    "s\\",
    "public",
    "to_json",
    "NULL::int4",
    "é ",
    "ctid ",
    "unlimited",
  ],
];

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const schema = await ownSchema(`
  CREATE TYPE @.pair AS (id int, s text, t timestamp);
  CREATE TABLE @.kinds AS SELECT i AS id, i % 2 = 0 AS even, i * 1.5::float8 AS half, (i / 3.0)::numeric(20, 4) AS third,
      repeat(chr(1 + i % 30) || '"\\é😀' || i, i % 7) AS text, NULLIF(i % 5, 0) AS maybe, repeat('x', (i % 11) * 900) AS long,
      '2024-02-29'::date + i AS day, '2024-02-29 12:00+02'::timestamptz + i * interval '1 hour' AS at, md5(i::text)::uuid AS uuid,
      jsonb_build_object('i', i, 'list', ARRAY[i, i + 1]) AS document, ARRAY['a', NULL, i::text] AS list,
      ROW(i, 's', '2024-01-01')::@.pair AS pair FROM generate_series(1, 60) i;
  CREATE TABLE @.owned AS SELECT owner, i, repeat(md5(owner::text || ' ' || i), CASE WHEN owner % 4 = 0 THEN 31 ELSE 1 END) AS label FROM generate_series(1, 20) owner,
      generate_series(1, CASE WHEN owner % 4 = 0 THEN ${String(LONG_ROWS)} ELSE ${String(OWN_ROWS)} END) i;
  CREATE VIEW @.slow AS SELECT * FROM @.owned WHERE i < 20 OR pg_sleep(0.1) IS NULL;
  CREATE TABLE @.hostile (${HOSTILE.map((name, i) => `${quoted(name)} ${i % 3 === 0 ? "int" : i % 3 === 1 ? "text" : "@.pair[]"}`).join(", ")}, own text);
  INSERT INTO @.hostile SELECT ${HOSTILE.map((_, i) => (i % 3 === 0 ? `n * ${String(i + 1)}` : i % 3 === 1 ? `'${String(i)} ' || n` : `ARRAY[ROW(n, 'p${String(i)}', '2024-01-01')::@.pair]`)).join(", ")}, 'org' || n % 2 FROM generate_series(1, 6) n`);

function open(url = databaseUrl, statementTimeoutMs = 30_000): Warehouse {
  const warehouse = openPostgres({ url, statementTimeoutMs, warn: () => undefined });
  atEnd(() => warehouse.close());
  return warehouse;
}

const ALL: Selection = { conditions: [], sort: [], page: null };

function ask(
  warehouse: Warehouse,
  name: string,
  selection: Selection,
  format: RowFormat = "json",
  { callerId = "key:test", timeoutMs = 0 } = {},
) {
  const asked = { relation: [schema, name], selection, format, timeoutMs } as const;
  return warehouse.rows(asked, queryContext({ caller: callerNamed(callerId) }));
}

/** Passes on what the database sends in pieces of so many bytes. */
function passInPieces(database: Socket, client: Socket, size: () => number): void {
  client.setNoDelay(true);
  client.on("data", (bytes: Buffer) => void database.write(bytes));
  client.on("close", () => database.destroy());
  database.on("close", () => client.destroy());
  let sent = Promise.resolve();
  database.on("data", (bytes: Buffer) => {
    database.pause();
    sent = sent.then(async () => {
      for (let at = 0; at < bytes.length && !client.destroyed;) {
        const end = at + size();
        await new Promise((resolve) => client.write(bytes.subarray(at, end), () => setImmediate(resolve)));
        at = end;
      }
      database.resume();
    });
  });
}

it("rows are the same in pieces of one to seven bytes, in every format", async () => {
  const size = () => 1 + Math.floor(random() * 7);
  const proxy = await proxyOf(databaseUrl, (client, connect) => passInPieces(connect(), client, size));
  const [whole, cut] = [open(), open(proxy.url)];
  const sort = [["id", "ASC"]] as const;
  const selection: Selection = {
    ...ALL,
    sort,
    page: { limit: 12, offset: 0, lookAhead: true },
  };
  for (const format of [
    "json",
    "json-strings",
    "ndjson",
    "csv",
    "spreadsheet",
    "parquet",
    "arrow",
  ] as const) {
    const expected = await bytesOf(await ask(whole, "kinds", selection, format));
    expect((await bytesOf(await ask(cut, "kinds", selection, format))).equals(expected), format).toBe(true);
  }
});

it("columns may have any name: the rows are the caller's own, page after page", async () => {
  const warehouse = open();
  const own: Condition = { name: "own", column: "own", operator: "=", type: "string", value: "org1" };
  const expected = (
    await query(`SELECT to_json(h) AS row FROM "${schema}".hostile h WHERE own = 'org1'`)
  ).map(({ row }) => row);
  const simple = (rows: unknown): unknown =>
    JSON.parse(JSON.stringify(rows).replaceAll("T00:00:00Z", "T00:00:00"));
  for (const [i, name] of HOSTILE.entries()) {
    const columns = new Projection([{ name, type: null }]);
    const filter: Condition = { name: "f", column: name, operator: "null", type: "boolean", value: "false" };
    const conditions = [own, filter];
    const found: unknown[] = [];
    let after: readonly (string | null)[] | null = null;
    const sort = [[i % 3 === 2 ? "s" : name, "DESC"]] as const;
    do {
      const page = { limit: 1, offset: 0, lookAhead: true };
      const keyset = { scope: "", after };
      const all = await ask(warehouse, "hostile", { conditions, sort, page, keyset });
      if (all.kind !== "buffered") throw new Error("It is not buffered.");
      found.push(...(JSON.parse(`[${Buffer.concat(all.parts).toString()}]`) as unknown[]));
      after = all.next ?? null;
      const one = JSON.parse(
        `[${String(await bytesOf(await ask(warehouse, "hostile", { columns, conditions, sort, page, keyset })))}]`,
      ) as object[];
      expect(Object.keys(one[0] ?? {})).toEqual([name]);
    } while (after !== null);
    expect(new Set(found.map((row) => JSON.stringify(simple(row))))).toEqual(
      new Set(expected.map((row) => JSON.stringify(row))),
    );
  }
});

/** Cuts, kills and leaves at random; each row names its owner. */
it(
  `${String(FAULTS)} faults at random end no answer as if it were whole, mix no rows and lose no connection`,
  { timeout: 600_000 },
  async () => {
    let cutAfter = Infinity;
    const proxy = await proxyOf(databaseUrl, (client, connect) => {
      const database = connect();
      let passed = 0;
      passInPieces(database, client, () => 100_000);
      database.on("data", (bytes: Buffer) => {
        passed += bytes.length;
        if (passed > cutAfter) client.resetAndDestroy();
      });
    });
    const warehouse = open(proxy.url);
    const counts = { whole: 0, failed: 0, left: 0 };
    const one = async (owner: number, kind: Fault | null): Promise<void> => {
      const condition: Condition = {
        name: "owner",
        column: "owner",
        operator: "=",
        type: "string",
        value: String(owner),
      };
      const isLong = owner % 4 === 0;
      const page = isLong ? null : { limit: 100, offset: 0, lookAhead: true };
      const isSlow = kind === "timeout" && !isLong;
      const selection: Selection = { conditions: [condition], sort: isSlow ? [] : [["i", "ASC"]], page };
      const limits = { callerId: `key:${String(owner)}`, timeoutMs: isSlow ? 50 : 0 };
      try {
        const rows = await ask(warehouse, isSlow ? "slow" : "owned", selection, "json", limits);
        if (kind === "leave" && rows.kind === "stream") {
          await rows.chunks.next();
          await rows.chunks.return();
          counts.left++;
          return;
        }
        const found = JSON.parse(`[${String(await bytesOf(rows))}]`) as { owner: number; i: number }[];
        expect(found.length).toBe(isLong ? LONG_ROWS : OWN_ROWS);
        expect(found.every((row, i) => row.owner === owner && row.i === i + 1)).toBe(true);
        counts.whole++;
      } catch (error) {
        if (error instanceof Error && error.name === "AssertionError") throw error;
        counts.failed++;
      }
    };
    for (let fault = 0; fault < FAULTS; fault++) {
      const kind = KINDS[fault % KINDS.length] as Fault;
      cutAfter = kind === "cut" ? random() * (random() < 0.5 ? 60_000 : 3_000_000) : Infinity;
      const asked = Array.from({ length: 8 }, () => one(1 + Math.floor(random() * 20), kind));
      if (kind === "kill")
        await query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'routewright' AND random() < 0.5
        AND query LIKE '%${schema}%'`);
      await Promise.all(asked);
    }
    cutAfter = Infinity;
    console.log("faults:", JSON.stringify(counts));
    expect(counts.whole).toBeGreaterThan(0);
    expect(counts.failed).toBeGreaterThan(0);
    await expect.poll(() => warehouse.load).toMatchObject({ running: 0, waiting: 0 });
    const before = { ...counts };
    for (let round = 0; round < 3; round++)
      await Promise.all(Array.from({ length: 20 }, (_, i) => one(i + 1, null)));
    expect(counts.whole - before.whole).toBeGreaterThanOrEqual(58);
  },
);
