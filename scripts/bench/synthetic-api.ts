import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "../../runtime/embedded/embedded-postgres.js";
import { timeProgram } from "./process.js";

/** The installed command line. */
export const ROUTEWRIGHT = resolve("generator/bin/routewright.js");

/** Endpoints of each server under test. */
export const ENDPOINTS = 500;

export const SCHEMA = "bench";

/** Rows of the three tables behind all synthetic endpoints. */
export const TABLE_ROWS = [1, 100, 1000] as const;
export type TableRows = (typeof TABLE_ROWS)[number];

/** Rows of a page: all of them. */
const LIMIT = 1000;

/** One endpoint with its own view, so that no two concurrent requests share one execution. */
export interface SyntheticEndpoint {
  readonly path: string;
  readonly rows: TableRows;
  readonly view: string;
}

/** Views in the database; with more endpoints, several share one. A multiple of the number of tables. */
const VIEWS = 501;

/** The endpoints of a synthetic manifest, in 20 categories. */
export function syntheticEndpoints(count: number, views = VIEWS): SyntheticEndpoint[] {
  return Array.from({ length: count }, (_, i) => ({
    path: `/v1/${categoryOf(i)}/${resourceOf(i)}/daily`,
    rows: rowsOf(i % views),
    view: viewName(i % views),
  }));
}

const rowsOf = (view: number): TableRows => TABLE_ROWS[view % TABLE_ROWS.length] ?? 1;
const viewName = (view: number): string => `rows_${String(rowsOf(view))}_${String(view)}`;
const categoryOf = (i: number): string => `category_${String(i % 20)}`;
const resourceOf = (i: number): string => `series_${String(i).padStart(5, "0")}`;

export interface SyntheticManifest {
  readonly metadata: unknown;
  readonly nodes: Readonly<Record<string, { readonly description: string }>>;
}

/** A dbt manifest of those endpoints. */
export function syntheticManifest(count: number, views = VIEWS): SyntheticManifest {
  const models = syntheticEndpoints(count, views).map(({ view }, i) => model(i, view));
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: "postgres",
      project_name: "bench",
    },
    nodes: Object.fromEntries(models.map((node) => [node.unique_id, node])),
  };
}

/** Columns of the tables, as a manifest declares them. */
const COLUMNS = {
  day: "date",
  observed_at: "timestamptz",
  region: "text",
  category: "text",
  label: "text",
  amount_raw: "numeric(20,0)",
  amount_usd: "double precision",
  change_pct: "double precision",
} as const;

function model(i: number, view: string) {
  const name = `api_${resourceOf(i)}_daily`;
  const tags = ["production", "tier1", categoryOf(i), `api:${resourceOf(i)}`, "granularity:daily"];
  return {
    resource_type: "model",
    unique_id: `model.bench.${name}`,
    name,
    alias: view,
    schema: SCHEMA,
    description: `Series ${String(i)} by day.`,
    original_file_path: `models/${name}.sql`,
    tags,
    columns: Object.fromEntries(
      Object.entries(COLUMNS).map(([column, type]) => [
        column,
        { name: column, data_type: type, description: `The ${column.replace("_", " ")} of the series.` },
      ]),
    ),
    config: { tags, materialized: "table", meta: { api: API } },
  };
}

/** An ordinary endpoint: optional filters, a default order, pages. */
const API = {
  allow_unfiltered: true,
  parameters: [
    { name: "region", column: "region", operator: "IN", type: "string_list", max_items: 10 },
    { name: "start_date", column: "day", operator: ">=", type: "date", description: "First day." },
    { name: "end_date", column: "day", operator: "<=", type: "date", description: "Last day." },
  ],
  sort: [{ column: "day", direction: "DESC" }],
  sortable_fields: ["day", "amount_usd"],
  pagination: { enabled: true, default_limit: LIMIT, max_limit: LIMIT, response: "list" },
};

/** Writes a folder with `manifest.json` and its generated API, kept from run to run. */
export async function generateApi(parent: string, endpoints = ENDPOINTS, views = VIEWS): Promise<string> {
  const folder = join(parent, `endpoints-${String(endpoints)}-${String(views)}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(syntheticManifest(endpoints, views)));
  const args = [ROUTEWRIGHT, "generate", "--manifest", "manifest.json", "--out", "generated"];
  await timeProgram({ name: "generate", args, folder });
  return folder;
}

/** Generates an API of one model in a folder of its own. */
export async function generateModel(
  parent: string,
  section: string,
  model: Readonly<Record<string, unknown>>,
): Promise<string> {
  const folder = join(parent, section);
  mkdirSync(folder, { recursive: true });
  const id = `model.bench.${section}`;
  const metadata = { dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json" };
  const node = { resource_type: "model", unique_id: id, schema: SCHEMA, ...model };
  writeFileSync(join(folder, "manifest.json"), JSON.stringify({ metadata, nodes: { [id]: node } }));
  const args = [ROUTEWRIGHT, "generate", "--manifest", "manifest.json"];
  await timeProgram({ name: "generate", args, folder });
  return folder;
}

/** The database that all servers under test share. */
export interface Database {
  readonly url: string;
  /** Process id of the postmaster. */
  readonly pid: number;
  query(sql: string): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts an embedded PostgreSQL with the tables and views. */
export async function openDatabase(folder: string): Promise<Database> {
  const embedded = await startEmbeddedPostgres({ dataDir: join(folder, "database") });
  const { url } = embedded;
  const database = {
    url,
    pid: Number.parseInt(String(await query(url, "SELECT pg_read_file('postmaster.pid') AS value"))),
    query: (sql: string) => query(url, sql),
    stop: () => embedded.stop(),
  };
  try {
    await database.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE; CREATE SCHEMA ${SCHEMA}`);
    for (const rows of TABLE_ROWS) await database.query(tableSql(rows));
    await database.query(Array.from({ length: VIEWS }, (_, view) => viewSql(view)).join("; "));
    return database;
  } catch (error) {
    await database.stop();
    throw error;
  }
}

/** Runs SQL and returns `value` of the first row. */
async function query(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // Several statements have several results.
    const result = (await client.query(sql)) as pg.QueryResult<{ value: unknown }> | pg.QueryResult[];
    return Array.isArray(result) ? undefined : result.rows[0]?.value;
  } finally {
    await client.end();
  }
}

/** The values differ from row to row and are the same in every run. */
function tableSql(rows: TableRows): string {
  const table = `${SCHEMA}.rows_${String(rows)}`;
  return `CREATE TABLE ${table} AS SELECT
      date '2025-01-01' + i % 365 AS day,
      timestamptz '2025-01-01 00:00:00Z' + i * interval '37 minutes 0.25 seconds' AS observed_at,
      'region-' || i % 7 AS region,
      (ARRAY['bridge', 'card', 'validator'])[1 + i % 3] AS category,
      md5(i::text) AS label,
      (i * 18446744073709551.0)::numeric(20,0) AS amount_raw,
      i * 1234.5678::double precision / 7 AS amount_usd,
      sin(i) AS change_pct
    FROM generate_series(1, ${String(rows)}) AS i;
    ANALYZE ${table}`;
}

function viewSql(view: number): string {
  return `CREATE VIEW ${SCHEMA}.${viewName(view)} AS SELECT * FROM ${SCHEMA}.rows_${String(rowsOf(view))}`;
}
