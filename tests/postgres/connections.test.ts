import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { rampSettings } from "../../runtime/ramp/environment.js";
import { readEnvironments } from "../../runtime/server/server.js";
import { openPostgres } from "../../runtime/postgres/engine.js";
import { atEnd } from "../support/at-end.js";
import { queryAt } from "../support/database.js";
import { run } from "../support/command.js";
import { needs } from "../support/needs.js";
import { OwnServer } from "../support/own-server.js";
import { manifestOf } from "../support/manifest.js";
import { bytesOf, queryContext } from "../support/query-context.js";
import { generateInto, ownFolder } from "../support/service.js";

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

/** Why the database cannot be reached, as the log has it. */
const reasonIn = (error: unknown): string => ((error as Error).cause as Error).message;
const reasonOf = (rows: Promise<unknown>): Promise<string> => rows.then(() => "none", reasonIn);

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
    await expect(reasonOf(rowsOf(url, "rows"))).resolves.toMatch(/^self-signed certificate/);
  },
);

describe.skipIf(!hasTls)("sslmode as libpq has it", () => {
  const withMode = (mode: string, host = "127.0.0.1"): string =>
    `postgres://${login}@${host}:${port}/postgres?sslmode=${mode}`;
  const isEncrypted = async (url: string): Promise<unknown> =>
    (JSON.parse(await rowsOf(url, "session")) as { ssl: unknown }).ssl;

  it.each([
    ["disable", false],
    ["allow", false],
    ["prefer", true],
    ["require", true],
    [`require&sslrootcert=${certificate}`, true],
    [`verify-ca&sslrootcert=${certificate}`, true],
    [`verify-full&sslrootcert=${certificate}`, true],
  ])("a server with a certificate of its own: %s", async (mode, isTls) => {
    await enableTls();
    expect(await isEncrypted(withMode(mode))).toBe(isTls);
  });

  it("verify-full asks for the host of the certificate, verify-ca does not, and both for its issuer", async () => {
    await enableTls();
    expect(await isEncrypted(withMode(`verify-ca&sslrootcert=${certificate}`, "localhost"))).toBe(true);
    const other = withMode(`verify-full&sslrootcert=${certificate}`, "localhost");
    await expect(rowsOf(other, "session")).rejects.toThrow("The database cannot be reached.");
    await expect(reasonOf(rowsOf(withMode("verify-full"), "session"))).resolves.toMatch(
      /^self-signed certificate/,
    );
    await expect(reasonOf(rowsOf(withMode("verify-full&sslrootcert=system"), "session"))).resolves.toMatch(
      /^self-signed certificate/,
    );
  });

  it("prefer goes on without TLS where the server has none or accepts none, allow with TLS where it is needed", async () => {
    const modes = async (): Promise<unknown[]> => {
      const tries = ["prefer", "allow", "require", "disable"].map((mode) =>
        isEncrypted(withMode(mode)).catch(reasonIn),
      );
      return Promise.all(tries);
    };
    await enableTls();
    const rules = join(server.dataFolder, "pg_hba.conf");
    const before = readFileSync(rules, "utf8");
    const reload = async (text: string): Promise<void> => {
      writeFileSync(rules, text);
      await server.query("SELECT pg_reload_conf()").catch(() => undefined);
      await expect.poll(() => server.logged("received SIGHUP")).toBeGreaterThan(0);
    };
    const local = "local all all scram-sha-256\n";
    const refused = expect.stringContaining("pg_hba.conf") as unknown;
    await reload(`${local}hostssl all all all scram-sha-256\n`);
    await expect.poll(modes).toEqual([true, true, true, refused]);
    writeFileSync(rules, `${local}hostnossl all all all scram-sha-256\n`);
    await queryAt(LOCAL, "SELECT pg_reload_conf()");
    await expect.poll(modes).toEqual([false, false, refused, false]);
    writeFileSync(rules, before);
    await queryAt(LOCAL, "ALTER SYSTEM SET ssl = off");
    await queryAt(LOCAL, "SELECT pg_reload_conf()");
    await expect.poll(() => server.query("SHOW ssl")).toEqual([{ ssl: "off" }]);
    const none = "The server does not support SSL connections";
    await expect.poll(modes).toEqual([false, false, none, false]);
  });

  it("a Unix socket is written in three ways, and is never asked for TLS", async () => {
    const folder = encodeURIComponent(server.dataFolder);
    for (const url of [
      `postgres://${login}@/postgres?host=${server.dataFolder}&port=${port}&sslmode=require`,
      `postgres:///postgres?host=${folder}&port=${port}&user=${username}&password=${password}&sslmode=prefer`,
      `postgres://${login}@${folder}:${port}/postgres?sslmode=verify-full`,
    ])
      expect(JSON.parse(await rowsOf(url, "session"))).toMatchObject({ is_local: true, ssl: false });
  });
});

describe("a password with characters that an address uses", () => {
  const secret = "a@b#c/d?e%f:g h%41";
  const urlOf = (text: string): string => `postgres://keeper:${text}@127.0.0.1:${port}/postgres`;

  it("is percent-encoded, and a wrong one is refused with the hint", async () => {
    await server.query(`CREATE ROLE keeper LOGIN PASSWORD '${secret}'`);
    await server.query("GRANT SELECT ON public.session TO keeper");
    expect(await rowsOf(urlOf(encodeURIComponent(secret)), "session")).toContain("keeper");
    await expect(reasonOf(rowsOf(urlOf("hX%41"), "session"))).resolves.toMatch(
      /password authentication failed.*@ as %40/,
    );
  });

  it.each(["a@b/c", "1/x", "a#b", "1?x", "1#x", secret])(
    "that is not encoded breaks the address: %s",
    (wrong) => {
      for (const name of ["DATABASE_URL", "RAMP_DATABASE_URL"]) {
        const reading = readEnvironments({ [name]: urlOf(wrong) }, rampSettings);
        const problem = reading.ok ? "" : reading.problems.join("\n");
        expect(problem).toMatch(new RegExp(`^${name} must be .*@ as %40`));
        expect(problem).not.toContain(wrong);
      }
    },
  );

  it.each([[["serve"]], [["verify"]], [["ramp", "migrate"]]])(
    "that is not encoded stops %s",
    async (command) => {
      const { code, stderr, stdout } = await run(ownFolder(), command, {
        DATABASE_URL: urlOf(secret),
        PORT: "0",
      });
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/@ as %40/) as string,
      });
      expect(stderr + stdout).not.toContain(secret);
    },
  );
});

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
