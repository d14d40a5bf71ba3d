import type { AddressIn, StoreAddress } from "@routewright/runtime/model";

/** What opens dbt's files beyond what the tools of each store find by themselves. */
export interface ArtifactAccess {
  /** A header for http(s) addresses: it is sent to these origins only. */
  readonly header: {
    readonly name: string;
    readonly value: string;
    readonly origins: readonly string[];
  } | null;
  /** `host`: the origin of dbt Cloud's API. */
  readonly dbtCloud: { readonly host: string; readonly token: string | null };
}

/** Validators of a version (RFC 9110 §8.8). Stores have an entity tag alone. */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

export interface SourceLimits {
  /** Time to fetch a file of a store, from the request to the last byte. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** What writes the file, for the message that it is missing. */
  readonly writer: string;
}

export interface FetchRequest {
  /** For messages: the location without secrets. */
  readonly shown: string;
  /** The version that the caller has; null for none. */
  readonly known: Validators | null;
  readonly limits: SourceLimits;
  readonly access: ArtifactAccess;
  /** Ends at the time limit. */
  readonly signal: AbortSignal;
}

/** What a store gave. Problems never repeat what a server says: it may quote credentials. */
export type Fetched =
  | { readonly kind: "content"; readonly bytes: Buffer; readonly validators: Validators | null }
  /** The store has no newer version than the one that is known. */
  | { readonly kind: "unmodified" }
  | { readonly kind: "missing"; readonly problem: string }
  | { readonly kind: "failed"; readonly problem: string };

/** Reads a file of one kind of store. Never throws for what a user can get wrong. */
export type ReadFrom<Store extends StoreAddress["store"]> = (
  address: AddressIn<Store>,
  request: FetchRequest,
) => Promise<Fetched>;

export function failedFetch(problem: string): Fetched {
  return { kind: "failed", problem };
}

export const missingFile = ({ shown, limits }: FetchRequest): Fetched => ({
  kind: "missing",
  problem: `Cannot read ${shown}: there is no such file. ${limits.writer} writes it; copy it there.`,
});

/** Credentials that a store does not accept, or that may not read the file. */
export const refusedAs = ({ shown }: FetchRequest, reason: string): Fetched =>
  failedFetch(`Cannot read ${shown}: ${reason}`);

/** A body as one piece, within the limit. */
export async function contentOf(
  body: AsyncIterable<Uint8Array>,
  validators: Validators | null,
  { shown, limits: { maxBytes } }: Pick<FetchRequest, "shown" | "limits">,
): Promise<Fetched> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) return tooLarge(shown, maxBytes);
    chunks.push(chunk);
  }
  return { kind: "content", bytes: Buffer.concat(chunks), validators };
}

export function tooLarge(shown: string, maxBytes: number): Fetched {
  const megabytes = Math.round(maxBytes / 1024 / 1024);
  return failedFetch(`${shown} is too large: at most ${String(megabytes)} MB are read.`);
}

/** A library that a store needs; `command` installs it. */
export async function library<Library>(
  load: () => Promise<Library>,
  { shown }: Pick<FetchRequest, "shown">,
  packages: string,
): Promise<{ readonly library: Library } | { readonly missing: Fetched }> {
  try {
    return { library: await load() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    return {
      missing: failedFetch(
        `Cannot read ${shown}: a package is not installed. Run \`npm install ${packages}\`.`,
      ),
    };
  }
}

const INCOMPLETE: ReadonlySet<string> = new Set([
  "UND_ERR_SOCKET",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  "ECONNRESET",
]);

/** Why a connection failed, where the cause says it: an error's own message rarely does. Null: something else failed. */
export function connectionProblem(error: Error, { shown, limits, signal }: FetchRequest): Fetched | null {
  const text = connectionText(error, limits.timeoutMs, signal);
  return text === null ? null : failedFetch(`Cannot fetch ${shown}: ${text}`);
}

function connectionText(error: Error, timeoutMs: number, signal: AbortSignal): string | null {
  const cause = (error.cause ?? error) as Partial<NodeJS.ErrnoException>;
  const { code = "", message: detail = "" } = cause;
  if (signal.aborted || error.name === "TimeoutError")
    return `no complete response within ${String(timeoutMs / 1000)} s.`;
  if (code === "ECONNREFUSED") return "nothing listens there.";
  if (code === "ENOTFOUND") return "there is no such host.";
  // Node 26 says so without a code; older versions take a body without its last chunk for complete.
  if (INCOMPLETE.has(code) || error.name === "AbortError" || detail.includes("Invalid EOF state"))
    return "the connection ended before the file was complete.";
  if (/CERT|SIGNATURE|SELF_SIGNED/.test(code))
    // Newer versions of Node append advice.
    return `its certificate is not trusted (${detail.split(";")[0] ?? ""}). Name your own authority's in NODE_EXTRA_CA_CERTS.`;
  return null;
}

/** What a store's library reports: only its name and the status, as its message may quote credentials. */
export function libraryProblem(error: unknown, status: number | undefined, request: FetchRequest): Fetched {
  const known = connectionProblem(error as Error, request);
  if (known !== null) return known;
  const { name = "Error", code } = error as { readonly name?: string; readonly code?: unknown };
  const isWord = (text: unknown): text is string => typeof text === "string" && /^[\w.]{1,60}$/.test(text);
  const what = [code, name].find(isWord) ?? "error";
  const answered = status === undefined ? "" : `, status ${String(status)}`;
  return failedFetch(`Cannot read ${request.shown}: the store failed (${what}${answered}).`);
}
