import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFile, chown, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";

import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from "../../../runtime/postgres/embedded/embedded-postgres.js";

const MODULE = new URL("../../../runtime/postgres/embedded/embedded-postgres.ts", import.meta.url).href;

/** One cluster for the tests that do not depend on what the one before has left; mode 0700, so as root also hard to reach. */
let dataDir: string;
/** Generous: machines are slow when they run everything at once. */
const PATIENCE = { timeout: 90_000, interval: 100 };

const running = new Set<EmbeddedPostgres>();

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "embedded-postgres-"));
});

afterEach(async () => {
  vi.restoreAllMocks();
  for (const server of running) await server.stop();
  running.clear();
});

afterAll(() => rm(dataDir, { recursive: true, force: true }));

async function start(directory = dataDir): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir: directory });
  running.add(server);
  return server;
}

async function ask(server: Pick<EmbeddedPostgres, "url">, sql: string): Promise<Record<string, unknown>> {
  const client = new pg.Client(server.url);
  /** A server that crashes may reset the connection after it has answered. */
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows[0] ?? {};
  } finally {
    await client.end();
  }
}

const inData = (name: string) => join(dataDir, "postgres", "data", name);

async function serverPid(): Promise<number> {
  return Number.parseInt(await readFile(inData("postmaster.pid"), "utf8"), 10);
}

const isGone = () =>
  stat(inData("postmaster.pid")).then(
    () => false,
    () => true,
  );

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });

