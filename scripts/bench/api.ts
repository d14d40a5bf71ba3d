import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "../../runtime/postgres/embedded/embedded-postgres.js";
import { KEYS } from "./load.js";
import { type Server, startServer, timeProgram } from "./process.js";

/** The installed command line. */
export const ROUTEWRIGHT = resolve("generator/bin/routewright.js");

/** Endpoints of each server under test: more than any route look-up may notice. */
export const ENDPOINTS = 500;

export const SCHEMA = "bench";

/** Types of the columns, as a manifest declares them, and their values in row `i`: different in each row, the same in every run. */
type Columns = Readonly<Record<string, readonly [type: string, sql: string]>>;

export const ORDINARY = {
  day: ["date", "date '2025-01-01' + i % 365"],
  observed_at: ["timestamptz", "timestamptz '2025-01-01 00:00:00Z' + i * interval '37 minutes 0.25 seconds'"],
  region: ["text", "'region-' || i % 7"],
  category: ["text", "(ARRAY['bridge', 'card', 'validator'])[1 + i % 3]"],
  label: ["text", "md5(i::text)"],
  amount_raw: ["numeric(20,0)", "(i * 18446744073709551.0)::numeric(20,0)"],
  amount_usd: ["double precision", "i * 1234.5678::double precision / 7"],
  change_pct: ["double precision", "sin(i)"],
} as const satisfies Columns;

const WIDE_TYPES = [
  ["timestamp", "timestamp '2025-01-01 00:00:00.5' + i * interval '7 minutes'"],
  ["text", "'name ' || i % 17"],
  ["bigint", "i * 100007::bigint"],
  ["boolean", "i % 2 = 0"],
] as const;

const { day, region, amount_usd } = ORDINARY;

/** Thirty-one columns of six types. */
const WIDE: Columns = {
  ...{ day, region, amount_usd },
  ...Object.fromEntries(
    WIDE_TYPES.flatMap((type, n) => [1, 2, 3, 4, 5, 6, 7].map((i) => [`c_${String(n)}_${String(i)}`, type])),
  ),
};

/** Each text has quotes, a line break, a backslash and letters of two bytes. */
const ESCAPES: Columns = {
  ...{ day, region, amount_usd },
  ...Object.fromEntries(
    ["title", "body", "note"].map((name) => [
      name,
      ["text", `'"${name} ' || i || '"' || chr(10) || 'größer \\ ' || md5(i::text)`] as const,
    ]),
  ),
};

/** Tables behind the endpoints, in turn. Each has `day` and `amount_usd`, by which requests filter and sort. */
export const TABLES = {
  "1 row": { rows: 1, columns: ORDINARY },
  "100 rows": { rows: 100, columns: ORDINARY },
  "1,000 rows": { rows: 1000, columns: ORDINARY },
  "5,000 rows": { rows: 5000, columns: ORDINARY },
  "100 wide rows": { rows: 100, columns: WIDE },
  "1,000 rows with escapes": { rows: 1000, columns: ESCAPES },
} as const satisfies Readonly<Record<string, { rows: number; columns: Columns }>>;
export type TableName = keyof typeof TABLES;

/** One endpoint with its own view, so that no two concurrent requests share one execution. */
export interface Endpoint {
  readonly path: string;
  readonly table: TableName;
  readonly view: string;
}

/** The endpoints of the synthetic manifest, in 20 categories. */
export function endpoints(count = ENDPOINTS): Endpoint[] {
  const names = Object.keys(TABLES) as TableName[];
  return Array.from({ length: count }, (_, i) => ({
    path: `/v1/category_${String(i % 20)}/series_${String(i)}/daily`,
    table: names[i % names.length] ?? "1 row",
    view: `series_${String(i)}`,
  }));
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
  pagination: { enabled: true, default_limit: 1000, max_limit: 10_000, response: "list" },
};

/** Generates an API with so many endpoints; the folder is kept from run to run. */
export function generateEndpoints(parent: string, count = ENDPOINTS): Promise<string> {
  const models = endpoints(count).map(({ path, table, view }) => ({
    name: view,
    tags: ["production", "tier1", path.split("/")[2], `api:${view}`, "granularity:daily"],
    description: `Series ${view} by day.`,
    columns: columnsOf(
      Object.fromEntries(Object.entries(TABLES[table].columns).map(([name, [type]]) => [name, type])),
    ),
    config: { materialized: "table", meta: { api: API } },
  }));
  return generateApi(join(parent, `endpoints-${String(count)}`), models);
}

