import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import {
  failed,
  type Outcome,
  schemeOf,
  storeAddress,
  type StoreAddress,
  succeeded,
  signalAfter,
} from "@routewright/runtime/model";
import { COMPRESSED_SUFFIXES, decompressed } from "./compressed.js";
import { readAzure } from "./azure.js";
import { readDbtCloud } from "./dbt-cloud.js";
import { readGcs } from "./gcs.js";
import { readHttp } from "./http.js";
import { readLocal } from "./local.js";
import { readS3 } from "./s3.js";
import type { ArtifactAccess, Fetched, ReadFrom, SourceLimits, Validators } from "./store.js";

/** A text and its location, redacted for messages. */
export interface Source {
  readonly text: string;
  readonly location: string;
}

/** A manifest of 100 MB is ordinary; past 500 a text no longer fits one string of the JavaScript engine. */
const SOURCE_LIMITS: SourceLimits = {
  timeoutMs: 60_000,
  maxBytes: 500 * 1024 * 1024,
  writer: "`dbt parse` or `dbt build`",
};

/** Without settings: no header, and no token of dbt Cloud. */
export const NO_ACCESS: ArtifactAccess = {
  header: null,
  dbtCloud: { host: "https://cloud.getdbt.com", token: null },
};

const READERS: { readonly [Store in StoreAddress["store"]]: ReadFrom<Store> } = {
  local: readLocal,
  http: readHttp,
  s3: readS3,
  gcs: readGcs,
  azure: readAzure,
  "dbt-cloud": readDbtCloud,
};

/** What a read gave: a text, no newer version, no such file, or a problem. */
export type SourceReading =
  | { readonly kind: "text"; readonly source: Source; readonly validators: Validators | null }
  | Exclude<Fetched, { readonly kind: "content" }>;

/** Reads a file or an address whole. Never throws for what a user can get wrong. */
export async function readSource(
  location: string,
  limits: Partial<SourceLimits> = {},
  access: ArtifactAccess = NO_ACCESS,
): Promise<Outcome<Source> & { readonly isMissing?: true }> {
  const read = await readIfModified(location, null, limits, access);
  if (read.kind === "text") return succeeded(read.source);
  if (read.kind === "unmodified")
    return failed(`${redactedLocation(location)} answered 304 to a first request.`);
  return { ...failed(read.problem), ...(read.kind === "missing" && { isMissing: true }) };
}

/** As `readSource`. With `known`, the validators of the version that the caller has, a store may say that it is the newest. */
export async function readIfModified(
  location: string,
  known: Validators | null,
  limits: Partial<SourceLimits> = {},
  access: ArtifactAccess = NO_ACCESS,
): Promise<SourceReading> {
  const shown = redactedLocation(location);
  const address = storeAddress(location);
  if (address === null) return { kind: "failed", problem: notAnAddress(location, shown) };
  const all = { ...SOURCE_LIMITS, ...limits };
  const signal = signalAfter(all.timeoutMs);
  const read = READERS[address.store] as ReadFrom<StoreAddress["store"]>;
  const fetched = await read(address, { shown, known, limits: all, access, signal });
  if (fetched.kind === "content") return decoded(await decompressed(fetched, shown, all.maxBytes), shown);
  return fetched.kind === "missing"
    ? ((await compressedSibling(location, known, limits, access)) ?? fetched)
    : fetched;
}

/** What is read where a `.json` file is missing; null where there is none of them either. */
async function compressedSibling(
  location: string,
  known: Validators | null,
  limits: Partial<SourceLimits>,
  access: ArtifactAccess,
): Promise<SourceReading | null> {
  if (!location.endsWith(".json") || storeAddress(location)?.store === "dbt-cloud") return null;
  for (const suffix of COMPRESSED_SUFFIXES) {
    const reading = await readIfModified(location + suffix, known, limits, access);
    if (reading.kind !== "missing") return reading;
  }
  return null;
}

/** Decoding would replace bytes that are not UTF-8: a tag could lose its tier without an error. */
function decoded(fetched: Fetched, location: string): SourceReading {
  if (fetched.kind !== "content") return fetched;
  const { bytes, validators } = fetched;
  if (!isUtf8(bytes))
    return {
      kind: "failed",
      problem: `${location} is not in UTF-8: dbt writes UTF-8. Copy the file again, byte by byte.`,
    };
  // Decoded whole: `readFile` with an encoding does it chunk by chunk, in twice the time.
  return {
    kind: "text",
    source: { text: withoutByteOrderMark(bytes.toString("utf8")), location },
    validators,
  };
}

/** Editors and shells on Windows write a byte order mark, which is not JSON. */
function withoutByteOrderMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** Whether a source is in a store; otherwise it is a file. */
export function isAddress(location: string): boolean {
  return schemeOf(location) !== "file" || /^file:\/\//i.test(location);
}

/** A location for messages: addresses lose their credentials, and the query, where signed addresses carry their secret. */
export function redactedLocation(location: string): string {
  if (!isAddress(location)) return location;
  const address = storeAddress(location);
  // Where an address cannot be parsed, the end of a secret is unknown.
  if (address === null) return location.replace(/\/\/.*[@?#].*$/s, "//…");
  if (address.store !== "http") return location.replace(/[?#].*$/s, "");
  const { origin, pathname } = new URL(address.url);
  return origin + pathname;
}

function notAnAddress(location: string, shown: string): string {
  const shape = SHAPES[schemeOf(location)];
  return shape === undefined
    ? `${schemeOf(location)}:// is not read: name a file, or an https://, s3://, gs://, az://, abfss:// or dbt-cloud:// address.`
    : `Not a valid address: ${shown}. Write it as ${shape}.`;
}

const SHAPES: Readonly<Record<string, string>> = {
  file: "the name of a file",
  http: "https://host/path/manifest.json",
  https: "https://host/path/manifest.json",
  s3: "s3://bucket/path/manifest.json",
  s3a: "s3a://bucket/path/manifest.json",
  gs: "gs://bucket/path/manifest.json",
  gcs: "gcs://bucket/path/manifest.json",
  az: "az://container/path/manifest.json",
  abfss: "abfss://container@account.dfs.core.windows.net/path/manifest.json",
  "dbt-cloud": "dbt-cloud://12345/jobs/678, or dbt-cloud://12345/jobs/678/manifest.json",
};

/** The folder of the dbt project that wrote a manifest; null where it is not on this machine. */
export function projectOf(manifest: string): string | null {
  return isAddress(manifest) ? null : above(dirname(resolve(manifest)), "dbt_project.yml");
}

/** The folder of the dbt project that wrote a manifest, in its git repository, as `dbt/`; empty where it is the root, or unknown. */
export function projectInRepository(manifest: string | null): string {
  const project = manifest === null ? null : projectOf(manifest);
  const repository = project === null ? null : above(project, ".git");
  if (project === null || repository === null) return "";
  const path = relative(repository, project).split(sep).join("/");
  return path === "" ? "" : `${path}/`;
}

/** The nearest folder from here up that holds a file; null without one. */
function above(folder: string, file: string): string | null {
  if (existsSync(join(folder, file))) return folder;
  return dirname(folder) === folder ? null : above(dirname(folder), file);
}
