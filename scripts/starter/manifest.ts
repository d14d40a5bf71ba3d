/**
 * Regenerates `templates/starter/manifest.json`: `npx tsx scripts/starter/manifest.ts`.
 *
 * Needs python3 and a PostgreSQL whose user may create databases: DATABASE_URL, by default
 * `postgres://postgres@127.0.0.1:5432/postgres`. dbt builds the starter project, tests included, in a database of its own
 * that is dropped afterwards; nothing else on the server is touched.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
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

/** Fixed, so that the manifest changes only when somebody means it to. */
const PACKAGES = ["dbt-core==1.11.16", "dbt-postgres==1.11.0"];

/** dbt in a virtual environment of its own, working on one project and one database. */
interface Dbt {
  /** Where dbt leaves manifest.json. */
  readonly targetDir: string;
  run(...args: readonly string[]): Promise<void>;
}

/** Installs dbt into a scratch folder, with its output there too, so that the project's folder stays clean. */
async function installDbt(scratchDir: string, projectDir: string, database: URL): Promise<Dbt> {
  const bin = join(scratchDir, "venv", "bin");
  await execute("python3", ["-m", "venv", join(scratchDir, "venv")], process.env);
  await execute(join(bin, "pip"), ["install", "--quiet", "--only-binary", ":all:", ...PACKAGES], process.env);
  const targetDir = join(scratchDir, "target");
  const folders = ["--project-dir", projectDir, "--profiles-dir", projectDir];
  const output = ["--target-path", targetDir, "--log-path", join(scratchDir, "logs")];
  const environment = { ...process.env, ...connectionVariables(database) };
  return {
    targetDir,
    run: (...args) => execute(join(bin, "dbt"), [...args, ...folders, ...output], environment),
  };
}

/** The variables that the project's profiles.yml reads. */
function connectionVariables(database: URL): Record<string, string> {
  return {
    DBT_HOST: database.hostname,
    DBT_PORT: database.port || "5432",
    DBT_USER: decodeURIComponent(database.username),
    DBT_PASSWORD: decodeURIComponent(database.password),
    DBT_DATABASE: database.pathname.slice(1),
    DBT_SCHEMA: "analytics",
  };
}

function execute(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: "inherit" });
    child.once("error", (cause) =>
      reject(new Error(`${command} could not be started: ${cause.message}`, { cause })),
    );
    child.once("exit", (code, signal) =>
      code === 0
        ? resolve()
        : reject(new Error(`${command} ${args[0]} ended with ${signal ?? `exit code ${code}`}.`)),
    );
  });
}

const manifest = await makeManifest(new URL(process.env["DATABASE_URL"] ?? DEFAULT_SERVER));
await writeFile(join(STARTER_DIR, "manifest.json"), manifest);
console.log(
  `templates/starter/manifest.json: ${Object.keys((JSON.parse(manifest) as { nodes: object }).nodes).length} nodes.`,
);
