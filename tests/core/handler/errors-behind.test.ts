import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { OwnServer } from "../../support/own-server.js";
import { manifestOf } from "../../support/manifest.js";
import { refusal, sendRequest, statusAndBody } from "../../support/http-client.js";
import { freePort } from "../../support/port.js";
import { loggedFailure, serve } from "../../support/command.js";
import { KEYS, ownInstallation, serveManifest } from "../../support/service.js";

const FAILED = refusal(500, "Database query failed.");
const SOURCE = refusal(502, "A source from which the database reads cannot answer.");
const UNREACHABLE = refusal(503, "The database cannot be reached. Try again in 1 seconds.");

const server = await OwnServer.create();
const nowhere = await freePort();
const port = String(server.port);
const { username, password } = new URL(server.url);

const raising = (code: string): string => `CREATE FUNCTION raising_${code}() RETURNS int LANGUAGE plpgsql AS
  $$ BEGIN RAISE 'secret' USING ERRCODE = '${code}'; END $$;
  CREATE VIEW raises_${code} AS SELECT raising_${code}() AS v;`;

/** What a function of a view raises, and what its callers get. */
const RAISED = {
  "08006": SOURCE, // connection_failure
  "08P01": SOURCE, // protocol_violation
  "57P01": SOURCE, // admin_shutdown
  "57P03": SOURCE, // cannot_connect_now
  "57P05": SOURCE, // idle_session_timeout
  "57014": SOURCE, // query_canceled
  "40001": SOURCE, // serialization_failure
  "40P01": SOURCE, // deadlock_detected
  "55P03": SOURCE, // lock_not_available
  HV00N: SOURCE, // fdw_unable_to_establish_connection
  P0001: FAILED, // raise_exception
  "22012": FAILED, // division_by_zero
  "0A000": FAILED, // feature_not_supported
  "42883": FAILED, // undefined_function
  "26000": FAILED, // invalid_sql_statement_name
  "53300": FAILED, // too_many_connections
} as const;

await server.query(`
  CREATE TABLE fine AS SELECT 1 AS v;
  CREATE EXTENSION postgres_fdw; CREATE EXTENSION dblink;
  CREATE SERVER down FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '${String(nowhere)}');
  CREATE SERVER up FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '${port}', dbname 'postgres');
  CREATE USER MAPPING FOR PUBLIC SERVER down OPTIONS (user 'postgres', password 'x');
  CREATE USER MAPPING FOR PUBLIC SERVER up OPTIONS (user '${username}', password '${password}');
  CREATE FOREIGN TABLE on_server_down (v int) SERVER down OPTIONS (table_name 'fine');
  CREATE FOREIGN TABLE without_remote_table (v int) SERVER up OPTIONS (table_name 'gone');
  CREATE VIEW over_dblink AS SELECT v FROM dblink('host=127.0.0.1 port=${String(nowhere)} user=a password=b', 'SELECT 1') AS t (v int);
  ${Object.keys(RAISED).map(raising).join("\n")}`);

/** Relations, what their callers get, and what the log says of the cause. */
const SOURCES = [
  ["on_server_down", SOURCE, /could not connect to server/],
  ["without_remote_table", SOURCE, /relation "public.gone" does not exist/],
  ["over_dblink", SOURCE, /could not establish connection/],
  ...Object.entries(RAISED).map(([code, answer]) => [`raises_${code}`, answer, /secret/] as const),
] as const;
const NAMES = ["fine", ...SOURCES.map(([name]) => name)];
const manifest = manifestOf(
  NAMES.map((name) => ({
    name,
    alias: name.toLowerCase(),
    schema: "public",
    tags: ["production", "behind", `api:${name.toLowerCase()}`],
  })),
);
const key = KEYS.tier3;
const pathOf = (name: string): string => `/v1/behind/${name.toLowerCase()}`;

describe("an error of what stands behind the database", async () => {
  const service = await serve(ownInstallation(manifest), [], {
    DATABASE_URL: server.url,
    API_KEYS: JSON.stringify({ [key]: { tier: "tier3", user: "user", org: "test" } }),
    // Its session would be one more, and its schema that of what this user creates below.
    USAGE_ENABLED: "false",
  });
  const { url } = service;
  const backends = (): Promise<unknown[]> =>
    server.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'routewright' ORDER BY pid");
  // The start looks up every relation, and opens sessions for that.
  for (let known = "none", seen = ""; seen !== known; seen = JSON.stringify(await backends())) {
    known = seen;
    await pause(500);
  }

  it.each(SOURCES)(
    "%s: is answered at once, keeps the connection, and is named by the log, /health and a metric",
    async (name, answer, logged) => {
      await sendRequest(url, pathOf("fine"), { key });
      const before = await backends();
      const path = pathOf(name);
      for (let i = 0; i < 4; i++) {
        const reply = await sendRequest(url, path, { key });
        expect([path, ...statusAndBody(reply)]).toEqual([path, ...answer]);
        const failure = await loggedFailure(service, String(reply.headers["x-request-id"]));
        expect(failure).toMatchObject({ level: 50, route: path, msg: "query failed" });
        expect(failure.err.stack).toMatch(logged);
      }
      expect(statusAndBody(await sendRequest(url, pathOf("fine"), { key }))).toEqual([200, [{ v: 1 }]]);
      // Sessions of the start may end meanwhile; none is opened in place of one that was lost.
      if (name !== "raises_26000") expect(before).toEqual(expect.arrayContaining(await backends()));
      const health = statusAndBody(await sendRequest(url, "/health"));
      expect(health).toMatchObject([
        200,
        { status: "degraded", failing_endpoints: expect.arrayContaining([path]) as unknown },
      ]);
      const metrics = await sendRequest(url, "/metrics");
      expect(metrics.text).toContain(`routewright_failing_endpoints{route="${path}"} 1`);
    },
  );
});

