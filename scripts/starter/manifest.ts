/**
 * Makes `templates/starter/manifest.json` anew: `npx tsx scripts/starter/manifest.ts`.
 *
 * Needs python3 and a PostgreSQL whose user may create databases: DATABASE_URL, by default
 * `postgres://postgres@127.0.0.1:5432/postgres`. dbt builds the starter project, tests included, in a database of its own
 * that is dropped afterwards; nothing else on the server is touched.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { installDbt } from "./dbt.js";
import { type JsonObject, slimManifest } from "./slim.js";

const STARTER_DIR = fileURLToPath(new URL("../../templates/starter", import.meta.url));
const DEFAULT_SERVER = "postgres://postgres@127.0.0.1:5432/postgres";

/** Builds the project with dbt and returns the slim manifest's text. */
async function makeManifest(server: URL): Promise<string> {
  const scratchDir = await mkdtemp(join(tmpdir(), "routewright-starter-"));
  try {
    return await withScratchDatabase(server, async (database) => {
      const dbt = await installDbt(scratchDir, STARTER_DIR, database);
      await dbt.run("build");
      // A full refresh compiles incremental models as they are on an empty database, whatever was just built.
      await dbt.run("compile", "--full-refresh", "--quiet");
      const manifest = await readFile(join(dbt.targetDir, "manifest.json"), "utf8");
      return slimManifest(JSON.parse(manifest) as JsonObject);
    });
  } finally {
    await rm(scratchDir, { recursive: true, force: true });
  }
}

/** Runs work in a new database, which is dropped in the end whatever happened. */
async function withScratchDatabase<T>(server: URL, work: (database: URL) => Promise<T>): Promise<T> {
  const name = `routewright_starter_${process.pid}`;
  const admin = new pg.Client({ connectionString: server.href });
  await admin.connect();
  try {
    await admin.query(`create database ${pg.escapeIdentifier(name)}`);
    const database = new URL(server);
    database.pathname = `/${name}`;
    return await work(database);
  } finally {
    await admin.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`);
    await admin.end();
  }
}

const manifest = await makeManifest(new URL(process.env["DATABASE_URL"] ?? DEFAULT_SERVER));
await writeFile(join(STARTER_DIR, "manifest.json"), manifest);
console.log(
  `templates/starter/manifest.json: ${Object.keys((JSON.parse(manifest) as { nodes: object }).nodes).length} nodes.`,
);
