import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { failed, type Failure, type Outcome, succeeded } from "@routewright/runtime/model";

/** A text and its location, redacted for messages. */
interface Source {
  readonly text: string;
  readonly location: string;
}

interface SourceLimits {
  /** Time to fetch an http(s) source, from the request to the last byte. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** What writes the file, for the message that it is missing. */
  readonly writer: string;
}

/** A manifest of 100 MB is ordinary; past 500 a text no longer fits one string of the JavaScript engine. */
const SOURCE_LIMITS: SourceLimits = {
  timeoutMs: 60_000,
  maxBytes: 500 * 1024 * 1024,
  writer: "`dbt parse` or `dbt build`",
};

/** Reads a file or an http(s) address whole. Never throws for what a user can get wrong. */
export async function readSource(
  location: string,
  limits: Partial<SourceLimits> = {},
): Promise<Outcome<Source>> {
  const source = await readIfModified(location, null, limits);
  return source === NOT_MODIFIED
    ? failed(`${redactedLocation(location)} answered 304 to a first request.`)
    : source;
}

/** As `readSource`. With `known`, the validators of the version that the caller has, a server may answer 304. */
export async function readIfModified(
  location: string,
  known: Validators | null,
  limits: Partial<SourceLimits> = {},
): Promise<Fetched> {
  const all = { ...SOURCE_LIMITS, ...limits };
  const source = await (isAddress(location) ? fetchText(location, all, known) : readText(location, all));
  if (source === NOT_MODIFIED || !source.ok) return source;
  return succeeded({ ...source.value, text: withoutByteOrderMark(source.value.text) });
}

/** A location for messages: addresses lose their credentials. */
export function redactedLocation(location: string): string {
  return isAddress(location) ? redactedAddress(location) : location;
}

/** Whether a source is fetched over HTTP; otherwise it is a file. */
export function isAddress(location: string): boolean {
  return /^https?:/i.test(location);
}

async function readText(file: string, { maxBytes, writer }: SourceLimits): Promise<Outcome<Source>> {
  try {
    const found = await stat(file);
    const { size } = found;
    // A named pipe without a writer would block every later refresh.
    if (!found.isFile() && !found.isDirectory())
      return failed(`Cannot read ${file}: it is not a regular file.`);
    if (size > maxBytes) return tooLarge(file, maxBytes);
    return decodedSource(await readFile(file), file);
  } catch (error) {
    return failed(
      `Cannot read ${file}: ${fileErrorText(error as NodeJS.ErrnoException, writer)}${nameHint(file)}`,
    );
  }
}

/** Decoding would replace bytes that are not UTF-8: a tag could lose its tier without an error. */
function decodedSource(bytes: Buffer, location: string): Outcome<Source> {
  if (!isUtf8(bytes))
    return failed(`${location} is not in UTF-8: dbt writes UTF-8. Copy the file again, byte by byte.`);
  // Decoded whole: `readFile` with an encoding does it chunk by chunk, in twice the time.
  return succeeded({ text: bytes.toString("utf8"), location });
}

/** Editors and shells on Windows write a byte order mark, which is not JSON. */
function withoutByteOrderMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

function fileErrorText({ code, message }: NodeJS.ErrnoException, writer: string): string {
  if (code === "ENOENT") return `there is no such file. ${writer} writes it to target/.`;
  if (code === "EISDIR") return "it is a folder; name the file in it.";
  if (code === "EACCES") return "no permission to read it.";
  return message;
}

