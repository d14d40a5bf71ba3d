import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import type { Selection } from "../../runtime/query/selection.js";
import { openPostgres } from "../../runtime/warehouse/postgres.js";
import type { Warehouse } from "../../runtime/warehouse/warehouse.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";

const schema = await ownSchema(`
  CREATE TABLE @.numbers AS SELECT i, i % 3 AS rest FROM generate_series(1, 10) i;
  CREATE TABLE @.empty (id int);
  CREATE VIEW @.prepared AS SELECT count(*) FROM pg_prepared_statements;
  CREATE TABLE @.slow AS SELECT 1 AS id;`);

function open(url = databaseUrl, statementTimeoutMs = 30_000): { warehouse: Warehouse; faults: Error[] } {
  const faults: Error[] = [];
  const warehouse = openPostgres({
    url,
    statementTimeoutMs,
    onIdleError: (error) => void faults.push(error),
  });
  afterAll(() => warehouse.close());
  return { warehouse, faults };
}

const EVERYTHING: Selection = { conditions: [], sort: [["i", "ASC"]], page: null };
const page = (limit: number, offset: number, lookAhead: boolean): Selection => ({
  ...EVERYTHING,
  page: { limit, offset, lookAhead },
});

describe("the PostgreSQL warehouse", () => {
  const { warehouse } = open();

  it("gives the rows as JSON objects with commas between them", async () => {
    expect(await warehouse.rows([schema, "numbers"], page(2, 0, false))).toEqual({
      json: '{"i":1,"rest":1},{"i":2,"rest":2}',
      returned: 2,
      hasMore: false,
    });
  });

  it.each([
    [2, 0, { returned: 2, hasMore: true }],
    [9, 0, { returned: 9, hasMore: true }],
    [10, 0, { returned: 10, hasMore: false }],
    [5, 8, { returned: 2, hasMore: false }],
    [5, 10, { returned: 0, hasMore: false, json: "" }],
  ])("looks one row ahead where it is asked to: limit %i, offset %i", async (limit, offset, expected) => {
    expect(await warehouse.rows([schema, "numbers"], page(limit, offset, true))).toMatchObject(expected);
  });

  it("gives no rows of an empty relation", async () => {
    expect(await warehouse.rows([schema, "empty"], { conditions: [], sort: [], page: null })).toEqual({
      json: "",
      returned: 0,
      hasMore: false,
    });
  });

  it("rejects for a relation that is missing, naming it", async () => {
    await expect(warehouse.rows([schema, "none"], EVERYTHING)).rejects.toThrow(
      `The relation ${schema}.none does not exist in the database, or has no columns.`,
    );
  });

  it("prepares a statement once per connection", async () => {
    const { warehouse: own } = open();
    for (let i = 0; i < 3; i++) await own.rows([schema, "numbers"], page(1, i, false));
    const whole: Selection = { conditions: [], sort: [], page: null };
    expect(await own.rows([schema, "prepared"], whole)).toMatchObject({ json: '{"count":2}' });
  });

  it("tells whether the database answers", async () => {
    expect(await warehouse.isReachable()).toBe(true);
    expect(await open("postgres://nobody@127.0.0.1:1/none").warehouse.isReachable()).toBe(false);
  });

  it("refuses what would wait behind a thousand queries, and answers all that were let in", async () => {
    const { warehouse: own } = open();
    const locker = new pg.Client({ connectionString: databaseUrl });
    await locker.connect();
    await own.rows([schema, "slow"], { conditions: [], sort: [], page: null });
    await locker.query(`BEGIN; LOCK TABLE "${schema}".slow IN ACCESS EXCLUSIVE MODE`);
    const asked = Array.from({ length: 1021 }, () =>
      own.rows([schema, "slow"], { conditions: [], sort: [], page: null }),
    );
    expect(await asked.at(-1)).toBe("overloaded");
    expect(await own.isReachable()).toBe(true);
    await locker.end();
    const answers = await Promise.all(asked);
    expect(answers.filter((answer) => answer !== "overloaded").length).toBeGreaterThanOrEqual(1000);
    expect(await own.rows([schema, "slow"], { conditions: [], sort: [], page: null })).toMatchObject({
      returned: 1,
    });
  });

  it("cancels a statement that takes too long, and goes on", async () => {
    const { warehouse: own } = open(databaseUrl, 200);
    await own.rows([schema, "slow"], { conditions: [], sort: [], page: null });
    const locker = new pg.Client({ connectionString: databaseUrl });
    await locker.connect();
    await locker.query(`BEGIN; LOCK TABLE "${schema}".slow IN ACCESS EXCLUSIVE MODE`);
    await expect(own.rows([schema, "slow"], { conditions: [], sort: [], page: null })).rejects.toThrow(
      "canceling statement due to statement timeout",
    );
    await locker.end();
    expect(await own.rows([schema, "slow"], { conditions: [], sort: [], page: null })).toMatchObject({
      returned: 1,
    });
  });
});

describe("a session of the warehouse", () => {
  it("cannot write, whatever a relation does", async () => {
    await query(`
      CREATE TABLE "${schema}".written (id int);
      CREATE FUNCTION "${schema}".write() RETURNS int LANGUAGE sql AS 'INSERT INTO "${schema}".written VALUES (1) RETURNING id';
      CREATE VIEW "${schema}".writing AS SELECT "${schema}".write() AS id`);
    await expect(
      open().warehouse.rows([schema, "writing"], { conditions: [], sort: [], page: null }),
    ).rejects.toThrow("cannot execute INSERT in a read-only transaction");
    expect(await query(`SELECT * FROM "${schema}".written`)).toEqual([]);
  });

  it("is set up before its first statement, also for many at once", async () => {
    await query(`CREATE VIEW "${schema}".settings AS SELECT
      concat_ws(' ', current_setting('timezone'), current_setting('datestyle'), current_setting('jit'), current_setting('statement_timeout')) AS v`);
    const { warehouse } = open(databaseUrl, 12_345);
    const answers = await Promise.all(
      Array.from({ length: 40 }, () =>
        warehouse.rows([schema, "settings"], { conditions: [], sort: [], page: null }),
      ),
    );
    expect(new Set(answers.map((answer) => (answer === "overloaded" ? "" : answer.json)))).toEqual(
      new Set(['{"v":"UTC ISO, MDY off 12345ms"}']),
    );
  });

  it("that breaks while idle is told without the client that hangs on the error, and replaced", async () => {
    const { warehouse, faults } = open();
    await warehouse.rows([schema, "numbers"], page(7, 0, true));
    await query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'routewright' AND query LIKE '%' || $1 || '%numbers%'",
      [schema],
    );
    await expect.poll(() => faults.length).toBeGreaterThan(0);
    expect(faults[0]).not.toHaveProperty("client");
    expect(await warehouse.rows([schema, "numbers"], page(7, 0, true))).toMatchObject({ returned: 7 });
  });
});
