import { failed, messageOf, type Outcome, succeeded } from "@routewright/runtime/model";
import type { ExportFormat, ExportLocation } from "../export-location.js";

/** DuckDB, which reads exports for PostgreSQL. */
export interface DuckDb {
  /** The rows of a statement, each value as JSON. */
  rows(text: string): Promise<readonly (readonly unknown[])[]>;
  /** The one text column of a statement, a chunk of rows at a time. */
  texts(text: string): AsyncIterable<readonly string[]>;
  close(): void;
}

/** Opens DuckDB with what its sessions are set to. */
export async function openDuckDb(settings: readonly string[]): Promise<Outcome<DuckDb>> {
  const module = await import("@duckdb/node-api").catch(() => null);
  if (module === null)
    return failed(
      "PostgreSQL is loaded by DuckDB, which is not installed: run `npm install @duckdb/node-api`.",
    );
  try {
    const instance = await module.DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    for (const setting of settings) await connection.run(setting);
    return succeeded({
      rows: async (text) => (await connection.runAndReadAll(text)).getRowsJson(),
      texts: async function* (text) {
        const result = await connection.stream(text);
        for (
          let chunk = await result.fetchChunk();
          chunk !== null && chunk.rowCount > 0;
          chunk = await result.fetchChunk()
        )
          yield chunk.getColumnValues(0) as readonly string[];
      },
      close: () => {
        connection.closeSync();
        instance.closeSync();
      },
    });
  } catch (error) {
    return failed(`DuckDB cannot be set up: ${messageOf(error).split("\n\n")[0] ?? ""}`);
  }
}

/** A string of DuckDB's SQL. */
export const duckdbLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export const duckdbIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** What a session needs for a store: DuckDB finds keys as the store's own tools do. */
export function duckdbSettings(
  { store }: Pick<ExportLocation, "store">,
  variables: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const always = ["SET TimeZone = 'UTC'", "SET enable_progress_bar = false"];
  const endpoint = variables["AWS_ENDPOINT_URL_S3"] ?? variables["AWS_ENDPOINT_URL"];
  switch (store) {
    case "s3":
      return [...always, `CREATE SECRET (TYPE s3, PROVIDER credential_chain${s3Endpoint(endpoint)})`];
    case "gcs":
      return [...always, "CREATE SECRET (TYPE gcs, PROVIDER credential_chain)"];
    case "azure":
      return [...always, "CREATE SECRET (TYPE azure, PROVIDER credential_chain)"];
    case "local":
    case "http":
      return always;
  }
}

function s3Endpoint(address: string | undefined): string {
  if (address === undefined || !URL.canParse(address)) return "";
  const { host, protocol } = new URL(address);
  return `, ENDPOINT ${duckdbLiteral(host)}, URL_STYLE 'path', USE_SSL ${String(protocol === "https:")}`;
}

/** The relation of DuckDB that an export is. */
export function duckdbRelation(location: ExportLocation, format: ExportFormat): string {
  const path = duckdbLiteral(addressOf(location));
  const readers = { parquet: "read_parquet", iceberg: "iceberg_scan", delta: "delta_scan" } as const;
  return `${readers[format]}(${path})`;
}

/** The number of schemas that the files of an export have. */
export function duckdbSchemas(location: ExportLocation): string {
  const shape = "(name, type, converted_type, scale, precision, CAST(logical_type AS VARCHAR))";
  return `SELECT count(DISTINCT shape) FROM (SELECT list(${shape} ORDER BY column_id) AS shape FROM parquet_schema(${duckdbLiteral(addressOf(location))}) GROUP BY file_name)`;
}

function addressOf(location: ExportLocation): string {
  switch (location.store) {
    case "local":
      return location.path;
    case "http":
      return location.url;
    case "s3":
      return `s3://${location.bucket}/${location.path}`;
    case "gcs":
      return `gs://${location.bucket}/${location.path}`;
    case "azure": {
      const { account, container, path } = location;
      return account === null
        ? `az://${container}/${path}`
        : `abfss://${account}.dfs.core.windows.net/${container}/${path}`;
    }
  }
}
