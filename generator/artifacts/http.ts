import { isFetchable } from "@routewright/runtime/model";
import {
  connectionProblem,
  contentOf,
  failedFetch,
  type Fetched,
  type FetchRequest,
  type ReadFrom,
  type Validators,
} from "./store.js";

/** Headers that a request gets which starts at one of these origins, until a redirect leaves it. */
export interface SecretHeaders {
  readonly headers: Readonly<Record<string, string>>;
  readonly origins: readonly string[];
}

export const NO_SECRETS: SecretHeaders = { headers: {}, origins: [] };

/** As browsers, curl and `fetch` itself. */
const MAX_REDIRECTS = 20;

/** A file at an http(s) address, which may hold user and password. */
export const readHttp: ReadFrom<"http"> = (address, request) => {
  const url = new URL(address.url);
  const { header } = request.access;
  const isConfigured = header?.origins.includes(url.origin) === true;
  if (isConfigured && !isFetchable(url.href))
    return Promise.resolve(failedFetch(`Cannot fetch ${request.shown}: ${HEADER_IN_CLEAR}`));
  const login = `${decoded(url.username)}:${decoded(url.password)}`;
  const basic = `Basic ${Buffer.from(login).toString("base64")}`;
  const own = login === ":" ? NO_SECRETS : { headers: { authorization: basic }, origins: [url.origin] };
  const configured =
    header === null ? NO_SECRETS : { headers: { [header.name]: header.value }, origins: header.origins };
  return fetchFile(url, [own, configured], request);
};

const HEADER_IN_CLEAR =
  "DBT_ARTIFACTS_HEADER is sent over https, or to this machine, only. Use an https:// address.";

/** A `%` without two hexadecimal digits is kept. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Fetches a file; with a known version the request is conditional. `answered` says what a status means to a store. */
export async function fetchFile(
  url: URL,
  secrets: readonly SecretHeaders[],
  request: FetchRequest,
  answered: (status: number, body: () => Promise<string>) => Promise<Fetched | null> = () =>
    Promise.resolve(null),
): Promise<Fetched> {
  const { shown, known } = request;
  try {
    const response = await followRedirects(url, secrets, request);
    if (typeof response === "string")
      return failedFetch(`Cannot fetch ${shown}: fetch failed (${response}).`);
    const { status } = response;
    if (response.ok) return await contentOf(bodyOf(response), validatorsOf(response), request);
    if (status === 304 && known !== null) return { kind: "unmodified" };
    const meaning = await answered(status, () => response.clone().text());
    await response.body?.cancel();
    if (meaning !== null) return meaning;
    const kind = status === 404 || status === 410 ? "missing" : "failed";
    return { kind, problem: `${shown} answered ${String(status)}; expected 200 with the file.` };
  } catch (error) {
    return connectionProblem(error as Error, request) ?? fetchProblem(error as Error, request);
  }
}

/** Without a cause `fetch` has refused the request, and its message may quote a header. */
function fetchProblem({ message, cause }: Error, { shown }: FetchRequest): Fetched {
  const { message: detail = "" } = (cause ?? {}) as Partial<Error>;
  return failedFetch(
    `Cannot fetch ${shown}: ${detail ? `${message} (${detail})` : "the request is not valid"}.`,
  );
}

/**
 * The response that is no redirect, or why there is none. It follows redirects itself: `fetch` takes only `Authorization` from
 * a request that leaves its origin, and no header of another name. Once it has left, it is sent no secret any more. Each
 * request has its own connection: a server may close an idle one while the next request is on its way.
 */
async function followRedirects(
  start: URL,
  secrets: readonly SecretHeaders[],
  { known, signal }: FetchRequest,
): Promise<Response | string> {
  let url = start;
  let sent = secrets.filter(({ origins }) => origins.includes(start.origin));
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    // `fetch` refuses them in an address, and quotes it.
    url.username = url.password = "";
    const headers = new Headers({ accept: "application/json", connection: "close", ...conditions(known) });
    for (const [name, value] of sent.flatMap((secret) => Object.entries(secret.headers)))
      headers.set(name, value);
    const response = await fetch(url, { headers, signal, redirect: "manual" });
    const target = response.headers.get("location");
    if (!REDIRECTS.has(response.status) || target === null) return response;
    await response.body?.cancel();
    if (!URL.canParse(target, url.href)) return "redirected to no address";
    url = new URL(target, url);
    if (!/^https?:$/.test(url.protocol)) return "URL scheme must be a HTTP(S) scheme";
    if (url.origin !== start.origin) sent = [];
  }
  return "redirect count exceeded";
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function conditions(known: Validators | null): Readonly<Record<string, string>> {
  return {
    ...(known?.etag && { "if-none-match": known.etag }),
    ...(known?.lastModified && { "if-modified-since": known.lastModified }),
  };
}

function validatorsOf({ headers }: Response): Validators {
  return { etag: headers.get("etag"), lastModified: headers.get("last-modified") };
}

function bodyOf(response: Response): AsyncIterable<Uint8Array> {
  return (response.body ?? []) as AsyncIterable<Uint8Array>;
}
