import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { OwnServer } from "../support/own-server.js";
import { startLoad, type Tally } from "./load.js";
import { health, RELATIONS, serveFrom } from "./world.js";

const primary = await OwnServer.create();
await primary.query(RELATIONS);
const replicas = [await primary.follow(), await primary.follow()] as const;
const [first, second] = replicas;
const base = await serveFrom({
  DATABASE_URL: primary.url,
  DATABASE_REPLICA_URLS: replicas.map(({ url }) => url).join(),
  STATEMENT_TIMEOUT_MS: "5000",
});

const SECONDS = { timeout: 60_000, interval: 50 };
/** Longer than it takes to find out that a server hangs. */
const A_WHILE_MS = 8000;

afterEach(async () => {
  for (const server of [primary, ...replicas]) {
    server.thaw();
    await server.start();
  }
});

/** Lets faults happen under load, and waits until the service has settled. */
async function underLoad(name: string, faults: () => Promise<void>): Promise<Tally> {
  const load = startLoad(base);
  await load.settled();
  await faults();
  await load.settled();
  const tally = await load.stop();
  console.log(`${name}:`, JSON.stringify(tally));
  expect(tally.wrong).toEqual([]);
  return tally;
}

/** Connections that the service has to a server, its health checks left out. */
async function connections(server: OwnServer): Promise<number> {
  const rows = await server.query("SELECT FROM pg_stat_activity WHERE application_name = 'routewright'");
  return rows.length;
}

it("answers everything while a replica is killed, down and restarted", async () => {
  const tally = await underLoad("a replica killed", async () => {
    await first.kill();
    await sleep(A_WHILE_MS / 4);
    await first.start();
    await expect.poll(() => connections(first), SECONDS).toBeGreaterThan(0);
  });
  expect(tally.refusals).toEqual({});
});

it("answers everything while a replica hangs, and uses it again once it resumes", async () => {
  const tally = await underLoad("a replica hung", async () => {
    first.freeze();
    await sleep(A_WHILE_MS);
    first.thaw();
    await expect.poll(() => connections(first), SECONDS).toBeGreaterThan(0);
  });
  expect(tally.refusals).toEqual({});
});

it("answers everything from the primary while one replica hangs and the other is down", async () => {
  const tally = await underLoad("one replica hung and one stopped", async () => {
    second.freeze();
    await first.stop("fast");
    await sleep(A_WHILE_MS);
    expect(await connections(primary)).toBeGreaterThan(0);
    expect(await health(base)).toBe(200);
    second.thaw();
    await first.start();
    await expect.poll(() => connections(first), SECONDS).toBeGreaterThan(0);
  });
  expect(tally.refusals).toEqual({});
});

it("answers everything from the replicas while the primary is down", async () => {
  const tally = await underLoad("the primary killed", async () => {
    await primary.kill();
    await sleep(A_WHILE_MS / 4);
    expect(await health(base)).toBe(200);
    await primary.start();
  });
  expect(tally.refusals).toEqual({});
});

it("fails while all servers are down, and recovers without a restart", async () => {
  await underLoad("all servers killed", async () => {
    await Promise.all([primary, ...replicas].map((server) => server.kill()));
    await expect.poll(() => health(base), SECONDS).toBe(503);
    await sleep(A_WHILE_MS / 4);
    await second.start();
    await expect.poll(() => health(base), SECONDS).toBe(200);
  });
});