/** What a shell or another system would have made of the name of a missing file. */
function nameHint(file: string): string {
  if (existsSync(file)) return "";
  if (/^["']|["']$/.test(file)) return " The name has quotation marks: leave them out.";
  if (file.startsWith("~")) return " `~` is a home folder in a shell alone: write the whole path.";
  if (/[*?]/.test(file)) return " Write the name of one file: `*` and `?` stand for themselves here.";
  return sep === "/" && file.includes("\\") ? " Write `/` between folders." : "";
}

/** The folder of the dbt project that wrote a manifest, in its git repository, as `dbt/`; empty where it is the root, or unknown. */
export function projectInRepository(manifest: string | null): string {
  if (manifest === null || isAddress(manifest)) return "";
  const project = above(dirname(resolve(manifest)), "dbt_project.yml");
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

/** Validators of a response (RFC 9110 §8.8). */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** The server has no newer version than the one that is known. */
export const NOT_MODIFIED = Symbol("304");

type Fetched = Outcome<Source & { readonly validators?: Validators }> | typeof NOT_MODIFIED;

/**
 * Fetches an http(s) address, following redirects, within the limits. With `known` the request is conditional.
 */
async function fetchText(
  address: string,
  { timeoutMs, maxBytes }: SourceLimits,
  known: Validators | null = null,
): Promise<Fetched> {
  const location = redactedAddress(address);
  if (!URL.canParse(address))
    return failed(`Not a valid address: ${location}. Write it as https://host/path/manifest.json.`);
  const { url, headers } = requestOf(new URL(address));
  try {
    const response = await fetch(url, {
      headers: { ...headers, ...conditions(known) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.ok) {
      const body = await readBody(response, location, maxBytes);
      return body.ok ? succeeded({ ...body.value, validators: validatorsOf(response) }) : body;
    }
    if (response.status === 304 && known) return NOT_MODIFIED;
    await response.body?.cancel();
    return failed(`${location} answered ${String(response.status)}; expected 200 with the file.`);
  } catch (error) {
    return failed(`Cannot fetch ${location}: ${fetchErrorText(error as Error, timeoutMs)}`);
  }
}

function conditions(known: Validators | null): Readonly<Record<string, string>> {
  return {
    ...(known?.etag && { "if-none-match": known.etag }),
    ...(known?.lastModified && { "if-modified-since": known.lastModified }),
  };
}

function validatorsOf({ headers }: Response): Validators {
  return { etag: headers.get("etag"), lastModified: headers.get("last-modified") };
}

/**
 * Moves user and password from the address to a header: `fetch` refuses them in the address. Each request has its own
 * connection: a server may close an idle one while the next request is on its way.
 */
function requestOf(url: URL) {
  const login = `${decoded(url.username)}:${decoded(url.password)}`;
  url.username = url.password = "";
  const authorization = `Basic ${Buffer.from(login).toString("base64")}`;
  const headers = {
    accept: "application/json",
    connection: "close",
    ...(login !== ":" && { authorization }),
  };
  return { url: url.href, headers };
}

/** A `%` without two hexadecimal digits is kept. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An address without its login and without its query, where signed addresses carry their secret. */
function redactedAddress(address: string): string {
  // Where an address cannot be parsed, the end of a secret is unknown.
  if (!URL.canParse(address)) return address.replace(/\/\/.*[@?#].*$/s, "//…");
  const { origin, pathname } = new URL(address);
  return origin + pathname;
}

async function readBody(response: Response, location: string, maxBytes: number): Promise<Outcome<Source>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body = response.body as AsyncIterable<Uint8Array> | null;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) return tooLarge(location, maxBytes);
    chunks.push(chunk);
  }
  return decodedSource(Buffer.concat(chunks), location);
}

const INCOMPLETE: ReadonlySet<string> = new Set([
  "UND_ERR_SOCKET",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  "ECONNRESET",
]);

/** The cause of a `fetch` error says what happened; its own message rarely does. */
function fetchErrorText({ name, message, cause }: Error, timeoutMs: number): string {
  const { code = "", message: detail = "" } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
  if (name === "TimeoutError") return `no complete response within ${String(timeoutMs / 1000)} s.`;
  if (code === "ECONNREFUSED") return "nothing listens there.";
  if (code === "ENOTFOUND") return "there is no such host.";
  // Node 26 says so without a code; older versions take a body without its last chunk for complete.
  if (INCOMPLETE.has(code) || detail.includes("Invalid EOF state"))
    return "the connection ended before the file was complete.";
  if (/CERT|SIGNATURE|SELF_SIGNED/.test(code))
    // Newer versions of Node append advice.
    return `its certificate is not trusted (${detail.split(";")[0] ?? ""}). Name your own authority's in NODE_EXTRA_CA_CERTS.`;
  return detail ? `${message} (${detail}).` : `${message}.`;
}

function tooLarge(location: string, maxBytes: number): Failure {
  const megabytes = Math.round(maxBytes / 1024 / 1024);
  return failed(`${location} is too large: at most ${String(megabytes)} MB are read.`);
}
