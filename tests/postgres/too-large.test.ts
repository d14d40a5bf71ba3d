/** What PostgreSQL reports when a query needs more than it may have, and what is none of it although it looks alike. */
import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { refusal, sendRequest, statusAndBody, tooLarge } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { OwnServer } from "../support/own-server.js";
import { KEYS, serveManifest } from "../support/service.js";

const FAILED = refusal(500, "Database query failed.");

const server = await OwnServer.create();
await server.query(`
  CREATE VIEW texts AS SELECT length(repeat('x', 900000000)) AS n;
  CREATE VIEW slow AS SELECT 1 AS n, pg_sleep(20)::text AS waited;
  CREATE TABLE locked AS SELECT 1 AS n`);
const manifest = manifestOf(
  ["texts", "slow", "locked"].map((name) => ({
    name,
    schema: "public",
    tags: ["production", "s", `api:${name}`],
  })),
);
const serve = (variables = {}) => serveManifest(manifest, { DATABASE_URL: server.url, ...variables });
const ask = (url: string, name: string) => sendRequest(url, `/v1/s/${name}`, { key: KEYS.tier3 });

/** Runs `run` once a query of `slow` is under way. */
async function whileSlow(run: string): Promise<void> {
  const running = `SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%"slow"%' AND pid <> pg_backend_pid()`;
  await expect.poll(() => server.query(running)).toHaveLength(1);
  await server.query(`SELECT ${run}(pid) FROM (${running}) AS found`);
}

/** Gives a process no more memory, as the user that runs it. */
async function limitMemory(pid: number): Promise<void> {
  const { uid, gid } = statSync(`/proc/${String(pid)}`);
  await promisify(execFile)("prlimit", ["--pid", String(pid), "--as=700000000"], { uid, gid });
}

it("memory that the system does not give", async () => {
  const url = await serve();
  expect((await ask(url, "locked")).status).toBe(200);
  const sessions = await server.query(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'routewright'",
  );
  expect(sessions.length).toBeGreaterThan(0);
  for (const { pid } of sessions) await limitMemory(Number(pid));
  expect(statusAndBody(await ask(url, "texts"))).toEqual(tooLarge("memory"));
  expect(statusAndBody(await ask(url, "locked"))).toEqual([200, [{ n: 1 }]]);
});

it("a query that its operator cancels is none", async () => {
  const asked = ask(await serve({ STATEMENT_TIMEOUT_MS: "15000" }), "slow");
  await whileSlow("pg_cancel_backend");
  expect(statusAndBody(await asked)).toEqual(FAILED);
});

it("a session that is ended is none: the database may be reached again in a moment", async () => {
  const asked = ask(await serve({ STATEMENT_TIMEOUT_MS: "15000" }), "slow");
  await whileSlow("pg_terminate_backend");
  expect(statusAndBody(await asked)).toEqual(
    refusal(503, "The database cannot be reached. Try again in 1 seconds."),
  );
});
