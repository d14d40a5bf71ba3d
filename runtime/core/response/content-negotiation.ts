import type { IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import type { Transform } from "node:stream";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import type Negotiator from "negotiator";
import type { ServedEndpoint } from "../model/served-endpoint.js";
import { pathOf } from "../http/route.js";
import {
  FORMAT_SUFFIXES,
  type JsonFormat,
  type Keyset,
  type Page,
  type ResolvedQuery,
  type RowFormat,
  isFormula,
} from "../model/query.js";
import type { ResultColumns, StreamEnd } from "../warehouse/warehouse.js";

/** `Content-Type` of each format. */
export const CONTENT_TYPES: Readonly<Record<RowFormat, string>> = {
  json: "application/json; charset=utf-8",
  "json-strings": "application/json; charset=utf-8; numbers=string",
  "json-declared": "application/json; charset=utf-8",
  csv: "text/csv; charset=utf-8; header=present",
  spreadsheet: "text/csv; charset=utf-8; header=present",
  ndjson: "application/x-ndjson; charset=utf-8",
  parquet: "application/vnd.apache.parquet",
  arrow: "application/vnd.apache.arrow.file",
  "arrow-stream": "application/vnd.apache.arrow.stream",
};

const FORMATS: ReadonlyMap<string, RowFormat> = new Map([
  ["application/json", "json"],
  ["text/csv", "csv"],
  ["application/x-ndjson", "ndjson"],
  ["application/vnd.apache.parquet", "parquet"],
  ["application/vnd.apache.arrow.file", "arrow"],
  ["application/vnd.apache.arrow.stream", "arrow-stream"],
]);

const AVAILABLE = [...FORMATS.keys()];

/** A longer `Accept` or `Accept-Encoding` is ignored: reading 850 entries took 14 ms, and no client writes so many. */
const MAX_PREFERENCES = 1000;

/**
 * The preferred format of `Accept`; JSON if it has no supported one (RFC 9110 §12.5.1 allows it), so that clients with a
 * fixed `Accept` header work.
 */
function acceptedFormat({ headers }: Pick<IncomingMessage, "headers">, json: JsonFormat): RowFormat {
  const { accept } = headers;
  if (accept === undefined || accept === "*/*" || accept === "application/json") return json;
  if (accept.length > MAX_PREFERENCES) return json;
  const [best = ""] = preferencesOf({ accept: withoutParameters(accept) }).mediaTypes(AVAILABLE);
  const format = FORMATS.get(best) ?? "json";
  return format === "json"
    ? (NUMBERS.get(NUMBERS_PARAMETER.exec(accept)?.[1]?.toLowerCase() ?? "") ?? json)
    : format;
}

let NegotiatorClass: typeof Negotiator | undefined;

/** The package takes 10 ms and 3 MB: it is loaded where a header needs it. */
function preferencesOf(headers: Readonly<Record<string, string>>): Negotiator {
  NegotiatorClass ??= createRequire(import.meta.url)("negotiator") as typeof Negotiator;
  return new NegotiatorClass({ headers });
}

/** `Accept: application/json; numbers=string`. */
const NUMBERS_PARAMETER = /application\/json[^,]*;\s*numbers="?(string|number)"?\s*(?=[;,]|$)/i;
const NUMBERS: ReadonlyMap<string, RowFormat> = new Map([
  ["string", "json-strings"],
  ["number", "json"],
]);

/** Removes parameters other than the weight: each format has one `charset` and one `header`. */
function withoutParameters(accept: string): string {
  return accept.replace(/;\s*(?!q=)[\w-]+=(?:"(?:[^"\\]|\\.)*"|[^,;]*)/gi, "");
}

const PROBLEM_TYPE = "application/problem+json";

/**
 * Whether errors are sent as problem details: where `Accept` names that type, and JSON not with a higher weight. Rows are never of that
 * type, so a caller that names both wants errors in it.
 */
export function prefersProblem(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > MAX_PREFERENCES || !/problem\+json/i.test(accept)) return false;
  const weight = weightIn(accept, PROBLEM_TYPE);
  return weight > 0 && weight >= weightIn(accept, "application/json");
}

/** The weight of a media type that `Accept` names; 0 where it does not. */
function weightIn(accept: string, type: string): number {
  const named = withoutParameters(accept)
    .toLowerCase()
    .split(",")
    .map((part) => part.split(";").map((each) => each.trim()))
    .find(([name]) => name === type);
  if (named === undefined) return 0;
  const weight = named.find((parameter) => parameter.startsWith("q="));
  return weight === undefined ? 1 : Number(weight.slice(2)) || 0;
}

/** Text before and after the rows of a response. */
export interface Frame {
  readonly head: string;
  readonly tail: (end: Pick<StreamEnd, "returned" | "hasMore">) => string;
}

/** The frame of a query's format. Only JSON has an envelope. */
export function frameOf(
  { format, selection: { page, keyset } }: ResolvedQuery,
  columns: ResultColumns,
  nextCursor: string | null,
): Frame {
  switch (format) {
    case "json":
    case "json-strings":
    case "json-declared":
      return page?.envelope === true ? envelope(page, keyset, nextCursor) : BARE_ARRAY;
    case "ndjson":
      return { head: "", tail: ({ returned }) => (returned !== 0 ? "\n" : "") };
    case "csv":
    case "spreadsheet":
      return {
        head: `${columns.map(({ name }) => csvName(name, format)).join(",")}\r\n`,
        tail: ({ returned }) => (returned !== 0 ? "\r\n" : ""),
      };
    default:
      return NO_FRAME;
  }
}

