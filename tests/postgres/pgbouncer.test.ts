import { spawn } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { withServingSession } from "../../runtime/postgres/single-session.js";
import { openPostgres } from "../../runtime/postgres/engine.js";
import type { Selection } from "../../runtime/core/model/query.js";
import type { Rows, Warehouse } from "../../runtime/core/warehouse/warehouse.js";
import { databaseUrl, ownSchema, query, queryAt } from "../support/database.js";
import { proxyOf } from "../support/database-proxy.js";
import { ownRole } from "../support/database-roles.js";
import { freePort } from "../support/port.js";
import { stopOf } from "../support/processes.js";
import { needs, programPath } from "../support/needs.js";
import { asText, callerNamed, queryContext } from "../support/query-context.js";
import { ownFolder } from "../support/service.js";

const schema = await ownSchema(`
  CREATE TABLE @.numbers AS SELECT i FROM generate_series(1, 200000) i;
  CREATE TABLE @.written (id int);
  CREATE FUNCTION @.write() RETURNS int LANGUAGE sql AS 'INSERT INTO @.written VALUES (1) RETURNING id';
  CREATE VIEW @.writing AS SELECT @.write() AS id;
  CREATE VIEW @.times AS SELECT '2024-06-01 12:00+02'::timestamptz AS at, current_setting('statement_timeout') AS timeout;
  CREATE VIEW @.zone AS SELECT current_setting('timezone') AS zone, timestamptz '2024-03-01 01:00+00'::date AS day;
  CREATE VIEW @.sleeping AS SELECT pg_sleep(60)::text AS slept`);

const role = await ownRole(schema, { timezone: "America/New_York" });

/** Sessions of the database behind the pooler: fewer than clients, so that each client gets another one each time. */
const SESSIONS = 3;

const folder = ownFolder();

/** PgBouncer in transaction mode, in front of the database. */
async function startPgBouncer(): Promise<{ url: string; stop: () => Promise<void> }> {
  chmodSync(folder, 0o777);
  const { hostname, port: databasePort, username, password, pathname } = new URL(databaseUrl);
  const port = await freePort();
  writeFileSync(
    join(folder, "users.txt"),
    `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n"${role.name}" "${role.name}"\n`,
  );
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    `[databases]\n* = host=${hostname} port=${databasePort || "5432"}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${String(port)}
unix_socket_dir =\nauth_type = plain\nauth_file = ${folder}/users.txt\npool_mode = transaction\ndefault_pool_size = ${String(SESSIONS)}\n`,
  );
  const isRoot = process.getuid?.() === 0;
  const bouncer = spawn(programPath("pgbouncer"), [
    ...(isRoot ? ["-u", "nobody"] : []),
    join(folder, "pgbouncer.ini"),
  ]);
  // From 1.23 on SIGTERM waits for its clients.
  const stop = stopOf(bouncer, "SIGQUIT");
  return { url: `postgres://${username}:${password}@127.0.0.1:${String(port)}${pathname}`, stop };
}

