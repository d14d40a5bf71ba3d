import type * as DuckDbModule from "@duckdb/node-api";
import { failed, messageOf, type Outcome, succeeded } from "@routewright/runtime/model";
import type { ExportFormat, ExportLocation, LoadVariables } from "../export-location.js";

/** DuckDB, which reads exports for PostgreSQL. */
export interface DuckDb {
  /** The rows of a statement, each value as JSON. */
  rows(text: string): Promise<readonly (readonly unknown[])[]>;
  /** The one text column of a statement, a chunk of rows at a time. */
  texts(text: string): AsyncIterable<readonly string[]>;
  close(): void;
}

/** The package of DuckDB; null where none is installed. */
export type DuckDbPackage = typeof DuckDbModule | null;

const installedPackage = (): Promise<DuckDbPackage> => import("@duckdb/node-api").catch(() => null);

/** Opens DuckDB with what its sessions are set to. */
export async function openDuckDb(
  settings: readonly string[],
  packageOf = installedPackage,
): Promise<Outcome<DuckDb>> {
  const module = await packageOf();
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
    return failed(`DuckDB cannot be set up: ${duckdbMessage(messageOf(error))}`);
  }
}

/** DuckDB begins with the kind of an error, and adds the place in the statement. */
export function duckdbMessage(text: string): string {
  const extension = /automatically install the required extension '(\w+)'/.exec(text)?.[1];
  if (extension !== undefined)
    return `its extension ${extension} is not installed, and cannot be downloaded from extensions.duckdb.org here: run \`duckdb -c "INSTALL ${extension}"\` with the DuckDB of the same version where there is a way there, and copy ~/.duckdb/extensions`;
  return (text.split("\n\n")[0] ?? text).replace(/^(?:\w+ )+Error: /, "");
}

/** A string of DuckDB's SQL. */
export const duckdbLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export const duckdbIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** How a script says the value of a variable: the text itself, or the name, which shows no key. */
export type SayVariable = (name: string, value: string) => string;

export const asValue: SayVariable = (_, value) => duckdbLiteral(value);
export const asName: SayVariable = (name) => `getenv(${duckdbLiteral(name)})`;

/** What a session needs for a store: keys of the variables, else those that the store's own tools find. */
export function duckdbSettings(
  location: ExportLocation,
  variables: LoadVariables,
  say: SayVariable,
): readonly string[] {
  const always = ["SET TimeZone = 'UTC'", "SET enable_progress_bar = false"];
  const secret = secretOf(location, variables, say);
  return secret === null ? always : [...always, `CREATE SECRET (${secret})`];
}

function secretOf(location: ExportLocation, variables: LoadVariables, say: SayVariable): string | null {
  const given = (...names: readonly (readonly [option: string, name: string])[]): string =>
    names
      .flatMap(([option, name]) => {
        const value = variables[name]?.trim() ?? "";
        return value === "" ? [] : [`, ${option} ${say(name, value)}`];
      })
      .join("");
  switch (location.store) {
    case "s3": {
      const keys = given(
        ["KEY_ID", "AWS_ACCESS_KEY_ID"],
        ["SECRET", "AWS_SECRET_ACCESS_KEY"],
        ["SESSION_TOKEN", "AWS_SESSION_TOKEN"],
        ["REGION", variables["AWS_REGION"] === undefined ? "AWS_DEFAULT_REGION" : "AWS_REGION"],
      );
      const isKeyed = keys.includes("KEY_ID") && keys.includes("SECRET");
      const address = variables["AWS_ENDPOINT_URL_S3"] ?? variables["AWS_ENDPOINT_URL"];
      return `TYPE s3${isKeyed ? keys : ", PROVIDER credential_chain"}${endpointOf(address)}`;
    }
    case "gcs": {
      const keys = given(["KEY_ID", "GCS_HMAC_KEY_ID"], ["SECRET", "GCS_HMAC_SECRET"]);
      const address = variables["STORAGE_EMULATOR_HOST"];
      return keys === "" && address === undefined ? null : `TYPE gcs${keys}${endpointOf(address)}`;
    }
    case "azure": {
      const connection = given(["CONNECTION_STRING", "AZURE_STORAGE_CONNECTION_STRING"]);
      if (connection !== "") return `TYPE azure${connection}`;
      const account = location.account ?? variables["AZURE_STORAGE_ACCOUNT"];
      const named = account === undefined ? "" : `, ACCOUNT_NAME ${duckdbLiteral(account)}`;
      const key = variables["AZURE_STORAGE_KEY"]?.trim() ?? "";
      if (account === undefined || key === "") return `TYPE azure, PROVIDER credential_chain${named}`;
      const keyed = `DefaultEndpointsProtocol=https;EndpointSuffix=core.windows.net;AccountName=${account};AccountKey=`;
      return `TYPE azure, CONNECTION_STRING ${duckdbLiteral(keyed)} || ${say("AZURE_STORAGE_KEY", key)}`;
    }
    case "local":
    case "http":
      return null;
  }
}