/** Columns of a model by name and type. */
export function columnsOf(types: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(types).map(([name, data_type]) => [
      name,
      { name, data_type, description: `The ${name} of the series.` },
    ]),
  );
}

type Model = Readonly<Record<string, unknown>> & { readonly name: string };

/** Writes `manifest.json` with these models into a folder and generates its API there. `semantics`: its semantic models and metrics. */
export async function generateApi(
  folder: string,
  models: readonly Model[],
  adapter_type = "postgres",
  semantics: object = {},
) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "manifest.json"), manifestText(models, adapter_type, semantics));
  const args = [ROUTEWRIGHT, "generate", "--manifest", "manifest.json"];
  await timeProgram({ name: "generate", args, folder });
  return folder;
}

/** A manifest with these models. */
export function manifestText(
  models: readonly Model[],
  adapter_type = "postgres",
  semantics: object = {},
): string {
  const metadata = {
    dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
    project_name: "bench",
    adapter_type,
  };
  const nodes = models.map((model) => {
    const unique_id = `model.bench.${model.name}`;
    return [unique_id, { resource_type: "model", unique_id, schema: SCHEMA, ...model }] as const;
  });
  return JSON.stringify({ metadata, nodes: Object.fromEntries(nodes), ...semantics });
}

/** Who has the keys of the load. */
export const API_KEYS = Object.fromEntries(
  KEYS.map((key, i) => [key, { tier: "tier3", user: `user-${String(i)}` }]),
);

/** Starts `routewright serve` in a generated folder as an operator does: keys, limits, usage and the log are on. */
export function serveApi(
  folder: string,
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Promise<Server> {
  return startServer({
    name: "serve",
    args: [ROUTEWRIGHT, "serve", "--only", "data", ...flags],
    folder,
    environment: {
      DATABASE_URL: databaseUrl,
      API_KEYS: JSON.stringify(API_KEYS),
      USAGE_ENABLED: "true",
      ...environment,
    },
  });
}

/** The database that all servers under test share. */
export interface Database {
  readonly url: string;
  /** Process id of the postmaster. */
  readonly pid: number;
  query(sql: string): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts an embedded PostgreSQL with an empty schema. */
export async function openDatabase(folder: string): Promise<Database> {
  const embedded = await startEmbeddedPostgres({ dataDir: join(folder, "database") });
  const pool = new pg.Pool({ connectionString: embedded.url, max: 1 });
  await pool.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE; CREATE SCHEMA ${SCHEMA}`);
  const { rows } = await pool.query<{ pid: string }>("SELECT pg_read_file('postmaster.pid') AS pid");
  return {
    url: embedded.url,
    pid: Number.parseInt(rows[0]?.pid ?? ""),
    query: (sql) => pool.query(sql),
    stop: () => pool.end().then(() => embedded.stop()),
  };
}

/** A new database of its own with so many endpoints: PostgreSQL has no locks to drop 10,000 views at once. */
export async function openEndpoints(folder: string, count: number): Promise<Database> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const database = await openDatabase(folder);
  await createEndpoints(database, count);
  return database;
}

/** The tables and a view for each endpoint. */
export async function createEndpoints(database: Database, count = ENDPOINTS): Promise<void> {
  for (const [name, { rows, columns }] of Object.entries(TABLES)) {
    const values = Object.entries(columns).map(([column, [, sql]]) => `${sql} AS ${column}`);
    const table = `${SCHEMA}."${name}"`;
    await database.query(`CREATE TABLE ${table} AS SELECT ${values.join(", ")}
      FROM generate_series(1, ${String(rows)}) AS i; ANALYZE ${table}`);
  }
  const views = endpoints(count).map(
    ({ view, table }) => `CREATE VIEW ${SCHEMA}.${view} AS TABLE ${SCHEMA}."${table}"`,
  );
  await database.query(views.join("; "));
}