describe.skipIf(!needs("pgbouncer"))("behind a pooler in transaction mode", () => {
  let warehouse: Warehouse;
  let pooler: string;
  const EVERYTHING: Selection = { conditions: [], sort: [], page: null };
  const ask = async (
    name: string,
    { selection = EVERYTHING, timeoutMs = 0, callerId = "key:test" } = {},
  ): Promise<Rows> =>
    asText(
      await warehouse.rows(
        { relation: [schema, name], selection, format: "json", timeoutMs },
        queryContext({ caller: callerNamed(callerId) }),
      ),
    );

  beforeAll(async () => {
    const { url, stop } = await startPgBouncer();
    pooler = url;
    warehouse = openPostgres({ url, statementTimeoutMs: 12_345, warn: () => undefined });
    await vi.waitFor(() => expect(warehouse.isReachable()).resolves.toBe(true), { timeout: 90_000 });
    return async () => {
      await warehouse.close();
      await stop();
    };
  });

  const numbersFrom = (first: number): Selection => ({
    conditions: [{ column: "i", operator: "=", value: String(first) } as Selection["conditions"][number]],
    sort: [["i", "ASC"]],
    page: { limit: 10, offset: 0, lookAhead: false },
  });

  it("answers the same statement repeatedly, in any session", async () => {
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          ask("numbers", { selection: numbersFrom(i + 1), callerId: `key:${String(i)}` }),
        ),
      );
      expect(answers).toMatchObject(answers.map((_, i) => ({ text: `{"i":${String(i + 1)}}` })));
    }
  });

  it("has its settings in every session", async () => {
    // A result without a limit has no `statement_timeout`.
    const selection = { ...EVERYTHING, page: { limit: 1, offset: 0, lookAhead: false } };
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask("times", { selection })));
    for (const answer of answers)
      expect(answer).toMatchObject({ text: '{"at":"2024-06-01T10:00:00Z","timeout":"12345ms"}' });
  });

  it("has the role's own settings in views", async () => {
    const url = Object.assign(new URL(pooler), { username: role.name, password: role.name }).href;
    const ofRole = openPostgres({ url, statementTimeoutMs: 12_345, warn: () => undefined });
    const relation = [schema, "zone"] as const;
    for (let i = 0; i < 10; i++)
      expect(
        asText(
          await ofRole.rows(
            { relation, selection: EVERYTHING, format: "json", timeoutMs: 0 },
            queryContext(),
          ),
        ),
      ).toMatchObject({ text: '{"zone":"America/New_York","day":"2024-02-29"}' });
    await ofRole.close();
  });

  it("leaves no setting in the sessions, which others use too", async () => {
    await Promise.all(Array.from({ length: 20 }, () => ask("times")));
    const names = ["default_transaction_read_only", "statement_timeout", "lock_timeout", "jit", "timezone"];
    const settings = `SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`).join(", ")}`;
    const [direct] = await query(settings);
    const found = await Promise.all(Array.from({ length: 20 }, () => queryAt(pooler, settings)));
    expect(found.flat()).toEqual(found.map(() => direct));
  });

  it("works where the pooler refuses DO", async () => {
    const { url } = await proxyOf(pooler, (client, open) => {
      const database = open();
      database.pipe(client);
      client.on("close", () => database.destroy());
      client.on("data", (bytes: Buffer) =>
        database.write(Buffer.from(bytes.toString("latin1").replaceAll("DO $", "D0 $"), "latin1")),
      );
    });
    const refused: string[] = [];
    const other = openPostgres({ url, statementTimeoutMs: 12_345, warn: (_, text) => refused.push(text) });
    const selection = { ...EVERYTHING, page: { limit: 1, offset: 0, lookAhead: false } };
    const relation = [schema, "times"] as const;
    for (let i = 0; i < 3; i++)
      expect(
        asText(await other.rows({ relation, selection, format: "json", timeoutMs: 0 }, queryContext())),
      ).toMatchObject({ text: '{"at":"2024-06-01T10:00:00Z","timeout":"12345ms"}' });
    expect(refused).toEqual([expect.stringContaining("refuses DO")]);
    await other.close();
  });

  it("a command has sessions with the settings of those that serve", async () => {
    const shown = await withServingSession(pooler, 12_345, (run) =>
      run(
        "SELECT current_setting('statement_timeout') AS timeout, current_setting('transaction_read_only') AS read_only",
      ),
    );
    expect(shown).toEqual([{ timeout: "12345ms", read_only: "on" }]);
  });

  it("cannot write", async () => {
    await expect(ask("writing")).rejects.toThrow("read-only transaction");
    expect(await query(`SELECT * FROM "${schema}".written`)).toEqual([]);
    expect(await ask("times")).toMatchObject({ returned: 1 });
  });

  it("streams long results", async () => {
    const rows = await ask("numbers", { selection: { ...EVERYTHING, sort: [["i", "ASC"]] } });
    if (rows.kind !== "stream") throw new Error("It is no stream.");
    const texts: string[] = [];
    for (let piece = await rows.chunks.next(); !piece.done; piece = await rows.chunks.next())
      texts.push(String(piece.value));
    expect((JSON.parse(`[${texts.join("")}]`) as { i: number }[]).map(({ i }) => i)).toEqual(
      Array.from({ length: 200_000 }, (_, i) => i + 1),
    );
  });

  it("keeps answering after queries that ran into their time limit", async () => {
    await expect(ask("sleeping", { timeoutMs: 300 })).rejects.toThrow("needs more time");
    expect(await ask("times", { callerId: "key:other" })).toMatchObject({ returned: 1 });
  });
});
