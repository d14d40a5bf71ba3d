import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { buildDemoRelations } from "../../scripts/demo/relations.js";
import { ClickhouseServer, freePort } from "../../scripts/clickhouse/start-clickhouse.js";
import { startEmbeddedPostgres } from "../../runtime/postgres/embedded/embedded-postgres.js";
import { needs } from "./needs.js";
import { startWarmDbt } from "./warm-dbt.js";

const inRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/**
 * Starts the real databases that tests run against. PostgreSQL, with the starter's relations in it: the embedded one, kept
 * so that only the first run pays for it, or the one that `TEST_DATABASE_URL` names. ClickHouse, where it is
 * installed: a new one each time. The runner calls this for each project and for the run: the first call starts them for all.
 */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env["TEST_RAMP_TEMPLATE"] !== undefined) return () => Promise.resolve();
  const template = (process.env["TEST_RAMP_TEMPLATE"] = `test_ramp_${randomBytes(4).toString("hex")}`);
  const memory = await memoryFolder();
  // Folders that tests make for themselves. Those of the rest may be large.
  if (memory !== null && process.env["TEST_SET"] === "quick") process.env["TMPDIR"] ??= memory;
  const dataDir = memory ?? inRoot(".data/test");
  const [postgres, clickhouse, stopDbt] = await Promise.all([
    startPostgres(dataDir),
    startClickhouse(),
    // No quick one runs dbt.
    process.env["TEST_SET"] === "quick" ? () => Promise.resolve() : startWarmDbt(),
  ]);
  return async () => {
    await stopDbt();
    await dropDatabase(postgres.url, template);
    await clickhouse?.stop();
    await postgres.stop();
    // Clones of CI come and go.
    if (memory !== null && process.env["CI"] !== undefined)
      await rm(memory, { recursive: true, force: true });
  };
}

async function startPostgres(dataDir: string): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const named = process.env["TEST_DATABASE_URL"];
  const embedded = named === undefined ? await startEmbeddedPostgres({ dataDir }) : null;
  const url = named ?? embedded?.url ?? "";
  if (embedded !== null) await forShortLives(url);
  process.env["TEST_DATABASE_URL"] = url;
  await buildDemoRelations(url, inRoot("templates/starter"));
  return { url, stop: () => embedded?.stop() ?? Promise.resolve() };
}

const MEMORY = "/dev/shm";
/** A run fills less than a third. */
const LEAST_BYTES = 4 * 1024 ** 3;

/**
 * A folder of this clone's in memory, null where there is little of it. A database has 300 files, and on a disk whose folders are
 * full of files they take ten times the processor time.
 */
async function memoryFolder(): Promise<string | null> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  if (bavail * bsize < LEAST_BYTES) return null;
  const clone = createHash("sha256").update(inRoot("")).digest("hex").slice(0, 12);
  const folder = join(MEMORY, `routewright-test-${clone}`);
  await mkdir(folder, { recursive: true });
  return folder;
}

/**
 * Nothing here must survive a crash of the machine, and the tests create and drop some 200 databases: with fsync dropping
 * one takes 2.7 s and 100 commits 0.9 to 1.4 s, without it 0.1 to 0.3 s and 0.03 s. For each of their many sessions hashing a
 * password 4,096 times takes 1 of 3 ms. Each database would be looked at for vacuum once a minute.
 */
const FOR_SHORT_LIVES = [
  "fsync = off",
  "full_page_writes = off",
  "max_wal_size = '128MB'",
  "synchronous_commit = off",
  "scram_iterations = 1",
  "autovacuum_naptime = '1h'",
];

async function forShortLives(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const setting of FOR_SHORT_LIVES) await client.query(`ALTER SYSTEM SET ${setting}`);
  await client.query("SELECT pg_reload_conf()");
  // The password is hashed anew.
  const { username, password } = new URL(url);
  await client.query(`SET scram_iterations = 1; ALTER ROLE ${username} PASSWORD '${password}'`);
  await client.end();
}

/** The one that tests copy (`tests/ramp/support/migrated.ts`), if one did. */
async function dropDatabase(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await client.end();
}

/** Statements of tests differ: what compiling them takes, a tenth of the server's processor time, is not won back. */
const NOT_COMPILED = {
  compile_expressions: "0",
  compile_aggregate_expressions: "0",
  compile_sort_description: "0",
};

async function startClickhouse(): Promise<{ stop(): Promise<void> } | null> {
  if (!needs("libchdb.so", "python3")) return null;
  const folder = await mkdtemp(join(tmpdir(), "clickhouse-"));
  const tcpPort = await freePort();
  const server = await ClickhouseServer.start({ folder, tcpPort, shards: [tcpPort], settings: NOT_COMPILED });
  process.env["TEST_CLICKHOUSE_URL"] = server.url();
  return {
    async stop() {
      await server.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
