import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import {
  CLICKHOUSE_INSTALL,
  clickhouseLibrary,
  ClickhouseServer,
  queryClickhouse,
} from "../clickhouse/start-clickhouse.js";

/** The database of the demo's tables: nothing else is kept in it. */
const DATABASE = "routewright_demo";

/** What the demo reads and changes of the starter's manifest. */
interface Manifest {
  readonly metadata: Record<string, unknown>;
  readonly nodes: Record<string, Node>;
}

interface Node {
  readonly resource_type: string;
  readonly alias: string;
  schema: string;
  readonly tags: readonly string[];
  readonly columns?: Record<string, { readonly name: string; data_type?: string }>;
}

/** The address that CLICKHOUSE_URL names, or of a server of the npm package chdb in this folder. */
export async function openClickhouse(folder: string, stops: (() => Promise<unknown>)[]): Promise<string> {
  const named = process.env["CLICKHOUSE_URL"];
  if (named !== undefined) return named;
  if (clickhouseLibrary() === null)
    throw new Error(`--engine clickhouse needs CLICKHOUSE_URL, or the package: ${CLICKHOUSE_INSTALL}`);
  const server = await ClickhouseServer.start({ folder });
  stops.push(() => server.kill());
  return server.url();
}

/**
 * Copies the published relations of the starter from PostgreSQL, where its models are written for, to tables in ClickHouse.
 * Resolves with the manifest of these tables.
 */
export async function copyToClickhouse(
  databaseUrl: string,
  clickhouseUrl: string,
  starterDir: string,
): Promise<unknown> {
  const manifest = JSON.parse(await readFile(join(starterDir, "manifest.json"), "utf8")) as Manifest;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("set time zone 'UTC'");
    await queryClickhouse(clickhouseUrl, `CREATE DATABASE IF NOT EXISTS ${DATABASE}`);
    for (const node of Object.values(manifest.nodes).filter(isPublished))
      await copyRelation(client, clickhouseUrl, node);
  } finally {
    await client.end();
  }
  return { ...manifest, metadata: { ...manifest.metadata, adapter_type: "clickhouse" } };
}

function isPublished({ resource_type, tags }: Node): boolean {
  return resource_type === "model" && tags.some((tag) => tag.startsWith("api:"));
}

/** As JSON, which both print and read. Changes the node to what ClickHouse has. */
async function copyRelation(client: pg.Client, clickhouseUrl: string, node: Node): Promise<void> {
  const relation = [node.schema, node.alias].map(pg.escapeIdentifier).join(".");
  const { rows } = await client.query<{ row: string }>(
    `select row_to_json(r)::text as row from ${relation} r`,
  );
  const columns = Object.values(node.columns ?? {});
  for (const column of columns) column.data_type = clickhouseType(column.data_type ?? "text");
  node.schema = DATABASE;
  const table = `${DATABASE}.\`${node.alias}\``;
  const list = columns.map(({ name, data_type }) => `\`${name}\` ${data_type ?? ""}`).join(", ");
  await queryClickhouse(
    clickhouseUrl,
    `CREATE OR REPLACE TABLE ${table} (${list}) ENGINE = MergeTree ORDER BY tuple()`,
  );
  const lines = rows.map(({ row }) => row).join("\n");
  await queryClickhouse(clickhouseUrl, `INSERT INTO ${table} FORMAT JSONEachRow\n${lines}`, {
    date_time_input_format: "best_effort",
  });
}

/** ClickHouse's names for the types that the starter declares; others are texts. */
const TYPES: Readonly<Record<string, string>> = {
  bigint: "Int64",
  boolean: "Bool",
  date: "Date",
  "double precision": "Float64",
  integer: "Int32",
  jsonb: "JSON",
  real: "Float32",
  smallint: "Int16",
  timestamptz: "DateTime64(6, 'UTC')",
};

function clickhouseType(type: string): string {
  if (type.endsWith("[]")) return `Array(${clickhouseType(type.slice(0, -2))})`;
  const size = /^numeric(\(.+\))$/.exec(type)?.[1];
  return `Nullable(${size === undefined ? (TYPES[type] ?? "String") : `Decimal${size}`})`;
}
