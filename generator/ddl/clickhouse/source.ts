import { failed, type Outcome, succeeded } from "@routewright/runtime/model";
import type { ExportFormat, ExportLocation, LoadVariables } from "../export-location.js";
import { clickhouseLiteral as literal } from "./literal.js";

/** How ClickHouse reads an export: a call of a table function, with the values of the parameters in it. */
export interface TableFunction {
  readonly text: string;
  /** The same files, each as one row about its schema; null where the format keeps one schema for all files. */
  readonly metadata: string | null;
  /** The same files, each as one row without reading it; null for the one file of an address and for other formats. */
  readonly unread: string | null;
  /**
   * Settings that are off while it is read: ClickHouse prunes files of a Delta or Iceberg table by a condition that only checks
   * values, and leaves all rows out.
   */
  readonly off: readonly string[];
  /** Keys of stores are parameters: neither the script nor an error shows them. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Whether its files are read by an address of the web. */
  readonly isAddress: boolean;
  /** The call for one of its files, as `_path` names it. */
  readonly ofFile: (path: string, format?: "Parquet" | "ParquetMetadata") => string;
  /** The call with the columns that files have, where these differ. */
  readonly withColumns: (structure: string) => string;
}

/** The table function for a format and a store: without a key in the environment the server uses its own. */
export function tableFunction(
  location: ExportLocation,
  format: ExportFormat,
  variables: LoadVariables,
): Outcome<TableFunction> {
  const call = CALLS[location.store](location as never, variables);
  if (!call.ok) return call;
  const { names, args, parameters } = call.value;
  const name = names[format];
  if (name === undefined)
    return failed(`ClickHouse reads no ${format} table over https://: use s3://, gs://, az:// or a path.`);
  const withFormat = (...more: readonly string[]): string => `${name}(${[...args, ...more].join(", ")})`;
  const ofFile: TableFunction["ofFile"] = (path, format = "Parquet") => {
    const one = CALLS[location.store](fileLocation(location, path) as never, variables);
    return one.ok ? `${name}(${[...one.value.args, format].join(", ")})` : withFormat(format);
  };
  const isAddress = location.store === "http";
  const unread = isAddress ? null : withFormat("One");
  const compression = location.store === "azure" ? ["'auto'"] : [];
  const withColumns = (structure: string): string =>
    withFormat("Parquet", ...compression, literal(structure));
  return succeeded(
    format === "parquet"
      ? {
          ...{ text: withFormat("Parquet"), metadata: withFormat("ParquetMetadata"), off: [] },
          ...{ unread, parameters, isAddress, ofFile, withColumns },
        }
      : {
          ...{ text: `${name}(${args.join(", ")})`, metadata: null, off: PRUNING[format] },
          ...{ unread: null, parameters, isAddress, ofFile, withColumns },
        },
  );
}

/** The place of a file that `_path` names: a path of the machine, or the bucket or container and the name in it. */
function fileLocation(location: ExportLocation, path: string): ExportLocation {
  switch (location.store) {
    case "local":
      return { ...location, path };
    case "s3":
    case "gcs":
      return { ...location, path: withoutStart(path, `${location.bucket}/`) };
    case "azure":
      return { ...location, path: withoutStart(path, `${location.container}/`) };
    case "http":
      return location;
  }
}

const withoutStart = (path: string, start: string): string =>
  path.startsWith(start) ? path.slice(start.length) : path;

const PRUNING = {
  iceberg: ["use_iceberg_partition_pruning"],
  delta: ["delta_lake_enable_engine_predicate"],
} as const;

interface FunctionCall {
  readonly names: Readonly<Partial<Record<ExportFormat, string>>>;
  readonly args: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
}

type StoreOf<Store extends ExportLocation["store"]> = Extract<ExportLocation, { store: Store }>;

const CALLS = {
  local: ({ path }: StoreOf<"local">): Outcome<FunctionCall> =>
    succeeded({
      names: { parquet: "file", iceberg: "icebergLocal", delta: "deltaLakeLocal" },
      args: [literal(path)],
      parameters: {},
    }),
  http: ({ url }: StoreOf<"http">): Outcome<FunctionCall> =>
    succeeded({ names: { parquet: "url" }, args: [literal(url)], parameters: {} }),
  s3: ({ bucket, path }: StoreOf<"s3">, variables: LoadVariables): Outcome<FunctionCall> => {
    const endpoint = variables["AWS_ENDPOINT_URL_S3"] ?? variables["AWS_ENDPOINT_URL"];
    const address =
      endpoint === undefined ? `s3://${bucket}/${path}` : `${endpoint.replace(/\/+$/, "")}/${bucket}/${path}`;
    const keys = keysIn(variables, ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]);
    return succeeded({
      names: { parquet: "s3", iceberg: "icebergS3", delta: "deltaLake" },
      args: [literal(address), ...keys.args],
      parameters: keys.parameters,
    });
  },
  gcs: ({ bucket, path }: StoreOf<"gcs">, variables: LoadVariables): Outcome<FunctionCall> => {
    const keys = keysIn(variables, ["GCS_HMAC_KEY_ID", "GCS_HMAC_SECRET"]);
    const host = variables["STORAGE_EMULATOR_HOST"] ?? "https://storage.googleapis.com";
    return succeeded({
      names: { parquet: "gcs", iceberg: "icebergS3", delta: "deltaLake" },
      args: [literal(`${host.replace(/\/+$/, "")}/${bucket}/${path}`), ...keys.args],
      parameters: keys.parameters,
    });
  },
  azure: (
    { account, container, path }: StoreOf<"azure">,
    variables: LoadVariables,
  ): Outcome<FunctionCall> => {
    const names = { parquet: "azureBlobStorage", iceberg: "icebergAzure", delta: "deltaLakeAzure" };
    const connection = keysIn(variables, ["AZURE_STORAGE_CONNECTION_STRING"]);
    const place = [literal(container), literal(path)];
    if (connection.args.length > 0)
      return succeeded({ names, args: [...connection.args, ...place], parameters: connection.parameters });
    const named = account ?? variables["AZURE_STORAGE_ACCOUNT"];
    if (named === undefined) return failed(NO_ACCOUNT);
    const url = literal(`https://${named}.blob.core.windows.net/`);
    const key = keysIn(variables, ["AZURE_STORAGE_KEY"]);
    const keyed = key.args.length === 0 ? [] : [literal(named), ...key.args];
    return succeeded({ names, args: [url, ...place, ...keyed], parameters: key.parameters });
  },
} as const;

const NO_ACCOUNT =
  "--from az:// needs the storage account: set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT, or write abfss://container@account.dfs.core.windows.net/….";

/** The first variables that are set, each as a parameter of its own name; none without the first. */
function keysIn(
  variables: LoadVariables,
  names: readonly string[],
): Pick<FunctionCall, "args" | "parameters"> {
  const set = names.map((name) => [name, variables[name]?.trim() ?? ""] as const);
  const end = set.findIndex(([, value]) => value === "");
  const found = end < 0 ? set : set.slice(0, end);
  return {
    args: found.map(([name]) => `{${name.toLowerCase()}:String}`),
    parameters: Object.fromEntries(found.map(([name, value]) => [name.toLowerCase(), value])),
  };
}
