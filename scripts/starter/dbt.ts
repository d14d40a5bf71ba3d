import { spawn } from "node:child_process";
import { join } from "node:path";

/** Fixed, so that the manifest changes only when somebody means it to. */
const PACKAGES = ["dbt-core==1.11.16", "dbt-postgres==1.11.0"];

/** dbt in a virtual environment of its own, working on one project and one database. */
export interface Dbt {
  /** Where dbt leaves manifest.json. */
  readonly targetDir: string;
  run(...args: readonly string[]): Promise<void>;
}

/** Installs dbt into a scratch folder, with its output there too, so that the project's folder stays clean. */
export async function installDbt(scratchDir: string, projectDir: string, database: URL): Promise<Dbt> {
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
