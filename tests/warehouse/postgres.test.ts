import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import type { ResolvedQuery, Selection } from "../../runtime/model/query.js";
import type {
  BufferedRows,
  QueryContext,
  Rows,
  RowStream,
  Warehouse,
} from "../../runtime/warehouse/warehouse.js";
import { Overloaded } from "../../runtime/warehouse/fair-queue.js";
import { openPostgres } from "../../runtime/warehouse/postgres/engine.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";
import { asText, queryContext } from "../support/query-context.js";

const schema = await ownSchema(`
  CREATE TABLE @.numbers AS SELECT i, i % 3 AS rest FROM generate_series(1, 10) i;
  CREATE VIEW @.prepared AS SELECT count(*) FROM pg_prepared_statements;
  CREATE TABLE @.slow AS SELECT 1 AS id;
  CREATE TABLE @.many AS SELECT i, repeat(md5(i::text), 3) AS label FROM generate_series(1, 50000) i;
  CREATE TABLE @.narrow AS SELECT i FROM generate_series(1, 100000) i;
  CREATE TABLE @.wide AS SELECT i, repeat('x', 100000) AS filling FROM generate_series(1, 100) i;`);

function open(url = databaseUrl, statementTimeoutMs = 30_000): { warehouse: Warehouse; faults: Error[] } {
  const faults: Error[] = [];
  const warehouse = openPostgres({
    url,
    statementTimeoutMs,
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
): Promise<Rows> {
  const query: ResolvedQuery = { relation: [schema, name], selection, format: "json", timeoutMs };
  return asText(await warehouse.rows(query, queryContext(context)));
}

const page = (limit: number, offset: number, lookAhead: boolean): Selection => ({
  ...EVERYTHING,
  page: { limit, offset, lookAhead },
});

describe("the PostgreSQL warehouse", () => {
  const { warehouse } = open();

  it("prepares a statement once per connection", async () => {
    const { warehouse: own } = open();
    for (let i = 1; i < 5; i++) await ask(own, "numbers", page(7, i, false));
    await ask(own, "prepared");
    const before = await ask(own, "prepared");
    for (let i = 1; i < 5; i++) await ask(own, "numbers", page(7, i, false));
    expect(await ask(own, "prepared", WHOLE)).toMatchObject({ text: (before as BufferedRows).text });
  });

  it("reports whether the database is reachable", async () => {
    expect(await warehouse.isReachable()).toBe(true);
    expect(await open("postgres://nobody@127.0.0.1:1/none").warehouse.isReachable()).toBe(false);
  });

  it("is overloaded once a thousand queries wait, and answers those", async () => {
    const { warehouse: own } = open();
    const locker = new pg.Client({ connectionString: databaseUrl });
    await locker.connect();
    await ask(own, "slow", WHOLE);
    await locker.query(`BEGIN; LOCK TABLE "${schema}".slow IN ACCESS EXCLUSIVE MODE`);
    const asked = Array.from({ length: 1000 }, (_, i) =>
      ask(own, "slow", WHOLE, { callerId: `key:${String(i)}` }),
    );
    const answers = Promise.allSettled(asked);
    await expect(asked.at(-1)).rejects.toThrow(Overloaded);
    expect(await own.isReachable()).toBe(true);
    expect(await ask(own, "numbers")).toMatchObject({ returned: 10 });
    let refused = 0;
    for (const each of asked) each.catch(() => refused++);
    await sleep(0);
    expect(refused).toBeLessThanOrEqual(250);
    await locker.end();
    // On a busy machine some wait for longer than a query may.
    expect((await answers).filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(100);
    expect(await ask(own, "slow", WHOLE)).toMatchObject({ returned: 1 });
  });

  it("cancels a statement that takes too long, and keeps working", async () => {
    const { warehouse: own } = open(databaseUrl, 200);
    await ask(own, "slow", WHOLE);
    const locker = new pg.Client({ connectionString: databaseUrl });
    await locker.connect();
    await locker.query(`BEGIN; LOCK TABLE "${schema}".slow IN ACCESS EXCLUSIVE MODE`);
    await expect(ask(own, "slow", WHOLE)).rejects.toThrow("time limit");
    await locker.end();
    expect(await ask(own, "slow", WHOLE)).toMatchObject({
      returned: 1,
    });
  });
});

/** All of a stream's pieces, and its end. */
async function readAll({ chunks }: RowStream) {
  const texts: string[] = [];
  try {
    let piece = await chunks.next();
    for (; !piece.done; piece = await chunks.next()) texts.push(String(piece.value));
    return { texts, ...piece.value };
  } finally {
    await chunks.return();
  }
}

async function stream(...asked: Parameters<typeof ask>): Promise<RowStream> {
  const rows = await ask(...asked);
  if (rows.kind !== "stream") throw new Error("The rows came in one piece.");
  return rows;
}

const numbersIn = (json: string): number[] => (JSON.parse(`[${json}]`) as { i: number }[]).map(({ i }) => i);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

/** Connections that are in a transaction: an open cursor holds a lock on its table. */
async function openTransactions(): Promise<number> {
  const [row] = await query(
    `SELECT count(DISTINCT pid)::int AS n FROM pg_locks JOIN pg_class ON pg_class.oid = relation
     WHERE relnamespace = $1::regnamespace AND mode = 'AccessShareLock'`,
    [`"${schema}"`],
  );
  return Number(row?.["n"]);
}

describe("a result that is too large to buffer", () => {
  const { warehouse } = open();
  const sorted: Selection = { ...WHOLE, sort: [["i", "ASC"]] };

  it("has chunks of moderate size, whatever the rows are", async () => {
    await readAll(await stream(warehouse, "wide", sorted));
    const { texts } = await readAll(await stream(warehouse, "wide", sorted));
    expect(numbersIn(texts.join(""))).toEqual(upTo(100));
    expect(Math.max(...texts.slice(1).map(({ length }) => length))).toBeLessThan(500_000);
  });

  it("is buffered up to 2 MiB, however many rows it has", async () => {
    expect(await ask(warehouse, "narrow", sorted)).toMatchObject({ kind: "buffered", returned: 100_000 });
  });

  it("releases its connection when the reader stops in the middle", async () => {
    for (let i = 0; i < 25; i++) {
      const { chunks } = await stream(warehouse, "many", sorted);
      await chunks.next();
      await chunks.return();
    }
    expect(await openTransactions()).toBe(0);
  });

  it("fails before its first chunk when the query fails", async () => {
    await query(`CREATE VIEW "${schema}".failing AS SELECT 1 / (i - 500) AS i FROM "${schema}".many`);
    await expect(stream(warehouse, "failing", WHOLE)).rejects.toThrow("division by zero");
  });

  it("fails in the middle when the query fails, and releases its connection", async () => {
    await query(`CREATE VIEW "${schema}".late AS SELECT label, 1 / (i - 40000) AS i FROM "${schema}".many`);
    const late = await stream(warehouse, "late", WHOLE);
    await expect(readAll(late)).rejects.toThrow("division by zero");
    expect(await openTransactions()).toBe(0);
  });
});

describe("a query whose result is no longer needed", () => {
  const sleeping = async (): Promise<number> => {
    const [row] = await query(
      `SELECT count(*)::int AS n FROM pg_stat_activity
       WHERE application_name = 'routewright' AND state = 'active' AND wait_event = 'PgSleep'`,
    );
    return Number(row?.["n"]);
  };

  it("is cancelled in the database", async () => {
    await query(`CREATE VIEW "${schema}".sleeping AS SELECT 1 AS i FROM pg_sleep(60)`);
    const { warehouse } = open();
    let isNeeded = true;
    const asked = ask(warehouse, "sleeping", WHOLE, { isStillNeeded: () => isNeeded });
    asked.catch(() => undefined);
    await expect.poll(sleeping).toBe(1);
    isNeeded = false;
    await expect(asked).rejects.toThrow();
    await expect.poll(sleeping).toBe(0);
    expect(await ask(warehouse, "numbers")).toMatchObject({ returned: 10 });
  });

  it("is cancelled when it takes longer than its caller's tier may", async () => {
    const { warehouse } = open();
    await ask(warehouse, "numbers");
    await expect(ask(warehouse, "sleeping", WHOLE, { timeoutMs: 300 })).rejects.toThrow();
    await expect.poll(sleeping).toBe(0);
  });
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
      concat_ws(' ', current_setting('timezone'), current_setting('datestyle'), current_setting('jit'), current_setting('max_parallel_workers_per_gather'), current_setting('statement_timeout')) AS v`);
    const { warehouse } = open(databaseUrl, 12_345);
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(warehouse, "settings", WHOLE)));
    expect(new Set(answers.map((answer) => (answer.kind === "buffered" ? answer.text : "")))).toEqual(
      new Set(['{"v":"UTC ISO, MDY off 0 12345ms"}']),
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
