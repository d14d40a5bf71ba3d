import { describe, expect, it } from "vitest";
import { FairQueue } from "../../../runtime/core/warehouse/fair-queue.js";
import { fieldFormats } from "../../../runtime/postgres/columns.js";
import { ConnectionPool } from "../../../runtime/postgres/pool.js";
import { fieldsOf } from "../../../runtime/postgres/rows.js";
import type { Reader } from "../../../runtime/postgres/run.js";
import { QueryAbandoned, QueryTimeout } from "../../../runtime/core/warehouse/query-errors.js";
import { bind, type BindValue, plan, type Sql, sql, statement } from "../../../runtime/core/warehouse/sql.js";
import { preparedStatement } from "../../../runtime/postgres/statements.js";
import { SessionSetup } from "../../../runtime/postgres/session.js";
import { atEnd } from "../../support/at-end.js";
import { databaseUrl, query } from "../../support/database.js";
import { callerNamed } from "../../support/query-context.js";

/** Queries that run at a time, of as many callers and tables. */
const TOGETHER = 6;

/** More than one test may take. */
const FOREVER_SECONDS = 600;

type Texts = readonly (string | null)[];
type Body = Sql<BindValue>;
const value = bind<BindValue>((given) => given);

/** Each answers with its backend first. */
const ECHO: Body = sql`SELECT pg_backend_pid(), ${value}::text`;
const DIVIDE: Body = sql`SELECT pg_backend_pid(), 1 / ${value}::int`;
const SLEEP: Body = sql`SELECT pg_backend_pid(), pg_sleep(${value}::float8)::text`;
const END_BACKEND: Body = sql`SELECT pg_backend_pid(),
  CASE WHEN ${value}::int > 0 THEN pg_terminate_backend(pg_backend_pid()) END`;

function openPool(statementTimeoutMs = 0): ConnectionPool {
  const pool = new ConnectionPool({
    url: databaseUrl,
    queue: new FairQueue({ capacity: 8, maxWaiting: 100 }),
    streams: new FairQueue({ capacity: 1, maxWaiting: 1, perCaller: 1 }),
    statementTimeoutMs,
    setup: new SessionSetup(statementTimeoutMs),
    cancelBackend: (pid) => void query("SELECT pg_cancel_backend($1)", [pid]),
    onIdleError: () => undefined,
  });
  atEnd(() => pool.close());
  return pool;
}

let nextCaller = 0;

function ask(
  pool: ConnectionPool,
  body: Body,
  given: BindValue,
  isStillNeeded = (): boolean => true,
): Promise<readonly Texts[]> {
  const caller = String(nextCaller++);
  const queued = { caller: callerNamed(caller), isStillNeeded, relation: ["", caller] } as const;
  const text = plan(body, (position) => `$${String(position)}`);
  return new Promise((resolve, reject) => {
    let rows: Texts[] = [];
    const reader: Reader = {
      mayBeLong: false,
      formats: fieldFormats([]),
      begin: () => (rows = []),
      row: (frame, offset) => rows.push(fieldsOf(frame, offset, 2).map((field) => field?.toString() ?? null)),
      end: (error) => (error ? reject(error) : resolve(rows)),
    };
    const limits = { timeoutMs: 0, isStillNeeded };
    pool.run({
      statement: statement(text, given),
      prepared: preparedStatement(text.text),
      queued,
      limits,
      reader,
    });
  });
}

/** Prepares the statements on one connection, and lets the pool know that they are quick. */
async function prepare(pool: ConnectionPool, ...bodies: readonly Body[]): Promise<void> {
  for (const body of bodies) for (let i = 0; i < 20; i++) await ask(pool, body, body === DIVIDE ? 1 : 0);
}

/** Sends a query, and others together with it. Resolves to the others' results. */
async function askWith(pool: ConnectionPool, first: Promise<unknown>): Promise<(readonly Texts[])[]> {
  first.catch(() => undefined);
  return Promise.all(Array.from({ length: TOGETHER - 1 }, (_, i) => ask(pool, ECHO, i)));
}

const ECHOES = Array.from({ length: TOGETHER - 1 }, (_, i) => [[expect.any(String), String(i)]]);

const backendsOf = (results: readonly (readonly Texts[])[]): Set<unknown> =>
  new Set(results.map(([row]) => row?.[0]));

describe("queries that arrive together", () => {
  it("share connections once they are quick, and each gets its own rows", async () => {
    const pool = openPool();
    await prepare(pool, ECHO);
    const texts = ["", "é😀", `'"\\`, "{1,2}", "NULL", "a".repeat(20_000), null];
    await expect
      .poll(async () => {
        const results = await Promise.all(texts.map((text) => ask(pool, ECHO, text)));
        expect(results.map(([row]) => row?.[1])).toEqual(texts);
        return backendsOf(results).size;
      })
      .toBeLessThan(texts.length);
  });

  it("do not fail when one of them fails", async () => {
    const pool = openPool();
    await prepare(pool, ECHO, DIVIDE);
    for (let i = 0; i < 20; i++) {
      const failing = ask(pool, DIVIDE, 0);
      expect(await askWith(pool, failing)).toEqual(ECHOES);
      await expect(failing).rejects.toThrow("division by zero");
    }
  });

  it("do not fail when some among them fail", async () => {
    const pool = openPool();
    await prepare(pool, ECHO, DIVIDE);
    for (let i = 0; i < 20; i++) {
      const asked = [ECHO, DIVIDE, ECHO, DIVIDE, DIVIDE, ECHO, ECHO].map((body, n) =>
        ask(pool, body, body === DIVIDE ? 0 : n),
      );
      const results = await Promise.allSettled(asked);
      expect(
        results.map((result) => (result.status === "fulfilled" ? result.value[0]?.[1] : "failed")),
      ).toEqual(["0", "failed", "2", "failed", "failed", "5", "6"]);
    }
  });

  it("do not wait for one of them that takes long", async () => {
    const pool = openPool();
    for (let i = 0; i < 5; i++) {
      await prepare(pool, SLEEP, ECHO);
      let isNeeded = true;
      const slow = ask(pool, SLEEP, FOREVER_SECONDS, () => isNeeded);
      expect(await askWith(pool, slow)).toEqual(ECHOES);
      isNeeded = false;
      await expect(slow).rejects.toThrow(QueryAbandoned);
    }
  });

  it("are answered when the result of one is no longer needed", async () => {
    const pool = openPool();
    await prepare(pool, SLEEP, ECHO);
    let isNeeded = true;
    const abandoned = ask(pool, SLEEP, FOREVER_SECONDS, () => isNeeded);
    const others = askWith(pool, abandoned);
    setImmediate(() => (isNeeded = false));
    expect(await others).toEqual(ECHOES);
    await expect(abandoned).rejects.toThrow(QueryAbandoned);
  });

  it("are answered when one exceeds its time limit", async () => {
    // The others have the same limit, and keep it on a busy machine.
    const pool = openPool(6000);
    await prepare(pool, SLEEP, ECHO);
    const late = ask(pool, SLEEP, FOREVER_SECONDS);
    expect(await askWith(pool, late)).toEqual(ECHOES);
    await expect(late).rejects.toThrow(QueryTimeout);
  });

  it("are answered when their connection ends", async () => {
    const pool = openPool();
    for (let i = 0; i < 5; i++) {
      await prepare(pool, END_BACKEND, ECHO);
      const ended = ask(pool, END_BACKEND, 1);
      expect(await askWith(pool, ended)).toEqual(ECHOES);
      await expect(ended).rejects.toThrow("terminating connection");
    }
  });
});
