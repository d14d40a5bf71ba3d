import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import type { ResolvedQuery, RowFormat, Selection } from "../../../runtime/core/model/query.js";
import type { QueryContext, Warehouse } from "../../../runtime/core/warehouse/warehouse.js";
import { openPostgres } from "../../../runtime/postgres/engine.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";
import { asText, queryContext, type TextRows } from "../../support/query-context.js";

const schema = await ownSchema(`
  CREATE TABLE @.numbers AS SELECT i, i % 3 AS rest FROM generate_series(1, 10) i;
  CREATE TABLE @.size AS SELECT 5000 AS n;
  CREATE VIEW @.sized AS SELECT i, repeat('x', 1000) AS filling FROM @.size, generate_series(1, n) i;
  CREATE TABLE @.narrow AS SELECT i FROM generate_series(1, 100000) i;`);

function open(url = databaseUrl, statementTimeoutMs = 30_000, streamsPerCaller?: number) {
  const faults: Error[] = [];
  const warehouse = openPostgres({
    url,
    statementTimeoutMs,
    streamsPerCaller,
    warn: (error) => void faults.push(error),
  });
  atEnd(() => warehouse.close());
  return { warehouse, faults };
}

const EVERYTHING: Selection = { conditions: [], sort: [["i", "ASC"]], page: null };
const WHOLE: Selection = { conditions: [], sort: [], page: null };
async function ask(
  warehouse: Warehouse,
  name: string,
  selection: Selection = WHOLE,
  { timeoutMs = 0, ...context }: Partial<QueryContext> & { timeoutMs?: number } = {},
): Promise<TextRows> {
  const query: ResolvedQuery = { relation: [schema, name], selection, format: "json", timeoutMs };
  return asText(await warehouse.rows(query, queryContext(context)));
}

const page = (limit: number, offset: number, lookAhead: boolean): Selection => ({
  ...EVERYTHING,
  page: { limit, offset, lookAhead },
});

it.each([
  ["date", "timestamp"],
  ["date", "timestamptz"],
  ["timestamp", "timestamptz"],
])("a column of type %s that becomes %s since its look-up is read as what it is", async (from, to) => {
  const name = `${from}_${to}`;
  await query(`CREATE TABLE ${schema}.${name} AS SELECT '2026-02-28'::${from} AS at`);
  const { warehouse } = open();
  const read = async (format: RowFormat): Promise<string> => {
    const rows = await warehouse.rows(
      { relation: [schema, name], selection: WHOLE, format, timeoutMs: 0 },
      queryContext(),
    );
    return rows.kind === "buffered" ? Buffer.concat(rows.parts).toString("latin1") : "stream";
  };
  for (let i = 0; i < 3; i++) expect(await read("ndjson")).toBe(`{"at":"2026-02-28${ending(from)}"}`);
  const table = await read("arrow");
  await query(`ALTER TABLE ${schema}.${name} ALTER COLUMN at TYPE ${to}`);
  expect(await read("csv")).toBe(`2026-02-28${ending(to)}`);
  expect(await read("ndjson")).toBe(`{"at":"2026-02-28${ending(to)}"}`);
  expect((await read("arrow")) === table).toBe(from !== "date");
});

const ending = (type: string): string => (type === "date" ? "" : "T00:00:00Z");

it("a result is buffered up to 2 MiB, however many rows it has", async () => {
  const sorted: Selection = { ...WHOLE, sort: [["i", "ASC"]] };
  expect(await ask(open().warehouse, "narrow", sorted)).toMatchObject({
    kind: "buffered",
    returned: 100_000,
  });
});

it("a result that becomes small while it waits for the place of a stream leaves its caller's place", async () => {
  const { warehouse } = open(databaseUrl, 0, 1);
  const first = await ask(warehouse, "sized");
  const second = ask(warehouse, "sized");
  await expect.poll(() => warehouse.load.waiting).toBe(1);
  await query(`UPDATE "${schema}".size SET n = 1`);
  if (first.kind === "stream") await first.chunks.return();
  expect(await second).toMatchObject({ kind: "buffered", returned: 1 });
  await query(`UPDATE "${schema}".size SET n = 5000`);
  const third = await ask(warehouse, "sized");
  expect(third.kind).toBe("stream");
  if (third.kind === "stream") await third.chunks.return();
});

describe("a session of the warehouse", () => {
  it("cannot write, whatever a relation does", async () => {
    await query(`
      CREATE TABLE "${schema}".written (id int);
      CREATE FUNCTION "${schema}".write() RETURNS int LANGUAGE sql AS 'INSERT INTO "${schema}".written VALUES (1) RETURNING id';
      CREATE VIEW "${schema}".writing AS SELECT "${schema}".write() AS id`);
    await expect(ask(open().warehouse, "writing", WHOLE)).rejects.toThrow(
      "cannot execute INSERT in a read-only transaction",
    );
    expect(await query(`SELECT * FROM "${schema}".written`)).toEqual([]);
  });

  it("is set up before its first statement, also for many sessions at once", async () => {
    await query(`CREATE VIEW "${schema}".settings AS SELECT
      concat_ws(' ', current_setting('default_transaction_read_only'), current_setting('lock_timeout'), current_setting('jit'), current_setting('max_parallel_workers_per_gather'), current_setting('statement_timeout')) AS v`);
    const { warehouse } = open(databaseUrl, 12_345);
    // A result without a limit has no `statement_timeout`, for as long as it is read.
    expect(await ask(warehouse, "settings")).toMatchObject({ text: '{"v":"on 50ms off 0 0"}' });
    const selection = { ...WHOLE, page: { limit: 1, offset: 0, lookAhead: false } };
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => ask(warehouse, "settings", selection)),
    );
    expect(new Set(answers.map((answer) => (answer.kind === "buffered" ? answer.text : "")))).toEqual(
      new Set(['{"v":"on 50ms off 0 12345ms"}']),
    );
  });

  it("that breaks while idle is reported without the client attached to the error, and replaced", async () => {
    const { warehouse, faults } = open();
    await ask(warehouse, "numbers", page(7, 0, true));
    await query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'routewright' AND query LIKE '%' || $1 || '%numbers%'",
      [schema],
    );
    await expect.poll(() => faults.length).toBeGreaterThan(0);
    expect(faults[0]).not.toHaveProperty("client");
    expect(await ask(warehouse, "numbers", page(7, 0, true))).toMatchObject({ returned: 7 });
  });
});