it("an endpoint that is answered again is no longer named", async () => {
  await server.query(
    "CREATE TABLE mended AS SELECT 0 AS v; CREATE VIEW dividing AS SELECT 1 / v AS v FROM mended",
  );
  const url = await serveManifest(
    manifestOf([{ name: "dividing", schema: "public", tags: ["production", "behind", "api:dividing"] }]),
    {
      DATABASE_URL: server.url,
    },
  );
  const health = async () => statusAndBody(await sendRequest(url, "/health"));
  for (let i = 0; i < 3; i++) {
    expect(await health()).toEqual([200, { status: "ok", database_connected: true }]);
    expect(statusAndBody(await sendRequest(url, "/v1/behind/dividing", { key }))).toEqual(FAILED);
  }
  expect(await health()).toMatchObject([
    200,
    { status: "degraded", failing_endpoints: ["/v1/behind/dividing"] },
  ]);
  await server.query("UPDATE mended SET v = 1");
  expect(statusAndBody(await sendRequest(url, "/v1/behind/dividing", { key }))).toEqual([200, [{ v: 1 }]]);
  expect(await health()).toEqual([200, { status: "ok", database_connected: true }]);
});

/** What an administrator does, and undoes, while a server is connected as the role `reader`. */
const CHANGES = [
  ["a role that may not log in", "ALTER ROLE reader NOLOGIN", "ALTER ROLE reader LOGIN"],
  ["a new password", "ALTER ROLE reader PASSWORD 'new'", "ALTER ROLE reader PASSWORD 'old'"],
  [
    "a database that the role may not connect to",
    "REVOKE CONNECT ON DATABASE postgres FROM PUBLIC",
    "GRANT CONNECT ON DATABASE postgres TO PUBLIC",
  ],
  [
    "a database without room",
    "ALTER ROLE reader CONNECTION LIMIT 0",
    "ALTER ROLE reader CONNECTION LIMIT -1",
  ],
] as const;

describe("requests and /health say the same of", async () => {
  await server.query("CREATE ROLE reader LOGIN PASSWORD 'old'; GRANT SELECT ON fine TO reader");
  const DATABASE_URL = Object.assign(new URL(server.url), { username: "reader", password: "old" }).href;

  it.each(CHANGES)("%s", async (_, change, undo) => {
    const url = await serveManifest(manifest, { DATABASE_URL });
    const both = async () => {
      const [request, health] = await Promise.all([
        sendRequest(url, pathOf("fine"), { key }),
        sendRequest(url, "/health"),
      ]);
      return [request.status, health.status];
    };
    expect(await both()).toEqual([200, 200]);
    await server.query(change);
    // Its sessions stay open.
    expect(await both()).toEqual([200, 200]);
    await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'");
    await expect.poll(both).toEqual([503, 503]);
    expect(statusAndBody(await sendRequest(url, pathOf("fine"), { key }))).toEqual(UNREACHABLE);
    await server.query(undo);
    await expect.poll(both).toEqual([200, 200]);
  });

  it("a role whose sessions are read-only by default", async () => {
    await server.query("ALTER ROLE reader SET default_transaction_read_only = on");
    const url = await serveManifest(manifest, { DATABASE_URL });
    expect((await sendRequest(url, pathOf("fine"), { key })).status).toBe(200);
    expect((await sendRequest(url, "/health")).status).toBe(200);
  });
});

it("a session that the server ends while it is idle costs no request an error", async () => {
  await server.query(
    "CREATE ROLE idle LOGIN PASSWORD 'idle'; GRANT SELECT ON fine TO idle; ALTER ROLE idle SET idle_session_timeout = '200ms'",
  );
  const DATABASE_URL = Object.assign(new URL(server.url), { username: "idle", password: "idle" }).href;
  const url = await serveManifest(manifest, { DATABASE_URL });
  const statuses: number[] = [];
  for (let i = 0; i < 40; i++) {
    statuses.push((await sendRequest(url, pathOf("fine"), { key })).status);
    await pause(190 + (i % 20));
  }
  expect(new Set(statuses)).toEqual(new Set([200]));
});
