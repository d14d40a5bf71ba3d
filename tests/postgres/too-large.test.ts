/** What PostgreSQL reports when a query needs more than it may have, and what looks alike but is not reported as too large. */
import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import pg from "../../runtime/postgres/connection/pg.js";
import { asTooLarge, changeIn, isStatementError } from "../../runtime/postgres/errors.js";
import { Overloaded, QueryTooLarge } from "../../runtime/core/warehouse/query-errors.js";
import { letPass } from "../support/clock.js";
import { refusal, sendRequest, statusAndBody, tooLarge } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { OwnServer } from "../support/own-server.js";
import { KEYS, serveManifest } from "../support/service.js";

const FAILED = refusal(500, "Database query failed.");

const server = await OwnServer.create();
await server.query(`
  CREATE VIEW texts AS SELECT length(repeat('x', 900000000)) AS n;
  CREATE FUNCTION lock_all() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
    FOR i IN 1..200000 LOOP PERFORM pg_advisory_xact_lock_shared(i); END LOOP; RETURN 1; END $$;
  CREATE VIEW locks AS SELECT lock_all() AS n;
  CREATE VIEW slow AS SELECT 1 AS n, pg_sleep(120)::text AS waited;
  CREATE TABLE locked AS SELECT 1 AS n`);
const manifest = manifestOf(
  ["texts", "locks", "slow", "locked"].map((name) => ({
    name,
    schema: "public",
    tags: ["production", "s", `api:${name}`],
  })),
);
const serve = (variables = {}) => serveManifest(manifest, { DATABASE_URL: server.url, ...variables });
const ask = (url: string, name: string) => sendRequest(url, `/v1/s/${name}`, { key: KEYS.tier3 });

/** Runs `run` once a query of `slow` is under way, and has been for so many milliseconds by the clock of this process. */
async function whileSlow(run: string, milliseconds = 0): Promise<void> {
  const running = `SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%"slow"%' AND pid <> pg_backend_pid()`;
  await expect.poll(() => server.query(running)).toHaveLength(1);
  letPass(milliseconds);
  await server.query(`SELECT ${run}(pid) FROM (${running}) AS found`);
}

/** Gives the server's first process, and by it each session that begins, no more memory, as the user that runs it. */
async function limitMemory(): Promise<void> {
  const [pid = ""] = readFileSync(join(server.dataFolder, "postmaster.pid"), "utf8").split("\n");
  const { uid, gid } = statSync(`/proc/${pid}`);
  await promisify(execFile)("prlimit", ["--pid", pid, "--as=700000000"], { uid, gid });
}

it("memory that the system does not give", async () => {
  await limitMemory();
  const url = await serve();
  expect(statusAndBody(await ask(url, "texts"))).toEqual(tooLarge("memory"));
  expect(statusAndBody(await ask(url, "locked"))).toEqual([200, [{ n: 1 }]]);
});

it("room for locks that all sessions share is not reported as too large", async () => {
  const url = await serve();
  const reply = await ask(url, "locks");
  expect(reply.status).toBe(503);
  expect(reply.headers["retry-after"]).toBe("1");
  expect(statusAndBody(await ask(url, "locked"))).toEqual([200, [{ n: 1 }]]);
});

it.each([
  ["aset.c", 'Failed on request of size 900000004 in memory context "ExprContext".', QueryTooLarge],
  ["mcxt.c", "Fehler bei Anfrage mit Größe 900000004 im Speicherkontext »ExprContext«.", QueryTooLarge],
  ["./build/../src/backend/utils/mmgr/mcxt.c", "Failed on request of size 8192.", Overloaded],
  ["lock.c", undefined, Overloaded],
  ["shmem.c", undefined, Overloaded],
  ["dsm_impl.c", undefined, Overloaded],
])("out of memory in %s: %s", (file, detail, kind) => {
  const report = Object.assign(new pg.DatabaseError("Speicher aufgebraucht", 0, "error"), {
    ...{ code: "53200", severity: "ERROR", file },
    ...(detail !== undefined && { detail }),
  });
  const error = asTooLarge(report, false);
  expect(error).toBeInstanceOf(kind);
  expect(error.cause).toBe(report);
  expect(isStatementError(error)).toBe(true);
  expect(changeIn(error)).toBe("none");
});

it("a query that its operator cancels is not reported as too large", async () => {
  const asked = ask(await serve({ STATEMENT_TIMEOUT_MS: "100000" }), "slow");
  await whileSlow("pg_cancel_backend");
  expect(statusAndBody(await asked)).toEqual(FAILED);
});

it("a long page, which the database does not limit, is not reported as too large where its operator cancels it late", async () => {
  const asked = ask(await serve({ STATEMENT_TIMEOUT_MS: "600000" }), "slow");
  await whileSlow("pg_cancel_backend", 550_000);
  expect(statusAndBody(await asked)).toEqual(FAILED);
});

it("a long page, which the database does not limit, ends at its time limit", async () => {
  const url = await serve({ STATEMENT_TIMEOUT_MS: "500" });
  const answer = ask(url, "slow").then(statusAndBody);
  expect(await Promise.race([answer, setTimeout(60_000, "none", { ref: false })])).toEqual(tooLarge("time"));
});

it("a session that is ended is not reported as too large: the database may be reached again in a moment", async () => {
  const asked = ask(await serve({ STATEMENT_TIMEOUT_MS: "100000" }), "slow");
  await whileSlow("pg_terminate_backend");
  expect(statusAndBody(await asked)).toEqual(
    refusal(503, "The database cannot be reached. Try again in 1 seconds."),
  );
});
