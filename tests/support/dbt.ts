import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { atEnd } from "./at-end.js";
import { clickhouseUrl } from "./clickhouse.js";
import { databaseUrl } from "./database.js";
import { byEngine } from "./engines.js";
import { programPath } from "./needs.js";
import { ownFolder } from "./service.js";

/** Files of a dbt project, by their path. */
export type ProjectFiles = Readonly<Record<string, string>>;

/** A dbt project of a test's own, run by the real dbt against the test database. */
export class DbtProject {
  readonly folder = ownFolder();
  /** Schema that dbt builds into. */
  readonly schema: string;

  constructor(schema: string, files: ProjectFiles) {
    this.schema = schema;
    const target = {
      ...byEngine({ postgres: postgresTarget, clickhouse: clickhouseTarget })(),
      schema,
      threads: 2,
    };
    this.write({
      // YAML reads JSON.
      "dbt_project.yml": JSON.stringify({ name: "shop", profile: "shop", "model-paths": ["models"] }),
      "profiles.yml": JSON.stringify({ shop: { target: "test", outputs: { test: target } } }),
      ...files,
    });
  }

  write(files: ProjectFiles): void {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, file)), { recursive: true });
      writeFileSync(join(this.folder, file), text);
    }
  }

  get manifestFile(): string {
    return join(this.folder, "target/manifest.json");
  }

  get runResultsFile(): string {
    return join(this.folder, "target/run_results.json");
  }

  /** The manifest that dbt wrote last. */
  get manifest(): unknown {
    return JSON.parse(readFileSync(this.manifestFile, "utf8"));
  }

  /** Runs dbt and returns its exit code with what it printed: 0, or 1 where a model or a test failed. */
  async run(...args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
    const child = spawn(programPath("dbt"), [...args, "--no-use-colors"], {
      cwd: this.folder,
      env: {
        ...process.env,
        DBT_PROFILES_DIR: this.folder,
        DBT_SEND_ANONYMOUS_USAGE_STATS: "false",
        DO_NOT_TRACK: "1",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    atEnd(() => void child.kill("SIGKILL"));
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once("error", reject).once("close", resolve),
    );
    return { code, output };
  }
}

function postgresTarget(): object {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  return {
    type: "postgres",
    host: hostname,
    port: Number(port),
    user: username,
    password: decodeURIComponent(password),
    dbname: pathname.slice(1),
  };
}

/** As the owner, who has no password. */
function clickhouseTarget(): object {
  const { hostname, port } = new URL(clickhouseUrl());
  return {
    type: "clickhouse",
    driver: "http",
    host: hostname,
    port: Number(port),
    user: "default",
    password: "",
  };
}
