import { fail, type Source, type SourceLimits, tooLarge } from "./failure.js";

/** What a server says to recognise a version of a file by (RFC 9110 §8.8). */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

export type Fetched =
  (Source & { readonly validators?: Validators }) | { readonly ok: true; readonly notModified: true };

/**
 * Reads what an http(s) address answers, through redirects; gives up at the limits. With the validators of a version
 * that the caller has, a server that has no newer one need not send it.
 */
export async function fetchText(
  address: string,
  { timeoutMs, maxBytes }: SourceLimits,
  known: Validators | null = null,
): Promise<Fetched> {
  const request = requestOf(address);
  if (!request) {
    return fail(
      `Not a valid address: ${shownAddress(address)}. Write it as https://host/path/manifest.json.`,
    );
  }
  const { url, shown, headers } = request;
  try {
    const response = await fetch(url, {
      headers: { ...headers, ...conditions(known) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.ok)
      return { ...(await bodyText(response, shown, maxBytes)), validators: validatorsOf(response) };
    if (response.status === 304 && known) return { ok: true, notModified: true };
    await response.body?.cancel();
    return fail(`${shown} answered ${String(response.status)}; expected 200 with the file.`);
  } catch (error) {
    return fail(`Cannot fetch ${shown}: ${reasonOf(error as Error, timeoutMs)}`);
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

interface Request {
  readonly url: string;
  readonly shown: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Takes the user and password out of an address, since `fetch` refuses them there. */
function requestOf(address: string): Request | null {
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  const login = `${decoded(url.username)}:${decoded(url.password)}`;
  url.username = url.password = "";
  const authorization = `Basic ${Buffer.from(login).toString("base64")}`;
  return {
    url: url.href,
    shown: shownAddress(address),
    headers: { accept: "application/json", ...(login !== ":" && { authorization }) },
  };
}

/** A `%` that escapes nothing stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An address as messages show it: without login, and without the query, where signed addresses carry theirs. */
export function shownAddress(address: string): string {
  // In one that cannot be taken apart, there is no telling where a secret ends.
  if (!URL.canParse(address)) return address.replace(/\/\/.*[@?#].*$/s, "//…");
  const { origin, pathname } = new URL(address);
  return origin + pathname;
}

async function bodyText(response: Response, shown: string, maxBytes: number): Promise<Source> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body = response.body as AsyncIterable<Uint8Array> | null;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) return tooLarge(shown, maxBytes);
    chunks.push(chunk);
  }
  return { ok: true, text: Buffer.concat(chunks).toString("utf8"), shown };
}

/** `fetch` says little itself; the cause beneath it tells what happened. */
function reasonOf({ name, message, cause }: Error, timeoutMs: number): string {
  const { code = "", message: detail = "" } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
  if (name === "TimeoutError") return `no complete answer within ${String(timeoutMs / 1000)} s.`;
  if (code === "ECONNREFUSED") return "nothing listens there.";
  if (code === "ENOTFOUND") return "there is no such host.";
  if (code === "UND_ERR_SOCKET" || code === "ECONNRESET")
    return "the connection ended before the file was complete.";
  if (/CERT|SIGNATURE|SELF_SIGNED/.test(code))
    return `its certificate is not trusted (${detail}). Name your own authority's in NODE_EXTRA_CA_CERTS.`;
  return detail ? `${message} (${detail}).` : `${message}.`;
}
