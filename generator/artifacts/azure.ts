import type { AddressIn } from "@routewright/runtime/model";
import type * as StorageBlob from "@azure/storage-blob";
import {
  contentOf,
  failedFetch,
  type Fetched,
  type FetchRequest,
  library,
  libraryProblem,
  missingFile,
  type ReadFrom,
  refusedAs,
} from "./store.js";

type StorageLibrary = typeof StorageBlob;

/**
 * A blob of Azure Storage. Credentials are found as `az storage` finds them: connection string, key or SAS token of the
 * environment; else by Azure's own library: environment, workload identity, managed identity, `az login`.
 */
export const readAzure: ReadFrom<"azure"> = async (address, request) => {
  const loaded = await library(() => import("@azure/storage-blob"), request, "@azure/storage-blob");
  if ("missing" in loaded) return loaded.missing;
  const service = await openService(loaded.library, address, request);
  if ("kind" in service) return service;
  const blob = service.client.getContainerClient(address.container).getBlobClient(address.path);
  const { known, signal } = request;
  try {
    const conditions = known?.etag ? { ifNoneMatch: known.etag } : {};
    const { readableStreamBody: body, etag } = await blob.download(0, undefined, {
      abortSignal: signal,
      conditions,
    });
    const bytes = (body ?? []) as AsyncIterable<Uint8Array>;
    return await contentOf(bytes, etag === undefined ? null : { etag, lastModified: null }, request);
  } catch (error) {
    return problemOf(error as AzureError, address.container, request);
  }
};

async function openService(
  storage: StorageLibrary,
  { account, cloud }: AddressIn<"azure">,
  request: FetchRequest,
): Promise<{ readonly client: StorageBlob.BlobServiceClient } | Fetched> {
  const { AZURE_STORAGE_CONNECTION_STRING: connection = "", AZURE_STORAGE_ACCOUNT: ofVariable = "" } =
    process.env;
  if (connection.trim() !== "" && isOf(connection, account))
    return connected(storage, connection.trim(), request);
  const named = account ?? ofVariable.trim();
  if (named === "") return refusedAs(request, NO_ACCOUNT);
  const url = `https://${named}.blob.${cloud}`;
  const isOwn = account === null || account === ofVariable.trim();
  const { AZURE_STORAGE_KEY: key = "", AZURE_STORAGE_SAS_TOKEN: signature = "" } = process.env;
  if (isOwn && key.trim() !== "") {
    const credential = new storage.StorageSharedKeyCredential(named, key.trim());
    return { client: new storage.BlobServiceClient(url, credential) };
  }
  if (isOwn && signature.trim() !== "")
    return { client: new storage.BlobServiceClient(`${url}?${signature.trim().replace(/^\?/, "")}`) };
  const loaded = await library(() => import("@azure/identity"), request, "@azure/identity");
  if ("missing" in loaded) return loaded.missing;
  return { client: new storage.BlobServiceClient(url, new loaded.library.DefaultAzureCredential()) };
}

const NO_ACCOUNT =
  "the storage account is not known. Set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT, or write abfss://container@account.dfs.core.windows.net/….";

/** Whether a connection string is that of the account that an address names: another's would read another file. */
function isOf(connection: string, account: string | null): boolean {
  if (account === null) return true;
  const name = /(?:^|;)\s*AccountName=([^;]*)/i.exec(connection)?.[1]?.trim();
  const host = /(?:^|;)\s*BlobEndpoint=https?:\/\/([^.;/]+)\./i.exec(connection)?.[1];
  return name === account || host === account;
}

/** The library's message may repeat a part of the connection string. */
function connected(
  { BlobServiceClient }: StorageLibrary,
  connection: string,
  { shown }: FetchRequest,
): { readonly client: StorageBlob.BlobServiceClient } | Fetched {
  try {
    return { client: BlobServiceClient.fromConnectionString(connection) };
  } catch {
    return failedFetch(`Cannot read ${shown}: AZURE_STORAGE_CONNECTION_STRING is not a connection string.`);
  }
}

interface AzureError extends Error {
  readonly code?: string;
  readonly statusCode?: number;
}

function problemOf(error: AzureError, container: string, request: FetchRequest): Fetched {
  const { statusCode: status, code = "", name } = error;
  if (status === 304 && request.known !== null) return { kind: "unmodified" };
  if (code === "BlobNotFound") return missingFile(request);
  if (code === "ContainerNotFound")
    return failedFetch(`Cannot read ${request.shown}: there is no container ${container}.`);
  if (NOT_SIGNED_IN.has(name)) return refusedAs(request, NO_CREDENTIALS);
  if (code === "AuthorizationPermissionMismatch") return refusedAs(request, NO_PERMISSION);
  if (status === 401 || status === 403) return refusedAs(request, WRONG_CREDENTIALS);
  return libraryProblem(error, status, request);
}

const NOT_SIGNED_IN: ReadonlySet<string> = new Set([
  "CredentialUnavailableError",
  "AggregateAuthenticationError",
  "AuthenticationError",
  "AuthenticationRequiredError",
]);

const NO_CREDENTIALS =
  "no credentials were found. Set AZURE_STORAGE_CONNECTION_STRING, run `az login`, or give the machine an identity.";

const WRONG_CREDENTIALS = "the key, the SAS token or the identity is wrong, has expired, or may not read it.";

const NO_PERMISSION = "no permission to read it: the role `Storage Blob Data Reader` is enough.";
