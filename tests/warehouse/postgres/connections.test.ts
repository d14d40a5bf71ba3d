import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openPostgres } from "../../../runtime/warehouse/postgres/engine.js";
import { atEnd } from "../../support/at-end.js";
import { run } from "../../support/command.js";
import { needs } from "../../support/needs.js";
import { OwnServer } from "../../support/own-server.js";
import { manifestOf } from "../../support/manifest.js";
import { bytesOf, queryContext } from "../../support/query-context.js";
import { generateInto, ownFolder } from "../../support/service.js";

/** A row of 200 kB between small ones: it arrives in several records of TLS. */
const SETUP = `
  CREATE TABLE public.rows AS SELECT i, repeat(chr(64 + i % 30) || '"é', CASE WHEN i % 500 = 7 THEN 50000 ELSE i % 9 END) AS text
    FROM generate_series(1, 2000) i;
  CREATE VIEW public.session AS SELECT system_user, inet_client_addr() IS NULL AS is_local,
    (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS ssl`;

const server = await OwnServer.create();
await server.query(SETUP);
const { username, password, port } = new URL(server.url);
const certificate = join(server.dataFolder, "server.crt");

const hasTls = needs("openssl");

/** Serves TLS with a certificate of its own for 127.0.0.1. */
async function enableTls(): Promise<void> {
  const key = join(server.dataFolder, "server.key");
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const files = ["-keyout", key, "-out", certificate];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...files, ...subject],
    { stdio: "ignore" },
  );
  const { uid, gid } = statSync(server.dataFolder);
  chownSync(key, uid, gid);
  chmodSync(key, 0o600);
  await server.query("ALTER SYSTEM SET ssl = on");
  await server.query("SELECT pg_reload_conf()");
  await expect.poll(() => server.query("SHOW ssl")).toEqual([{ ssl: "on" }]);
}

async function rowsOf(url: string, name: string): Promise<string> {
  const warehouse = openPostgres({ url, statementTimeoutMs: 10_000, warn: () => undefined });
  atEnd(() => warehouse.close());
  const selection = { conditions: [], sort: name === "rows" ? ([["i", "ASC"]] as const) : [], page: null };
  const query = { relation: ["public", name], selection, format: "json", timeoutMs: 0 } as const;
  return String(await bytesOf(await warehouse.rows(query, queryContext())));
}

const login = `${username}:${password}`;
const PLAIN = server.url;
const LOCAL = `postgres://${login}@/postgres?host=${encodeURIComponent(server.dataFolder)}&port=${port}`;
const TLS = `postgres://${login}@127.0.0.1:${port}/postgres?sslmode=verify-full&sslrootcert=${certificate}`;

it.skipIf(!hasTls)(
  "rows are the same over TCP, TLS and a Unix socket, with a password by SCRAM",
  async () => {
    await enableTls();
    const system_user = `scram-sha-256:${username}`;
    const expected = await rowsOf(PLAIN, "rows");
    expect(JSON.parse(`[${expected}]`)).toHaveLength(2000);
    for (const [url, session] of [
      [PLAIN, { system_user, is_local: false, ssl: false }],
      [TLS, { system_user, is_local: false, ssl: true }],
      [LOCAL, { system_user, is_local: true, ssl: false }],
    ] as const) {
      expect(JSON.parse(await rowsOf(url, "session"))).toEqual(session);
      expect((await rowsOf(url, "rows")) === expected).toBe(true);
    }
  },
);

it.skipIf(!hasTls)(
  "a certificate that is not trusted is an error that says so, without the password",
  async () => {
    await enableTls();
    const url = TLS.replace(/&sslrootcert=.*/, "");
    await expect(rowsOf(url, "rows")).rejects.toThrow(/^self-signed certificate$/);
  },
);

it("an installed pg that cannot give rows as bytes ends the start with one line that says what to do", async () => {
  const folder = ownFolder();
  generateInto(folder, manifestOf([{ name: "rows" }]));
  const patch = join(folder, "without-hook.mjs");
  writeFileSync(
    patch,
    `import pg from ${JSON.stringify(import.meta.resolve("pg"))}; delete pg.Connection.prototype.attachListeners;`,
  );
  const environment = { DATABASE_URL: PLAIN, NODE_OPTIONS: `--import ${patch}`, PORT: "0" };
  const { code, stderr } = await run(folder, ["serve", "--only", "data", "--generated", "."], environment);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(
      /^[^\n]*'pg' does not let Routewright read rows as bytes[^\n]*\n$/,
    ) as string,
  });
});
