/** Where a file, or the files of a pattern, are kept. */
export type StoreAddress =
  | { readonly store: "local"; readonly path: string }
  | { readonly store: "http"; readonly url: string }
  | { readonly store: "s3"; readonly bucket: string; readonly path: string }
  | { readonly store: "gcs"; readonly bucket: string; readonly path: string }
  | {
      readonly store: "azure";
      /** Null: the environment names the storage account. */
      readonly account: string | null;
      /** Domain of the cloud. */
      readonly cloud: string;
      readonly container: string;
      readonly path: string;
    }
  | { readonly store: "dbt-cloud"; readonly account: string; readonly job: string; readonly path: string };

/** The address of one kind of store. */
export type AddressIn<Store extends StoreAddress["store"]> = Extract<StoreAddress, { readonly store: Store }>;

/** Reads a path, or an address by its scheme; null where it is of no known store, or not complete. */
export function storeAddress(text: string): StoreAddress | null {
  const [, rest = text] = ADDRESS.exec(text) ?? [];
  const read = READERS[schemeOf(text)];
  return read === undefined ? null : read(rest, text);
}

const ADDRESS = /^[a-z][\w+.-]+:\/\/(.*)$/is;

/** The scheme of an address in lower case; `file` for a path. */
export function schemeOf(text: string): string {
  if (/^https?:/i.test(text)) return text.slice(0, text.indexOf(":")).toLowerCase();
  return ADDRESS.test(text) ? text.slice(0, text.indexOf(":")).toLowerCase() : "file";
}

/** Azure in all countries but China, whose addresses name another. */
const AZURE_CLOUD = "core.windows.net";

type ReadAddress = (rest: string, text: string) => StoreAddress | null;

const bucketIn =
  (store: "s3" | "gcs"): ReadAddress =>
  (rest) => {
    const [, bucket, path] = /^([^/@?#]+)\/(.+)$/s.exec(rest) ?? [];
    return bucket === undefined || path === undefined ? null : { store, bucket, path };
  };

const http: ReadAddress = (_, url) => (URL.canParse(url) ? { store: "http", url } : null);

const READERS: Readonly<Record<string, ReadAddress>> = {
  file: (path) => (path === "" ? null : { store: "local", path }),
  http,
  https: http,
  s3: bucketIn("s3"),
  s3a: bucketIn("s3"),
  gs: bucketIn("gcs"),
  gcs: bucketIn("gcs"),
  az: (rest) => {
    const [, container, path] = /^([^/@?#]+)\/(.+)$/s.exec(rest) ?? [];
    if (container === undefined || path === undefined) return null;
    return { store: "azure", account: null, cloud: AZURE_CLOUD, container, path };
  },
  abfss: (rest) => {
    const [, container, account, cloud = AZURE_CLOUD, path] =
      /^([^/@?#]+)@([^/@?#.]+)\.dfs\.([^/@?#:]+)\/(.+)$/s.exec(rest) ?? [];
    if (container === undefined || account === undefined || path === undefined) return null;
    return { store: "azure", account, cloud, container, path };
  },
  "dbt-cloud": (rest) => {
    const [, account, job, path] = /^(\w+)\/jobs\/(\d+)\/(.+)$/s.exec(rest) ?? [];
    if (account === undefined || job === undefined || path === undefined) return null;
    return { store: "dbt-cloud", account, job, path };
  },
};

/** dbt's files, by what they hold. */
export const ARTIFACT_FILES = {
  manifest: "manifest.json",
  catalog: "catalog.json",
  runResults: "run_results.json",
  sources: "sources.json",
  freshness: "freshness.json",
} as const;
export type ArtifactKind = keyof typeof ARTIFACT_FILES;

/** One of dbt's files in a folder: a path, or an address, whose query stays (it may be a signature). */
export function artifactIn(folder: string, kind: ArtifactKind): string {
  const file = ARTIFACT_FILES[kind];
  const [, path = folder, query = ""] = /^(https?:[^?#]*)(.*)$/is.exec(folder) ?? [];
  return `${path.replace(/(?<=[^/\\:])[/\\]+$/, "")}/${file}${query}`;
}

/** Whether a file is looked for among those of `artifacts`, and not named for itself: it may be absent. */
export function isOfArtifacts(
  location: string | null | undefined,
  artifacts: string | null,
  kind: ArtifactKind,
): boolean {
  return artifacts !== null && location === artifactIn(artifacts, kind);
}

/** The file that a setting names. Of a job of dbt Cloud it is the one of this kind, unless the address goes on. */
export function artifactAt(location: string, kind: ArtifactKind): string {
  return /^dbt-cloud:\/\/\w+\/jobs\/\d+\/?$/i.test(location) ? artifactIn(location, kind) : location;
}

/** Whether an address may be sent a secret: over TLS, or to this machine. */
export function isFetchable(address: string, allowHttp = false): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return protocol === "https:" || (protocol === "http:" && (allowHttp || isLocal));
}
