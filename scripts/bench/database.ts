import pg from "pg";
import { postgresDialect } from "../../runtime/query/postgres.js";
import type { ResultColumn, ResultColumns, Selection } from "../../runtime/query/warehouse.js";
import { startEmbeddedPostgres } from "../../runtime/embedded/embedded-postgres.js";
import {
  rowsOfView,
  SCHEMA,
  TABLE_ROWS,
  tableName,
  type TableRows,
  VIEWS,
  viewName,
} from "./synthetic-manifest.js";

/** The database that all servers under test share. */
export interface Database {
  readonly url: string;
  /** What Routewright sends for all of a view, word for word. */
  statementOf(view: string): string;
  stop(): Promise<void>;
}

/** Brings up an embedded PostgreSQL with the three tables in it. */
export async function openDatabase(dataDir: string): Promise<Database> {
  const embedded = await startEmbeddedPostgres({ dataDir });
  const client = new pg.Client({ connectionString: embedded.url });
  try {
    await client.connect();
    await client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE; CREATE SCHEMA ${SCHEMA}`);
    for (const rows of TABLE_ROWS) await client.query(tableSql(rows));
    await client.query(Array.from({ length: VIEWS }, (_, view) => viewSql(view)).join("; "));
    const shape = await shapeOf(client);
    return {
      url: embedded.url,
      statementOf: (view) => postgresDialect.whole([SCHEMA, view], shape, EVERYTHING, "json").text,
      stop: () => embedded.stop(),
    };
  } catch (error) {
    await embedded.stop();
    throw error;
  } finally {
    await client.end();
  }
}

/** The values differ from row to row and are the same in every run. */
function tableSql(rows: TableRows): string {
  const table = `${SCHEMA}.${tableName(rows)}`;
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
  return `CREATE VIEW ${SCHEMA}.${viewName(view)} AS SELECT * FROM ${SCHEMA}.${tableName(rowsOfView(view))}`;
}

const EVERYTHING: Selection = { conditions: [], sort: [], page: null };

/** All have the same columns. */
async function shapeOf(client: pg.Client): Promise<ResultColumns> {
  const describe = postgresDialect.describe([SCHEMA, viewName(0)]);
  const { rows } = await client.query<{ columns: string }>(describe.text, [...describe.values]);
  return JSON.parse(rows[0]?.columns ?? "[]") as ResultColumn[];
}
