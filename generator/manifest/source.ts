import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { fail, type Source, type SourceLimits, tooLarge } from "./failure.js";
import { type Fetched, fetchText, shownAddress, type Validators } from "./fetch.js";

export { fail, type Failure, type Source } from "./failure.js";

/** A manifest of 100 MB is ordinary; past 500 a text no longer fits one string of the JavaScript engine. */
export const SOURCE_LIMITS: SourceLimits = { timeoutMs: 60_000, maxBytes: 500 * 1024 * 1024 };

/** Reads a file or an http(s) address whole. Never throws for what a user can get wrong. */
export async function readSource(location: string, limits: Partial<SourceLimits> = {}): Promise<Source> {
  const source = await readIfModified(location, null, limits);
  return "notModified" in source
    ? fail(`${shownLocation(location)} answered 304 to a first request.`)
    : source;
}

/** As `readSource`; a server is told which version the caller has, and need not send that one again. */
export async function readIfModified(
  location: string,
  known: Validators | null,
  limits: Partial<SourceLimits> = {},
): Promise<Fetched> {
  const all = { ...SOURCE_LIMITS, ...limits };
  const source = await (isAddress(location) ? fetchText(location, all, known) : readText(location, all));
  return "text" in source ? { ...source, text: withoutMark(source.text) } : source;
}

/** A location as messages show it: nothing secret of an address is in it. */
export function shownLocation(location: string): string {
  return isAddress(location) ? shownAddress(location) : location;
}

/** Whether a source is fetched rather than read from this machine. */
export function isAddress(location: string): boolean {
  return /^https?:/i.test(location);
}

async function readText(file: string, { maxBytes }: SourceLimits): Promise<Source> {
  try {
    const { size } = await stat(file);
    if (size > maxBytes) return tooLarge(file, maxBytes);
    // Decoded whole: `readFile` with an encoding does it chunk by chunk, in twice the time.
    const bytes = await readFile(file);
    return { ok: true, text: bytes.toString("utf8"), shown: file };
  } catch (error) {
    return fail(`Cannot read ${file}: ${reasonOf(error as NodeJS.ErrnoException, file)}`);
  }
}

/** Editors and shells on Windows put a byte order mark in front, which is no JSON. */
function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

function reasonOf({ code, message }: NodeJS.ErrnoException, file: string): string {
  if (code === "ENOENT") return `there is no such file. ${writerOf(file)} writes it to target/.`;
  if (code === "EISDIR") return "it is a folder; name the file in it.";
  if (code === "EACCES") return "no permission to read it.";
  return message;
}

function writerOf(file: string): string {
  switch (basename(file)) {
    case "catalog.json":
      return "`dbt docs generate`";
    case "run_results.json":
      return "`dbt build`";
    default:
      return "`dbt parse` or `dbt build`";
  }
}
