import { join } from "node:path";
import pg from "pg";
import { expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../../runtime/embedded/embedded-postgres.js";
import { type SmallDisk, smallDisk } from "./small-disk.js";
import { startLoad } from "./load.js";
import { health, RELATIONS, serveFrom, someKey } from "./world.js";

/** A new cluster takes 42 MB, one more segment of its log 16. */
const MEGABYTES = 160;

const disk = smallDisk(MEGABYTES);
if (typeof disk === "string") {
  console.warn(
    `NOT TESTED: a full disk. It takes a small file system, which could not be mounted here: ${disk}`,
  );
}

const SECONDS = { timeout: 60_000, interval: 50 };
/** Recovery included. */
const BACK = { timeout: 60_000, interval: 50 };

const warnings: string[] = [];

async function start({ folder }: SmallDisk): Promise<EmbeddedPostgres> {
  const log = { info: () => undefined, warn: (line: string) => void warnings.push(line) };
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, "data"), log });
  atEnd(() => postgres.stop());
  return postgres;
}

async function run({ url }: EmbeddedPostgres, sql: string): Promise<void> {
  const client = new pg.Client(url);
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Asks for what the database can only make with a temporary file. */
async function askForMuch(base: string): Promise<readonly [status: number, text: string]> {
  const response = await fetch(`${base}/v1/faults/spilling`, { headers: { "x-api-key": someKey() } });
  return [response.status, await response.text()];
}

const REFUSED = [500, '{"detail":"Database query failed."}'];

it.skipIf(typeof disk === "string")(
  "goes on answering on a full disk, refuses what takes room, and has all it had once there is room and it is started again",
  async () => {
    if (typeof disk === "string") return;
    const postgres = await start(disk);
    await run(postgres, RELATIONS);
    const base = await serveFrom({ DATABASE_URL: postgres.url });
    const load = startLoad(base);
    await load.settled();

    disk.fill();
    await load.settled(400);
    expect(await askForMuch(base)).toEqual(REFUSED);
    const build = "CREATE TABLE built AS SELECT repeat('x', 1000) FROM generate_series(1, 100000)";
    await expect(run(postgres, build)).rejects.toMatchObject({ code: "53100" });
    await load.settled();
    expect(load.tally).toMatchObject({ refusals: {}, broken: 0, wrong: [] });
    expect(await health(base)).toBe(200);

    // A server that has no room for its log ends itself: it could not keep what it would promise.
    const log = "SELECT pg_logical_emit_message(true, '', repeat('x', 1000000)) FROM generate_series(1, 60)";
    await expect(run(postgres, log)).rejects.toThrow();
    await expect.poll(() => health(base), SECONDS).toBe(503);
    const before = load.refused();
    await expect.poll(load.refused, SECONDS).toBeGreaterThan(before + 50);

    disk.free();
    const restarted = await start(disk);
    expect(restarted.url).toBe(postgres.url);
    await expect.poll(() => health(base), BACK).toBe(200);
    await load.settled(400);
    const tally = await load.stop();
    console.log("disk full:", JSON.stringify({ ...tally, warnings }));
    expect(tally.wrong).toEqual([]);
    expect(warnings).toContainEqual(expect.stringMatching(/ closed the connection. The reason is in /));
    expect(await askForMuch(base)).toEqual([200, '[{"count":1000000}]']);
    await run(postgres, "REINDEX TABLE pages; CREATE TABLE built AS SELECT 1");
  },
);
