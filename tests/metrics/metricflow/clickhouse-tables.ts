import { clickhouse, clickhouseUrl, ownDatabase } from "../../support/clickhouse.js";
import { queryAt } from "../../support/database.js";
import { serveManifest } from "../../support/service.js";
import { clickhouseType } from "../pay-tables.js";
import { longTimeout } from "./folders.js";

const TABLES = `SELECT nspname AS schema, relname AS name,
    json_agg(json_build_array(attname, format_type(atttypid, atttypmod)) ORDER BY attnum) AS columns
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace JOIN pg_attribute ON attrelid = pg_class.oid
  WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped AND nspname !~ '^(pg_|information_schema)' GROUP BY 1, 2`;

interface Table {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly (readonly [name: string, type: string])[];
}

/** Serves a manifest from ClickHouse, with copies of the tables that a database of PostgreSQL has. */
export async function serveCopy(manifest: object, database: string): Promise<string> {
  const tables = (await queryAt(database, TABLES)) as unknown as readonly Table[];
  const own = new Map<string, string>();
  for (const { schema } of tables) if (!own.has(schema)) own.set(schema, await ownDatabase([]));
  for (const table of tables) await copy(table, own.get(table.schema) ?? "", database);
  let text = JSON.stringify(manifest);
  for (const [schema, name] of own) text = text.replaceAll(JSON.stringify(schema), JSON.stringify(name));
  const mapped = JSON.parse(text) as { readonly metadata: object };
  const built = { ...mapped, metadata: { ...mapped.metadata, adapter_type: "clickhouse" } };
  return serveManifest(built, { DATABASE_URL: clickhouseUrl(), ...longTimeout });
}

async function copy({ schema, name, columns }: Table, to: string, database: string): Promise<void> {
  const typed = columns.map(([column, type]) => `\`${column}\` ${clickhouseType(type)}`);
  await clickhouse(`CREATE TABLE ${to}.${name} (${typed.join(", ")}) ENGINE = MergeTree ORDER BY tuple()`);
  const rows = await queryAt(database, `SELECT row_to_json(t)::text AS row FROM "${schema}"."${name}" AS t`);
  const lines = rows.map(({ row }) => String(row)).join("\n");
  await clickhouse(`INSERT INTO ${to}.${name} FORMAT JSONEachRow ${lines}`, {
    date_time_input_format: "best_effort",
  });
}