/** A table has its own. */
const NO_FRAME: Frame = { head: "", tail: () => "" };

const BARE_ARRAY: Frame = { head: "[", tail: () => "]" };

/** A page that was reached by cursor has no offset; `next_cursor` leads to the page after it. */
function envelope({ limit, offset }: Page, keyset: Keyset | undefined, nextCursor: string | null): Frame {
  const cursorPage = {
    offset: keyset?.after ? null : offset,
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
  };
  return {
    head: '{"items":[',
    tail({ returned, hasMore }) {
      const pagination = { limit, offset, returned, has_more: hasMore, ...(keyset && cursorPage) };
      return `],"pagination":${JSON.stringify(pagination)}}`;
    },
  };
}

/** A field of the header record (RFC 4180). */
function csvName(name: string, format: "csv" | "spreadsheet"): string {
  const text = format === "spreadsheet" && isFormula(name) ? `'${name}` : name;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const SUFFIX = new RegExp(`\\.(${FORMAT_SUFFIXES.join("|")})$`);

/** The format of a response: the suffix of the path (`.csv`), otherwise `Accept`. */
export function formatOf(
  request: IncomingMessage,
  { spec: { path: endpointPath }, json }: Pick<ServedEndpoint, "spec" | "json">,
): RowFormat {
  const { url = "" } = request;
  const path = decoded(pathOf(url));
  if (path === endpointPath) return acceptedFormat(request, json);
  const suffix = SUFFIX.exec(path);
  const hasSuffix = suffix !== null && endpointPath.endsWith(path.slice(0, suffix.index));
  if (!hasSuffix) return acceptedFormat(request, json);
  if (suffix[1] === "arrows") return "arrow-stream";
  return suffix[1] === "json" ? json : (suffix[1] as RowFormat);
}

/** A path without its format suffix; null when it has none. */
function withoutFormat(path: string): string | null {
  return SUFFIX.test(path) ? path.replace(SUFFIX, "") : null;
}

/** What a map has at the path of a request: as sent, without escapes, or without the suffix of a format. */
export function findAt<T>(byPath: ReadonlyMap<string, T>, path: string): T | null {
  const found = byPath.get(path);
  if (found !== undefined) return found;
  const plain = decoded(path);
  return byPath.get(plain) ?? byPath.get(withoutFormat(plain) ?? plain) ?? null;
}

/** Clients may escape any character, but `%2F` is not the slash between segments. */
function decoded(path: string): string {
  if (!path.includes("%") || /%2f/i.test(path)) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** A content coding (RFC 9110 §8.4.1). */
export type Encoding = "br" | "gzip";

/**
 * Shorter bodies are not compressed: they fit into the initial congestion window (RFC 6928), so compression saves no round
 * trip.
 */
export const COMPRESSED_FROM_BYTES = 14 * 1024;

/** Levels at which compression is as fast as rows come from the database. */
const BROTLI: zlib.BrotliOptions = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };
const GZIP: zlib.ZlibOptions = { level: 5 };

const brotli: (body: Buffer, options: zlib.BrotliOptions) => Promise<Buffer> = promisify(zlib.brotliCompress);
const gzip: (body: Buffer, options: zlib.ZlibOptions) => Promise<Buffer> = promisify(zlib.gzip);

/** In order of speed, which decides between equally preferred codings. */
const ENCODINGS: readonly Encoding[] = ["br", "gzip"];

interface Encodings {
  encodings(available: readonly string[], options: { readonly preferred: readonly string[] }): string[];
}

/** The client's preferred coding; null: none. Parquet is compressed by itself. */
export function encodingOf(
  { headers }: Pick<IncomingMessage, "headers">,
  format?: RowFormat,
): Encoding | null {
  const accepted = headers["accept-encoding"];
  if (format === "parquet" || accepted === undefined || accepted.length > MAX_PREFERENCES) return null;
  const best = UNWEIGHTED.test(accepted) ? accepted.toLowerCase().split(/[, ]+/) : preferredOf(accepted);
  return ENCODINGS.find((encoding) => best.includes(encoding)) ?? null;
}

/** What nearly all clients send. */
const UNWEIGHTED = /^[a-z]+(, ?[a-z]+)*$/i;

function preferredOf(accepted: string): readonly string[] {
  // Its types lack the second argument.
  const preferences = preferencesOf({ "accept-encoding": accepted }) as unknown as Encodings;
  return preferences.encodings([...ENCODINGS, "identity"], { preferred: ENCODINGS }).slice(0, 1);
}

/** Compresses off the event loop. */
export function compress(encoding: Encoding, body: Buffer): Promise<Buffer> {
  if (encoding === "gzip") return gzip(body, GZIP);
  return brotli(body, {
    params: { ...BROTLI.params, [zlib.constants.BROTLI_PARAM_SIZE_HINT]: body.length },
  });
}

/** A compressing stream. */
export function compressor(encoding: Encoding): Transform {
  return encoding === "br" ? zlib.createBrotliCompress(BROTLI) : zlib.createGzip(GZIP);
}
