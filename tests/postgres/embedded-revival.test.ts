import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import pg from "pg";
import { describe, expect, it, vi } from "vitest";

import { startEmbeddedPostgres, type EmbeddedPostgres } from "../../runtime/embedded/embedded-postgres.js";
import { startLoad } from "../faults/load.js";
import { health, RELATIONS, serveFrom } from "../faults/world.js";
import { atEnd, ownFolder } from "../support/service.js";

const MODULE = new URL("../../runtime/embedded/embedded-postgres.ts", import.meta.url).href;

vi.setConfig({ testTimeout: 90_000 });
const PATIENCE = { timeout: 30_000, interval: 20 };

/** A folder for a server, and what there is to see of it and to do to it from outside. */
class Place {
  readonly dataDir = ownFolder();
  /** What its users in this process were told; `!` before what somebody should see to. */
  readonly told: string[] = [];
  readonly #data = join(this.dataDir, "postgres", "data");
  readonly #settings = join(this.#data, "postgresql.auto.conf");
  readonly #servers: EmbeddedPostgres[] = [];
  #good = "";

  constructor() {
    atEnd(async () => {
      for (const server of this.#servers) await server.stop();
      // Those who used it in other processes were killed.
      if (this.processes().length > 0) await this.start().then((heir) => heir.stop());
    });
  }

  async start(): Promise<EmbeddedPostgres> {
    const server = await startEmbeddedPostgres({
      dataDir: this.dataDir,
      log: (line) => {
        if (!/ answers |making/.test(line)) this.told.push(line);
      },
      warn: (line) => this.told.push(`! ${line}`),
    });
    this.#servers.push(server);
    return server;
  }

  /** Kills the server's first process, and that alone. */
  kill(): void {
    process.kill(Number.parseInt(readFileSync(join(this.#data, "postmaster.pid"), "utf8"), 10), "SIGKILL");
  }

  /** Keeps it from starting. */
  spoil(): void {
    this.#good = readFileSync(this.#settings, "utf8");
    writeFileSync(this.#settings, `${this.#good}no_such_setting = 1\n`);
  }

  mend(): void {
    writeFileSync(this.#settings, this.#good);
  }

  /** How often its log says something. */
  logged(text: string): number {
    return readFileSync(join(this.dataDir, "postgres.log"), "utf8").split(text).length - 1;
  }

  /** How often it was tried to start it while it could not. */
  failures(): number {
    return this.logged("contains errors");
  }

  /** Processes that work on it. */
  processes(): readonly string[] {
    return readdirSync("/proc").filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === this.#data;
      } catch {
        return false;
      }
    });
  }
}

async function ask(server: Pick<EmbeddedPostgres, "url">, sql: string): Promise<Record<string, unknown>> {
  const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 5000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const result = (await client.query(sql)) as pg.QueryResult | pg.QueryResult[];
    return (Array.isArray(result) ? result.at(-1) : result)?.rows[0] ?? {};
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Resolves to the first answer. */
function answer(server: Pick<EmbeddedPostgres, "url">, sql: string): Promise<Record<string, unknown>> {
  return vi.waitFor(() => ask(server, sql), PATIENCE);
}

const GONE = /^! embedded PostgreSQL has ended by itself and is started again: \S.*$/;
const BACK = /^embedded PostgreSQL is back on 127\.0\.0\.1:\d+ after [\d.]+ s \(starts: \d+\)$/;
const ONCE = [expect.stringMatching(GONE), expect.stringMatching(BACK)];

describe("an embedded PostgreSQL whose server was killed", () => {
  it("is back by itself at the same address with all it had, and is told of once each way", async () => {
    const place = new Place();
    const server = await place.start();
    await ask(server, "CREATE TABLE kept AS SELECT 42 AS answer");
    place.kill();
    expect(await answer(server, "SELECT answer FROM kept")).toEqual({ answer: 42 });
    await vi.waitFor(() => expect(place.told).toEqual(ONCE), PATIENCE);
    expect(place.told[0]).toMatch(/: it was killed, as when memory runs out$/);
    await server.stop();
    expect(place.processes()).toEqual([]);
    expect(place.told).toHaveLength(2);
  });

  it("does not wait for a long statement that its server has left behind", async () => {
    const place = new Place();
    const server = await place.start();
    const long = expect(ask(server, LONG)).rejects.toThrow("terminating connection");
    await vi.waitFor(async () => expect(await ask(server, LONG_RUNS)).toEqual({ n: 1 }), PATIENCE);
    place.kill();
    await long;
    expect(await answer(server, "SELECT 1 AS one")).toEqual({ one: 1 });
  });

  it("is tried again and again while it can't start, and is told of once", async () => {
    const place = new Place();
    const server = await place.start();
    place.spoil();
    place.kill();
    await vi.waitFor(() => expect(place.failures()).toBeGreaterThanOrEqual(3), PATIENCE);
    expect(place.told).toEqual([expect.stringMatching(GONE)]);
    place.mend();
    expect(await answer(server, "SELECT 1 AS one")).toEqual({ one: 1 });
    await vi.waitFor(() => expect(place.told).toEqual(ONCE), PATIENCE);
  });

  it("is started again by one of its users alone, in whatever process", async () => {
    const place = new Place();
    const servers = [await place.start(), await place.start()];
    const others = [await user(place), await user(place)];
    for (let round = 1; round <= 3; round++) {
      const told = [place.told, ...others.map((other) => other.told)];
      place.kill();
      for (const { url } of [...servers, ...others]) expect(url).toBe(servers[0]!.url);
      expect(await answer(servers[0]!, "SELECT 1 AS one")).toEqual({ one: 1 });
      await vi.waitFor(() => expect(told.flat()).toHaveLength(2 * round), PATIENCE);
      await vi.waitFor(async () => expect(await ask(servers[0]!, USERS)).toEqual({ n: 4 }), PATIENCE);
    }
    expect(place.logged("starting PostgreSQL")).toBe(4);
    expect(place.logged("lock file")).toBe(0);
  });

  it("is joined at the old address by who comes while it's away", async () => {
    const place = new Place();
    const server = await place.start();
    place.spoil();
    place.kill();
    await vi.waitFor(() => expect(place.failures()).toBeGreaterThanOrEqual(1), PATIENCE);
    const newcomer = place.start();
    await sleep(500);
    place.mend();
    expect((await newcomer).url).toBe(server.url);
    expect(await answer(server, "SELECT 1 AS one")).toEqual({ one: 1 });
  });

  it("is started again by another user when the one that was about to is killed", async () => {
    const place = new Place();
    const users = [await user(place), await user(place)];
    place.spoil();
    place.kill();
    await vi.waitFor(() => expect(place.failures()).toBeGreaterThanOrEqual(2), PATIENCE);
    const [first] = users.filter(({ told }) => told.length === 1);
    const [other] = users.filter((each) => each !== first);
    await killed(first!.child);
    place.mend();
    expect(await answer(other!, "SELECT 1 AS one")).toEqual({ one: 1 });
    await vi.waitFor(async () => expect(await ask(other!, USERS)).toEqual({ n: 1 }), PATIENCE);
  });
});

/** It takes hours. */
const LONG = "SELECT count(*) FROM generate_series(1, 100000000000)";
const LONG_RUNS =
  "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM gen%'";

const USERS =
  "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'routewright: uses this server'";

/** A Node process of its own that uses the server until it's killed, and what it's told. */
async function user(place: Place): Promise<{ child: ChildProcess; url: string; told: readonly string[] }> {
  const script = `
    import { startEmbeddedPostgres } from ${JSON.stringify(MODULE)};
    const tell = (line) => / answers |making/.test(line) || console.log(line);
    const { url } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(place.dataDir)}, log: tell });
    console.log(url);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  atEnd(() => killed(child));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const told: string[] = [];
  child.stdout.on("data", (chunk: Buffer) => told.push(...chunk.toString().trim().split("\n")));
  return { child, url: line.toString().trim(), told };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

describe("a stop while the server is away", () => {
  it("ends a long statement that the server has left behind", async () => {
    const place = new Place();
    const server = await place.start();
    const long = expect(ask(server, LONG)).rejects.toThrow("terminating connection");
    await vi.waitFor(async () => expect(await ask(server, LONG_RUNS)).toEqual({ n: 1 }), PATIENCE);
    place.spoil();
    place.kill();
    await server.stop();
    await long;
    expect(place.processes()).toEqual([]);
  });

  it("ends at once, and leaves the server away", async () => {
    const place = new Place();
    const server = await place.start();
    place.spoil();
    place.kill();
    await vi.waitFor(() => expect(place.failures()).toBeGreaterThanOrEqual(2), PATIENCE);
    await server.stop();
    expect(place.processes()).toEqual([]);
    place.mend();
    // As long as the pause that it was in.
    await sleep(2000);
    expect(place.processes()).toEqual([]);
    expect(place.told).toEqual([expect.stringMatching(GONE)]);
    const again = await place.start();
    expect(again.url).toBe(server.url);
    expect(place.logged("starting PostgreSQL")).toBe(2);
  });

  it("leaves nothing running, at whatever point of the restart it comes", async () => {
    const place = new Place();
    for (const ms of [0, 20, 40, 60, 80, 100, 130, 160, 200, 250, 300, 400]) {
      const servers = [await place.start(), await place.start()];
      place.kill();
      await sleep(ms);
      await Promise.all(servers.map((server) => server.stop()));
      expect(place.processes(), `after ${String(ms)} ms`).toEqual([]);
    }
  });

  it("leaves the rest to those that still use it", async () => {
    const place = new Place();
    const servers = [await place.start(), await place.start(), await place.start()];
    place.spoil();
    place.kill();
    await vi.waitFor(() => expect(place.failures()).toBeGreaterThanOrEqual(1), PATIENCE);
    await Promise.all(servers.slice(0, 2).map((server) => server.stop()));
    place.mend();
    expect(await answer(servers[2]!, "SELECT 1 AS one")).toEqual({ one: 1 });
    await servers[2]!.stop();
    expect(place.processes()).toEqual([]);
  });
});

describe("a service whose embedded PostgreSQL is killed under load", () => {
  it("refuses, is unhealthy, and answers all rightly again by itself", async () => {
    const place = new Place();
    const postgres = await place.start();
    await ask(postgres, RELATIONS);
    const base = await serveFrom({ DATABASE_URL: postgres.url });
    const load = startLoad(base);
    await load.settled();

    place.kill();
    const killed = performance.now();
    await expect.poll(() => health(base), { timeout: 20_000, interval: 1 }).toBe(503);
    await expect.poll(() => health(base), PATIENCE).toBe(200);
    const healthyMs = Math.round(performance.now() - killed);
    await load.settled(1);
    const answeredMs = Math.round(performance.now() - killed);
    await load.settled(400);
    console.log("killed:", JSON.stringify({ ...load.tally, healthyMs, answeredMs }));

    for (let round = 0; round < 3; round++) {
      const before = load.refused() + load.tally.broken;
      place.kill();
      await expect.poll(() => load.refused() + load.tally.broken, PATIENCE).toBeGreaterThan(before);
      await load.settled(200);
    }
    const tally = await load.stop();
    console.log("killed four times:", JSON.stringify({ ...tally, told: place.told }));
    expect(tally.wrong).toEqual([]);
    expect(load.refused()).toBeGreaterThan(0);
    expect(place.told).toEqual([...ONCE, ...ONCE, ...ONCE, ...ONCE]);
  });
});
