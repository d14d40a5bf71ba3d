import { readFile, stat } from "node:fs/promises";

/** A manifest of 100 MB is ordinary; past this a text no longer fits one string of the JavaScript engine. */
export const MAX_SOURCE_BYTES = 500 * 1024 * 1024;

/** From the first byte asked for to the last one read, for an http(s) source. */
export const FETCH_TIMEOUT_MS = 60_000;

/** Bytes that were read, or one line that says why not and what to do. */
export type Source = { readonly ok: true; readonly text: string } | Failure;
export interface Failure {
  readonly ok: false;
  readonly problem: string;
}

/** Reads a file or an http(s) address whole. Never throws for what a user can get wrong. */
export async function readSource(location: string, timeoutMs = FETCH_TIMEOUT_MS): Promise<Source> {
  return /^https?:\/\//i.test(location) ? fetchText(location, timeoutMs) : readText(location);
}

async function readText(file: string): Promise<Source> {
  try {
    const { size } = await stat(file);
    if (size > MAX_SOURCE_BYTES)
      return fail(`${file} has ${megabytes(size)}; at most ${megabytes(MAX_SOURCE_BYTES)} are read.`);
    return { ok: true, text: await readFile(file, "utf8") };
  } catch (error) {
    return fail(`Cannot read ${file}: ${fileReason(error)}`);
  }
}

async function fetchText(address: string, timeoutMs: number): Promise<Source> {
  const request = requestOf(address);
  if (!request) return fail(`Not a valid address: ${address}`);
  try {
    const response = await fetch(request.url, {
      headers: request.headers,
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok)
      return fail(`${request.shown} answered ${response.status}; expected 200 with the file.`);
    return await bodyText(response, request.shown);
  } catch (error) {
    return fail(`Cannot fetch ${request.shown}: ${fetchReason(error, timeoutMs)}`);
  }
}

/** Takes the user and password out of an address: `fetch` refuses them there, and messages must not show them. */
function requestOf(address: string): { url: string; shown: string; headers: Record<string, string> } | null {
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = url.password = "";
  const headers: Record<string, string> = { accept: "application/json" };
  if (login !== ":") headers["authorization"] = `Basic ${Buffer.from(login).toString("base64")}`;
  return { url: url.href, shown: url.origin + url.pathname, headers };
}

async function bodyText(response: Response, shown: string): Promise<Source> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_SOURCE_BYTES)
      return fail(`${shown} sends more than ${megabytes(MAX_SOURCE_BYTES)}; stopped reading.`);
    chunks.push(chunk);
  }
  return { ok: true, text: Buffer.concat(chunks).toString("utf8") };
}

function fileReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "there is no such file. `dbt parse` or `dbt build` writes it to target/.";
  if (code === "EISDIR") return "it is a folder; name the file in it.";
  if (code === "EACCES") return "no permission to read it.";
  return message;
}

function fetchReason(error: unknown, timeoutMs: number): string {
  const { name, message, cause } = error as Error & { cause?: Error };
  if (name === "TimeoutError") return `no complete answer within ${timeoutMs / 1000} s.`;
  return cause?.message ? `${message} (${cause.message})` : message;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MB`;
}

export function fail(problem: string): Failure {
  return { ok: false, problem };
}
