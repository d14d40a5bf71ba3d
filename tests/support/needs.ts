import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CLICKHOUSE_INSTALL, CLICKHOUSE_LIBRARY } from "../../scripts/clickhouse/start-clickhouse.js";

const READERS_OF_NODE =
  "npm install --prefix .data/readers/node @stoplight/prism-cli@5.16.0 newman@6.2.2 openapi-to-postmanv2@6.3.3 axios@1.21.1";
const READERS_OF_PYTHON =
  "pip install uv && uv pip install --target .data/readers/python dlt==1.31.0 fastmcp==4.1.6 openapi-generator-cli==7.26.0 build==1.3.0 setuptools twine==6.2.0";

/** Programs that some tests run, and how to install each. `.ci/run` installs all of them. */
const INSTALL = {
  chromium: "apt-get install chromium-headless-shell",
  git: "apt-get install git",
  "redis-server": "apt-get install redis-server",
  nginx: "apt-get install nginx",
  "ngx_http_cache_purge_module.so": "apt-get install libnginx-mod-http-cache-purge",
  varnishd: "apt-get install varnish",
  pgbouncer: "apt-get install pgbouncer",
  prometheus: "apt-get install prometheus",
  psql: "apt-get install postgresql-client",
  initdb: "apt-get install postgresql-15",
  pg_dump: "apt-get install postgresql-15",
  duckdb: "pip install duckdb-cli==1.5.6",
  dbt: "pip install 'dbt-core<1.12' dbt-postgres dbt-clickhouse dbt-duckdb",
  mf: "pip install metricflow==0.213.0 dbt-metricflow==0.15.0",
  "openapi-python-client": "pip install openapi-python-client==0.29.1",
  schemathesis: "pip install schemathesis==4.32.5",
  python3: "apt-get install python3",
  pyarrow: "pip install pyarrow",
  openssl: "apt-get install openssl",
  curl: "apt-get install curl",
  "kubernetes-validate": "pip install kubernetes-validate",
  "check-jsonschema": "pip install check-jsonschema",
  conformance: "npm install --prefix .data/mcp node@26 @modelcontextprotocol/conformance@0.2.0-alpha.12",
  "openapi-ts": "npm install --prefix .data/clients @hey-api/openapi-ts@0.95.0 orval@7.13.2",
  orval: "npm install --prefix .data/clients @hey-api/openapi-ts@0.95.0 orval@7.13.2",
  "@opentelemetry/sdk-node":
    "npm install --prefix .data/tracing @opentelemetry/sdk-node@0.223.0 @opentelemetry/exporter-trace-otlp-http@0.223.1",
  "odata-csdl": "npm install --prefix .data/odata odata-csdl@0.11.2 libxml2-wasm@0.7.2",
  "@odata/client": "npm install --prefix .data/odata @odata/client@2.21.10 o.js@2.0.0",
  odata: "pip install --target .data/odata/python python-odata==0.8.1",
  prism: READERS_OF_NODE,
  dlt: READERS_OF_PYTHON,
  "openapi-generator-cli": READERS_OF_PYTHON,
  twine: READERS_OF_PYTHON,
  "tap-rest-api-msdk":
    "pip install uv && uv pip install --target .data/readers/singer tap-rest-api-msdk==1.4.2 langchain-mcp-adapters==0.3.2 'setuptools<81'",
  go: "apt-get install golang-go",
  javac: "apt-get install default-jdk-headless",
  "odata-client-core-5.0.0.jar":
    "apt-get install maven && mvn -f tests/end-to-end/pom.xml dependency:copy-dependencies -DoutputDirectory=$PWD/.data/readers/java",
  "@duckdb/node-api": "npm install --prefix .data/duckdb @duckdb/node-api@1.5.6-r.1",
  "libchdb.so": CLICKHOUSE_INSTALL,
  moto_server: "pip install 'moto[server,s3,iam]==5.2.5'",
  "gcp-storage-emulator": "pip install gcp-storage-emulator==2026.7.19",
  "azurite-blob": "npm install --prefix .data/stores azurite@3.35.0",
} as const;
export type Program = keyof typeof INSTALL;

/** Debian keeps servers where a user's PATH does not lead. */
const FOLDERS = [
  ...(process.env["PATH"] ?? "").split(delimiter),
  "/usr/sbin",
  "/usr/local/sbin",
  "/usr/lib/postgresql/15/bin",
  "/usr/lib/nginx/modules",
  dirname(CLICKHOUSE_LIBRARY),
  ...[
    "mcp/node_modules/.bin",
    "clients/node_modules/.bin",
    "tracing/node_modules",
    "stores/node_modules/.bin",
    "duckdb/node_modules",
    "odata/node_modules",
    "odata/python",
    "readers/node/node_modules/.bin",
    "readers/python/bin",
    "readers/singer/bin",
    "readers/java",
  ].map((path) => fileURLToPath(new URL(`../../.data/${path}`, import.meta.url))),
];

/**
 * Whether programs are installed: `describe.skipIf(!needs("nginx"))`. A missing one skips the tests with a warning, and is
 * an error under `CI=true`.
 */
export function needs(...programs: readonly Program[]): boolean {
  const missing = programs.filter((program) => find(program) === null);
  if (missing.length === 0) return true;
  const message = missing
    .map((program) => `${program} is not installed (${INSTALL[program]}${orVariable(program)})`)
    .join("; ");
  if (process.env["CI"] === "true") throw new Error(`${message}.`);
  console.warn(`SKIPPED: ${message}.`);
  return false;
}

/** Path of an installed program. */
export function programPath(program: Program): string {
  return find(program) ?? program;
}

/** Names of a program's file, the preferred one first. A browser without windows takes half as long to start, and a fifth less to draw. */
const FILES: Partial<Record<Program, readonly string[]>> = {
  chromium: ["chromium-headless-shell", "chromium"],
};

/** Modules of Python, which lie where its own look-up finds them. */
const MODULES: ReadonlySet<Program> = new Set(["pyarrow"]);

/** Whether Python has a module, without loading it. */
function hasModule(name: string): boolean {
  const found = `import importlib.util as u, sys; sys.exit(u.find_spec("${name}") is None)`;
  return spawnSync("python3", ["-c", found], { stdio: "ignore" }).status === 0;
}

function find(program: Program): string | null {
  if (MODULES.has(program)) return hasModule(program) ? program : null;
  const named = process.env[variable(program)];
  const files = FILES[program] ?? [program];
  const paths =
    named === undefined ? files.flatMap((file) => FOLDERS.map((folder) => join(folder, file))) : [named];
  return paths.find(isExecutable) ?? null;
}

const orVariable = (program: Program): string =>
  MODULES.has(program) ? "" : `, or set ${variable(program)}`;

/** `REDIS_SERVER_PATH` of `redis-server`. */
function variable(program: Program): string {
  return `${program.toUpperCase().replace(/\W/g, "_")}_PATH`;
}

function isExecutable(path: string): boolean {
  try {
    // A module is loaded by a program.
    accessSync(path, /\.(?:so|jar)$/.test(path) ? constants.R_OK : constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