/** A Node process of its own that uses the server until it's killed. It ignores Ctrl-C, as a graceful stop would. */
async function owner(): Promise<{ child: ChildProcess; url: string }> {
  const script = `
    import { startEmbeddedPostgres } from ${JSON.stringify(MODULE)};
    process.on("SIGINT", () => console.log("interrupted"));
    const { url } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
    console.log(url);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, url: line.toString().trim() };
}

async function killed(child: ChildProcess): Promise<void> {
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

describe("the embedded PostgreSQL", () => {
  it("starts on an empty folder, with Unicode, UTC and a superuser of its own", async () => {
    const server = await start();
    expect(server.url).toMatch(/^postgres:\/\/routewright:[\w-]{32}@127\.0\.0\.1:\d+\/routewright\?/);
    expect(
      await ask(
        server,
        `SELECT lower('ÄÉЖ') AS lower, 'É' ILIKE 'é' AS ilike, current_setting('server_encoding') AS encoding,
           current_setting('TimeZone') AS zone, current_setting('listen_addresses') AS listens,
           current_setting('fsync') AS fsync, usesuper AS super, version() LIKE 'PostgreSQL 18.%' AS "18"
         FROM pg_user WHERE usename = current_user`,
      ),
    ).toEqual({
      ...{ lower: "äéж", ilike: true, encoding: "UTF8", zone: "UTC", listens: "127.0.0.1", fsync: "on" },
      ...{ super: true, "18": true },
    });
  });

  it("requires the password, which only the owner of the files can read", async () => {
    const server = await start();
    const url = server.url.replace(/:[\w-]{32}@/, ":wrong@");
    await expect(ask({ url }, "SELECT 1")).rejects.toThrow("password authentication failed");
    expect((await stat(join(dataDir, "postgres", "password"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(dataDir, "postgres"))).mode & 0o777).toBe(0o700);
  });

  it("keeps the data across a restart", async () => {
    const first = await start();
    await ask(first, "CREATE TABLE kept AS SELECT 42 AS answer");
    await first.stop();
    expect(await isGone()).toBe(true);
    expect(await ask(await start(), "SELECT answer FROM kept")).toEqual({ answer: 42 });
  });

  it("is joined by a second start, and stopped by the last to stop", async () => {
    const first = await start();
    const second = await start();
    expect(second.url).toBe(first.url);
    await first.stop();
    await first.stop();
    expect(await ask(second, "SELECT 1 AS one")).toEqual({ one: 1 });
    await second.stop();
    expect(await isGone()).toBe(true);
  });

  it("starts although another process has the killed server's id", async () => {
    const server = await start();
    const text = await readFile(inData("postmaster.pid"), "utf8");
    await server.stop();
    const { uid, gid } = await stat(inData("PG_VERSION"));
    const stranger = spawn("sleep", ["600"], process.getuid?.() === 0 ? { uid, gid } : {});
    await writeFile(inData("postmaster.pid"), text.replace(/^\d+/, String(stranger.pid)), { mode: 0o600 });
    await chown(inData("postmaster.pid"), uid, gid);
    expect(await ask(await start(), "SELECT 1 AS one")).toEqual({ one: 1 });
    await killed(stranger);
  });

  it("recreates a dropped database", async () => {
    const server = await start();
    const elsewhere = server.url.replace("/routewright?", "/postgres?");
    await ask({ url: elsewhere }, "DROP DATABASE routewright WITH (FORCE)");
    expect(await ask(await start(), "SELECT 1 AS one")).toEqual({ one: 1 });
  });

  it("survives Ctrl-C, and is joined and stopped by the next start after its owner was killed", async () => {
    const { child, url } = await owner();
    process.kill(-child.pid!, "SIGINT");
    expect(String(await once(child.stdout!, "data"))).toContain("interrupted");
    expect(await ask({ url }, "SELECT 1 AS one")).toEqual({ one: 1 });
    await killed(child);
    const heir = await start();
    expect(heir.url).toBe(url);
    await heir.stop();
    expect(await isGone()).toBe(true);
  });

  it("takes another port when the last one is taken, also after it was killed", async () => {
    const first = await start();
    const port = Number(new URL(first.url).port);
    process.kill(await serverPid(), "SIGKILL");
    const taken = createServer((socket) => socket.resume().end("not PostgreSQL"));
    await vi.waitFor(() => listen(taken, port), PATIENCE);
    const next = await start();
    expect(new URL(next.url).port).not.toBe(String(port));
    expect(await ask(next, "SELECT 1 AS one")).toEqual({ one: 1 });
    await new Promise((closed) => taken.close(closed));
  });

  it("does not stop a server whose sessions a crash has ended: another process may use it", async () => {
    const first = await start();
    const users =
      "SELECT min(pid) AS pid FROM pg_stat_activity WHERE application_name LIKE 'routewright: uses%'";
    const pid = (await ask(first, users))["pid"] as number;
    process.kill(pid, "SIGKILL");
    await vi.waitFor(async () => expect((await ask(first, users))["pid"]).toBeNull(), PATIENCE);
    await first.stop();
    expect(await ask(first, "SELECT 1 AS one")).toEqual({ one: 1 });
    await start().then((second) => second.stop());
    expect(await isGone()).toBe(true);
  });

  it("starts although a process was killed while it created the cluster", async () => {
    const fresh = await mkdtemp(join(tmpdir(), "embedded-postgres-"));
    await mkdir(join(fresh, "postgres.new", "data"), { recursive: true });
    await writeFile(join(fresh, "postgres.new", "data", "PG_VERSION"), "18\n");
    expect(await ask(await start(fresh), "SELECT 1 AS one")).toEqual({ one: 1 });
    expect(await readdir(fresh)).toEqual(["postgres"]);
  });

  it("is one server for several processes, and outlives the one that started it", async () => {
    const owners = await Promise.all([owner(), owner(), owner()]);
    expect(new Set(owners.map(({ url }) => url)).size).toBe(1);
    const last = await start();
    for (const { child } of owners) await killed(child);
    expect(await ask(last, "SELECT 1 AS one")).toEqual({ one: 1 });
    await last.stop();
    expect(await isGone()).toBe(true);
  });
});

it("a first start of two processes at the same time creates one cluster and leaves nothing incomplete", async () => {
  const fresh = await mkdtemp(join(tmpdir(), "embedded-postgres-"));
  const [one, other] = await Promise.all([start(fresh), start(fresh)]);
  expect(one.url).toBe(other.url);
  expect((await readdir(fresh)).sort()).toEqual(["postgres"]);
  expect((await readdir(join(fresh, "postgres"))).sort()).toEqual(["data", "password", "postgres.log"]);
  await Promise.all([one.stop(), other.stop()]);
  await rm(fresh, { recursive: true });
});

describe("the one line of a refusal ends with DATABASE_URL and", () => {
  const refusal = async (directory: string): Promise<string> => {
    const error = await startEmbeddedPostgres({ dataDir: directory }).catch((reason: unknown) => reason);
    const { message } = error as Error;
    expect(message).toMatch(/^The embedded PostgreSQL is not available: .*set DATABASE_URL\.$/);
    return message;
  };

  it("names the package that the platform lacks", async () => {
    vi.spyOn(process, "arch", "get").mockReturnValue("riscv64");
    expect(await refusal(dataDir)).toContain(
      `@embedded-postgres/${process.platform}-riscv64 is not installed`,
    );
  });

  it("names a folder that can't be made", async () => {
    expect(await refusal("/dev/null/data")).toContain("/dev/null/data");
  });

  it("names the log, which has the reason", async () => {
    await start().then((server) => server.stop());
    await appendFile(inData("postgresql.conf"), "no_such_setting = 1\n");
    const log = join(dataDir, "postgres", "postgres.log");
    expect(await refusal(dataDir)).toContain(
      `could not start server | Examine the log output. (its log: ${log})`,
    );
    expect(await readFile(log, "utf8")).toContain("no_such_setting");
  });
});