function endpointOf(address: string | undefined): string {
  if (address === undefined || !URL.canParse(address)) return "";
  const { host, protocol } = new URL(address);
  return `, ENDPOINT ${duckdbLiteral(host)}, URL_STYLE 'path', USE_SSL ${String(protocol === "https:")}`;
}

/** The column that the reader adds with the path of each row's file. */
export const FILE_COLUMN = '"routewright file"';
/**
 * The relation of DuckDB that an export is, or some files of it. A folder of a path never takes the place of a column, and
 * nothing is left to what DuckDB takes for the best.
 */
export function duckdbRelation(
  location: ExportLocation,
  format: ExportFormat,
  paths: readonly string[] | null = null,
): string {
  const path = duckdbLiteral(addressOf(location));
  if (format !== "parquet") return `${format}_scan(${path})`;
  const files = paths === null ? path : `[${paths.map((one) => duckdbLiteral(literally(one))).join(", ")}]`;
  return `read_parquet(${files}, hive_partitioning = false, union_by_name = false, binary_as_string = false)`;
}

/** The same with `FILE_COLUMN`. */
export const withPlaces = (relation: string): string =>
  relation.startsWith("read_parquet")
    ? relation.replace(/\)$/, `, filename = ${duckdbLiteral(FILE_COLUMN.slice(1, -1))})`)
    : relation;

/** A path with characters that are patterns elsewhere. */
const literally = (path: string): string =>
  /^https?:/.test(path) ? path : path.replace(/[*?[]/g, (character) => `[${character}]`);

/** The columns of each file, in the order of the file: a row for each part of a nested one. */
export const duckdbSchema = (location: ExportLocation): string =>
  `SELECT file_name, name, num_children, ${SHAPE} AS shape, CAST(logical_type AS VARCHAR) AS logical, type FROM parquet_schema(${duckdbLiteral(addressOf(location))}) ORDER BY file_name, column_id`;

const SHAPE = "concat_ws(' ', name, type, converted_type, scale, precision, CAST(logical_type AS VARCHAR))";

/** The number of schemas that the files of an export have. */
export function duckdbSchemas(location: ExportLocation): string {
  return `SELECT count(DISTINCT shape) FROM (SELECT list(${SHAPE} ORDER BY column_id) AS shape FROM parquet_schema(${duckdbLiteral(addressOf(location))}) GROUP BY file_name)`;
}

/** The rows of each row group of a file. */
export const duckdbRowGroups = (path: string): string =>
  `SELECT any_value(row_group_num_rows) FROM parquet_metadata(${duckdbLiteral(literally(path))}) GROUP BY row_group_id ORDER BY row_group_id`;

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
    case "azure":
      // The account is in the secret.
      return `az://${location.container}/${location.path}`;
  }
}
