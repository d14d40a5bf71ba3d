/** The demo on ClickHouse: the starter's relations leave PostgreSQL as Parquet and are loaded by `routewright ddl`, as a team copies its marts. */
import { createWriteStream, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import { readCatalogueIn } from "../../generator/catalogue/catalogue-file.js";
import { copiedRelations } from "../../generator/ddl/copied-relation.js";
import { type DuckDb, duckdbIdentifier, openDuckDb } from "../../generator/ddl/postgres/duckdb.js";
import { run } from "../../generator/dist/cli.js";
import type { BuildResults } from "./relations.js";
import { ClickhouseServer } from "../clickhouse/start-clickhouse.js";

/** A ClickHouse that serves the starter's relations. */
export interface DemoCopy {
  /** Its generated folder. */
  readonly generated: string;
  /** Its address as a user who only reads. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a ClickHouse and loads the relations into it. `folder`: of what it keeps. */
export async function copyToClickhouse(
  postgresUrl: string,
  starterDir: string,
  folder: string,
  builds: BuildResults["builds"],
): Promise<DemoCopy> {
  const server = await ClickhouseServer.start({ folder: resolve(folder, "server") });
  try {
    mkdirSync(folder, { recursive: true });
    const manifest = resolve(starterDir, "manifest.json");
    const config = { manifest, engine: "clickhouse", runResults: "run_results.json" };
    writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(config));
    writeFileSync(join(folder, "run_results.json"), JSON.stringify(runResultsOf(builds)));
    await commandIn(folder, ["generate"]);
    await exportRelations(postgresUrl, folder);
    const from = ["--from", "exports/{name}.parquet", "--apply", "--database", server.url()];
    await commandIn(folder, ["ddl", ...from]);
    return {
      generated: join(folder, "generated"),
      url: server.url("default", "api:secret"),
      stop: () => server.kill(),
    };
  } catch (error) {
    await server.kill();
    throw error;
  }
}

/** As dbt writes it. */
function runResultsOf(builds: BuildResults["builds"]): object {
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
      generated_at: new Date().toISOString(),
    },
    args: { which: "build" },
    results: builds.map(({ node, completedAt }) => ({
      unique_id: node,
      status: "success",
      timing: [{ name: "execute", completed_at: new Date(completedAt).toISOString() }],
    })),
  };
}

/** Commands read the config file of the folder in which they run. */
async function commandIn(folder: string, args: readonly string[]): Promise<void> {
  const before = process.cwd();
  process.chdir(folder);
  try {
    if ((await run(args)) !== 0) throw new Error(`routewright ${args[0] ?? ""} failed.`);
  } finally {
    process.chdir(before);
  }
}

/** Writes each relation that the endpoints of the folder read to `exports/<name>.parquet`. */
export async function exportRelations(postgresUrl: string, folder: string): Promise<void> {
  const catalogue = readCatalogueIn(join(folder, "generated"));
  if (catalogue?.ok !== true) throw new Error("The demo's catalogue cannot be read.");
  const opened = await openDuckDb(["SET TimeZone = 'UTC'"]);
  if (!opened.ok) throw new Error(opened.problems.join(" "));
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  const exports = join(folder, "exports");
  rmSync(exports, { recursive: true, force: true });
  mkdirSync(exports);
  try {
    await client.query("SET timezone = 'UTC'");
    for (const { relation } of copiedRelations(catalogue.value))
      await exportRelation(client, opened.value, relation, join(exports, relation[1]));
  } finally {
    opened.value.close();
    await client.end();
  }
}

interface ExportedColumn {
  readonly name: string;
  readonly type: string;
}

const COLUMNS = `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
  WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`;

async function exportRelation(
  client: pg.Client,
  duckdb: DuckDb,
  relation: readonly string[],
  file: string,
): Promise<void> {
  const name = relation.map((part) => pg.escapeIdentifier(part)).join(".");
  const { rows: columns } = await client.query<ExportedColumn>(COLUMNS, [name]);
  const texts = columns.map((column) => {
    const own = pg.escapeIdentifier(column.name);
    return column.type.endsWith("[]") ? `to_json(${own}) AS ${own}` : own;
  });
  const copy = `COPY (SELECT ${texts.join(", ")} FROM ${name}) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *)`;
  await pipeline(client.query(copyTo(copy)), createWriteStream(`${file}.csv`));
  const values = columns.map((column) => valueOf(column)).join(", ");
  const read = `read_csv('${file}.csv', header = true, all_varchar = true, allow_quoted_nulls = false)`;
  await duckdb.rows(`COPY (SELECT ${values} FROM ${read}) TO '${file}.parquet' (FORMAT parquet)`);
}

/** Types of PostgreSQL that DuckDB writes under another name; it has most of the others by the same. */
const DUCKDB_TYPES: Readonly<Record<string, string>> = {
  "double precision": "DOUBLE",
  "timestamp with time zone": "TIMESTAMPTZ",
  real: "FLOAT",
  interval: "VARCHAR",
  json: "VARCHAR",
  jsonb: "VARCHAR",
  text: "VARCHAR",
};

function valueOf({ name, type }: ExportedColumn): string {
  const own = duckdbIdentifier(name);
  const item = type.replace(/\[\]$/, "");
  const named = DUCKDB_TYPES[item] ?? item;
  return `CAST(${item === type ? own : `${own}::JSON`} AS ${named}${item === type ? "" : "[]"}) AS ${own}`;
}
