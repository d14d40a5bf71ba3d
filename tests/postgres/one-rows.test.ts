import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { bind, plan, sql, statement, type Sql } from "../../runtime/query/sql.js";
import type { Texts } from "../../runtime/postgres/batch.js";
import { NamedStatements } from "../../runtime/postgres/named-statements.js";
import { OneRows } from "../../runtime/postgres/one-rows.js";
import { QueryWatchdog } from "../../runtime/postgres/query-watchdog.js";
import { openPool } from "../../runtime/postgres/pools.js";
import { databaseUrl, query } from "../support/database.js";

const patrol = new QueryWatchdog(30_000);
const idleErrors: Error[] = [];
const openOneRows = (url: string): OneRows =>
  new OneRows({
    pool: openPool({ url, max: 20, statementTimeoutMs: 30_000, onIdleError: () => undefined }),
    patrol,
    onIdleError: (error) => idleErrors.push(error),
  });
const rows = openOneRows(databaseUrl);
const named = new NamedStatements();

afterAll(async () => {
  await rows.connections.close();
  patrol.close();
});

/** Asks what has one value as its parameter. */
type Ask = (value: string | readonly string[]) => Promise<Texts>;

const asking =
  (body: (value: Sql<string | readonly string[]>) => Sql<string | readonly string[]>): Ask =>
  (value) => {
    const made = plan(body(bind((given) => given)), (position) => `$${String(position)}`);
    return rows.ask(statement(made, value), named.of(made.text), { timeoutMs: 0, wanted: () => true });
  };

/** Lets it be known as quick. */
async function practise(ask: Ask, value: string): Promise<void> {
  for (let i = 0; i < 250; i++) await ask(value);
}

it("sends lists and texts as they are", async () => {
  const list = ["", "a,b", 'say "no"', "back\\slash", "{brace}", "NULL", "ünï", "'; --", " "];
  const ask = asking((value) => sql`SELECT to_json(${value}::text[])::text`);
  expect(JSON.parse((await ask(list))[0] ?? "")).toEqual(list);
  expect(await ask([])).toEqual(["[]"]);
});

it("gives a row without columns where there is none, and nulls as they are", async () => {
  expect(await asking((value) => sql`SELECT ${value}::text WHERE false`)("x")).toEqual([]);
  expect(await asking((value) => sql`SELECT NULL, ${value}::text`)("x")).toEqual([null, "x"]);
});

describe("questions of one turn", () => {
  const backend = asking((value) => sql`SELECT pg_backend_pid()::text, ${value}::text`);

  it("go together once they are known to be quick, each with its own answer", async () => {
    await practise(backend, "x");
    const answers = await Promise.all(Array.from({ length: 64 }, (_, i) => backend(String(i))));
    expect(answers.map(([, value]) => value)).toEqual(Array.from({ length: 64 }, (_, i) => String(i)));
    // Each alone, they would take all twenty connections.
    expect(new Set(answers.map(([pid]) => pid)).size).toBeLessThan(20);
  });

  it("do not wait for one that takes long", async () => {
    const sleep = asking((value) => sql`SELECT ${value}::text FROM pg_sleep(${value}::text::float)`);
    await practise(sleep, "0");
    const order: string[] = [];
    await Promise.all(
      ["3", ...Array.from({ length: 10 }, () => "0")].map(async (seconds) => {
        const [answer] = await sleep(seconds);
        order.push(String(answer));
      }),
    );
    expect(order).toEqual([...Array.from({ length: 10 }, () => "0"), "3"]);
  });

  it("do not fail with one that does", async () => {
    const divide = asking((value) => sql`SELECT (1 / ${value}::text::int)::text`);
    await practise(divide, "1");
    const answers = await Promise.allSettled(["1", "0", "1", "1"].map(divide));
    expect(answers).toMatchObject([
      { value: ["1"] },
      { reason: { message: "division by zero" } },
      { value: ["1"] },
      { value: ["1"] },
    ]);
  });

  it("are asked again when their connection breaks", async () => {
    const risky = asking(
      (value) =>
        sql`SELECT CASE ${value}::text WHEN 'end' THEN pg_terminate_backend(pg_backend_pid())::text ELSE 'fine' END`,
    );
    await practise(risky, "live");
    const answers = await Promise.allSettled(["live", "end", "live", "live"].map(risky));
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  });
});

describe("a connection", () => {
  const pid = asking((value) => sql`SELECT pg_backend_pid()::text, ${value}::text`);

  beforeEach(() => void idleErrors.splice(0));

  it("stays for the next question, and is replaced when it breaks while nobody uses it", async () => {
    const [first = ""] = await pid("x");
    expect((await pid("x"))[0]).toBe(first);
    await query("SELECT pg_terminate_backend($1::int)", [first]);
    await expect.poll(() => idleErrors.length).toBe(1);
    expect((await pid("x"))[0]).not.toBe(first);
  });

  it("is not ended by a limit for queries in the address, which is for programs that ask one at a time", async () => {
    const address = new URL(databaseUrl);
    address.searchParams.set("query_timeout", "100");
    const limited = openOneRows(address.href);
    const made = plan(sql`SELECT pg_backend_pid()::text FROM pg_sleep(0.8)`, () => "");
    const asked = () => limited.ask(statement(made, undefined), null, { timeoutMs: 0, wanted: () => true });
    expect(await asked()).toEqual(await asked());
    await limited.connections.close();
  });

  it("that cannot be made fails each who waits for one, with the reason", async () => {
    const nowhere = openOneRows("postgres://nobody@127.0.0.1:1/none");
    const made = plan(sql`SELECT 1`, () => "");
    const terms = { timeoutMs: 0, wanted: () => true };
    const asked = Array.from({ length: 5 }, () => nowhere.ask(statement(made, undefined), null, terms));
    for (const outcome of await Promise.allSettled(asked))
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "ECONNREFUSED" } });
    await nowhere.connections.close();
  });
});
