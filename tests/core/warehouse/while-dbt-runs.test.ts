import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { openPostgres } from "../../../runtime/postgres/engine.js";
import type { Rows, Warehouse } from "../../../runtime/core/warehouse/warehouse.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";
import { asText, callerNamed, queryContext } from "../../support/query-context.js";

const schema = await ownSchema(
  "CREATE TABLE @.base AS SELECT 1 AS id; CREATE VIEW @.above AS SELECT * FROM @.base",
);

function open(url = databaseUrl): Warehouse {
  const warehouse = openPostgres({ url, statementTimeoutMs: 30_000, warn: () => undefined });
  atEnd(() => warehouse.close());
  return warehouse;
}

async function ask(warehouse: Warehouse, name: string, version: string | null = null): Promise<Rows> {
  const selection = { conditions: [], sort: [], page: null };
  const context = queryContext({ version });
  const query = { relation: [schema, name], selection, format: "json", timeoutMs: 0 } as const;
  return asText(await warehouse.rows(query, context));
}

it("a view that is dropped and made again is answered, never failed", async () => {
  const warehouse = open();
  await ask(warehouse, "above");
  await query(`DROP VIEW "${schema}".above`);
  const asked = ask(warehouse, "above");
  await pause(200);
  await query(`CREATE VIEW "${schema}".above AS SELECT * FROM "${schema}".base`);
  expect(await asked).toMatchObject({ text: '{"id":1}' });
  expect(warehouse.missingRelations).toEqual([]);
});

it("a read that deadlocks with renames is answered from the table that takes the place of the old one", async () => {
  const gate = Number.parseInt(schema.slice(-6), 16);
  await query(`CREATE TABLE "${schema}".one AS SELECT 1 AS id; CREATE TABLE "${schema}".two AS SELECT 'old' AS name;
    CREATE FUNCTION "${schema}".name_of_two() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
      WHILE NOT pg_try_advisory_xact_lock_shared(${String(gate)}) LOOP PERFORM pg_sleep(0.01); END LOOP;
      RETURN (SELECT name FROM "${schema}".two); END $$;
    CREATE VIEW "${schema}".both AS SELECT id, "${schema}".name_of_two() AS name FROM "${schema}".one`);
  const isLocked = (granted: boolean) =>
    query(
      `SELECT 1 FROM pg_locks WHERE relation = '"${schema}".one'::regclass AND granted = ${String(granted)}`,
    );
  const [dbt, gatekeeper] = [new pg.Client(databaseUrl), new pg.Client(databaseUrl)];
  await Promise.all([dbt.connect(), gatekeeper.connect()]);
  await gatekeeper.query(`SELECT pg_advisory_lock(${String(gate)})`);
  await dbt.query(`BEGIN; ALTER TABLE "${schema}".two RENAME TO two_old;
    CREATE TABLE "${schema}".two AS SELECT 'new' AS name`);
  // The database looks for a deadlock before the read gives up its wait for the lock.
  const url = new URL(databaseUrl);
  url.searchParams.set("options", "-c deadlock_timeout=1");
  const asked = ask(open(url.href), "both");
  await expect.poll(() => isLocked(true)).toHaveLength(1);
  const renamed = dbt.query(`ALTER TABLE "${schema}".one RENAME TO one_old; COMMIT`);
  await expect.poll(() => isLocked(false)).toHaveLength(1);
  await gatekeeper.end();
  expect(await asked).toMatchObject({ text: '{"id":1,"name":"new"}' });
  await renamed;
  await dbt.end();
});

it("a relation that stays away is named until it is back", async () => {
  const warehouse = open();
  await expect(ask(warehouse, "later")).rejects.toThrow(`${schema}.later does not exist`);
  expect(warehouse.missingRelations).toEqual([`${schema}.later`]);
  await query(`CREATE TABLE "${schema}".later AS SELECT 2 AS id`);
  expect(await ask(warehouse, "later")).toMatchObject({ text: '{"id":2}' });
  expect(warehouse.missingRelations).toEqual([]);
});

it("the first answer after a build has the columns of that build", async () => {
  const warehouse = open();
  await query(`CREATE TABLE "${schema}".grows AS SELECT 1 AS id`);
  expect(await ask(warehouse, "grows", "build 1")).toMatchObject({ text: '{"id":1}' });
  await query(`ALTER TABLE "${schema}".grows ADD COLUMN added int DEFAULT 7`);
  expect(await ask(warehouse, "grows", "build 2")).toMatchObject({ text: '{"id":1,"added":7}' });
});

it("forty callers share four connections where the role may have no more", async () => {
  const role = `limited_${schema}`;
  await query(`CREATE ROLE "${role}" LOGIN PASSWORD 'secret' CONNECTION LIMIT 4;
    GRANT USAGE ON SCHEMA "${schema}" TO "${role}"; GRANT SELECT ON "${schema}".base TO "${role}"`);
  const url = new URL(databaseUrl);
  url.username = role;
  url.password = "secret";
  const warehouse = openPostgres({ url: url.href, statementTimeoutMs: 30_000, warn: () => undefined });
  const selection = { conditions: [], sort: [], page: null };
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      warehouse.rows(
        { relation: [schema, "base"], selection, format: "json", timeoutMs: 0 },
        queryContext({ caller: callerNamed(`key:${String(i)}`) }),
      ),
    ),
  );
  for (const answer of answers) expect(asText(answer)).toMatchObject({ text: '{"id":1}' });
  await warehouse.close();
  await query(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`);
});

it("a database that is not there fails its callers at once, with the reason", async () => {
  const nowhere = open("postgres://nobody@127.0.0.1:1/none");
  for (const outcome of await Promise.allSettled(Array.from({ length: 5 }, () => ask(nowhere, "base"))))
    expect(outcome).toMatchObject({ status: "rejected", reason: { cause: { code: "ECONNREFUSED" } } });
});
