import type { CatalogueBody, CatalogueEndpoint } from "../catalogue-body.js";
import { type Changelog, NO_CHANGELOG, parseChangelog } from "../../core/model/changelog.js";
import type { StatusBody } from "../status-history.js";
import { type ApiRequest, type FoundValues, type Parameters, withoutPage } from "./api-request.js";
import { key } from "./storage.js";
import { keepDigits, type ShownRow } from "./values.js";

/** Where the API is: this script is served in `/docs`, perhaps below a path of a proxy. */
export const BASE = new URL("..", import.meta.url).href.replace(/\/$/, "");

/** An error response, with the service's message. */
export class ServiceError extends Error {
  readonly status: number;
  readonly requestId: string | null;
  /** Seconds to wait, where the service says them. */
  readonly retryAfter: number | null;

  constructor(status: number, message: string, headers = new Headers()) {
    super(message);
    this.status = status;
    this.requestId = headers.get("x-request-id");
    // A proxy may say a date.
    const seconds = Number(headers.get("retry-after") ?? NaN);
    this.retryAfter = Number.isFinite(seconds) ? seconds : null;
  }
}

/** The caller's rate limit window, from the response headers. */
type Limits = Readonly<Record<"limit" | "remaining", number>>;

/** What the pages are made from. */
export interface GuideFacts {
  readonly catalogue: CatalogueBody;
  readonly limits: Limits | null;
  /** Why the tab's key was dropped; null where it was not. */
  readonly refused: string | null;
}

/** The catalogue by the tab's key. One that is not accepted is dropped: what is public is shown without it. */
export async function fetchCatalogue(): Promise<GuideFacts> {
  const sent = key.get();
  let refused: string | null = null;
  const response = await send(CATALOGUE).catch((error: unknown) => {
    const isRefused = error instanceof ServiceError && (error.status === 401 || error.status === 403);
    // Another key may have been entered meanwhile.
    if (!isRefused || sent === "" || key.get() !== sent) throw error;
    refused = error.message.replace(/\.$/, "");
    key.set("");
    return send(CATALOGUE);
  });
  const catalogue = (await readable(response.json())) as CatalogueBody;
  return { catalogue, limits: limitsOf(response), refused };
}

const CATALOGUE = "/v1/system/catalogue";

/** The address of a request, without the host. */
export function addressOf(
  {
    endpoint: { path },
    parameters,
  }: { readonly endpoint: { readonly path: string }; readonly parameters: Parameters },
  format = "",
): string {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(parameters))
    for (const value of values) query.append(name, value);
  const text = query.toString();
  return path + format + (text === "" ? "" : `?${text}`);
}

export interface QueryResponse {
  readonly rows: readonly ShownRow[];
  /** What the API answered as JSON, of a list the first rows. */
  readonly json: string;
  /** Whether a next page follows. */
  readonly hasNext: boolean;
  /** Names the next page where pages follow each other by cursor; else null. */
  readonly cursor: string | null;
  /** Whether reading stopped at `MAX_ROWS`. */
  readonly isCut: boolean;
  readonly asOf: string | null;
  readonly limits: Limits | null;
  readonly milliseconds: number;
}

/** Rows that the explorer reads at most; the CSV file has all of them. */
export const MAX_ROWS = 5000;

/** Rows that the explorer shows. */
export const SHOWN = 500;

/** Runs a request and reads its rows. */
export async function query(
  request: ApiRequest,
  signal: AbortSignal,
  most = MAX_ROWS,
): Promise<QueryResponse> {
  const started = performance.now();
  const isEnvelope = request.endpoint.pagination?.response === "envelope";
  const response = await sendRequest(request, isEnvelope ? ".json" : ".ndjson", signal);
  const { rows, json, isCut } = await readable(
    isEnvelope ? readEnvelope(response) : readList(response, most),
  );
  return {
    rows,
    json,
    ...nextOf(response),
    isCut,
    asOf: response.headers.get("x-data-as-of"),
    limits: limitsOf(response),
    milliseconds: performance.now() - started,
  };
}

/** Whether a page follows, and its cursor. */
export function nextOf({ headers }: Response): Pick<QueryResponse, "hasNext" | "cursor"> {
  const next = /<([^>]*)>; rel="next"/.exec(headers.get("link") ?? "")?.[1];
  return {
    hasNext: next !== undefined,
    cursor: next === undefined ? null : new URL(next, location.href).searchParams.get("cursor"),
  };
}

/** The values of a column in the rows that `others` select. */
export async function fetchValues(
  { path }: CatalogueEndpoint,
  column: string,
  { prefix, limit, others }: { readonly prefix: string; readonly limit: number; readonly others: Parameters },
  signal: AbortSignal,
): Promise<FoundValues> {
  const own = {
    path: [path],
    column: [column],
    limit: [String(limit)],
    ...(prefix !== "" && { prefix: [prefix] }),
  };
  const endpoint = { path: "/v1/system/values" };
  const response = await send(addressOf({ endpoint, parameters: { ...others, ...own } }), signal);
  return (await readable(response.json())) as FoundValues;
}

/** The values of several columns, each counted without the conditions on itself. */
export async function fetchFacets(
  { path }: CatalogueEndpoint,
  columns: readonly string[],
  { limit, others }: { readonly limit: number; readonly others: Parameters },
  signal: AbortSignal,
): Promise<Readonly<Record<string, FoundValues>>> {
  const own = { path: [path], columns: [columns.join(",")], limit: [String(limit)] };
  const endpoint = { path: "/v1/system/values" };
  const response = await send(addressOf({ endpoint, parameters: { ...others, ...own } }), signal);
  const { facets } = (await readable(response.json())) as {
    readonly facets: Readonly<Record<string, FoundValues>>;
  };
  return facets;
}

/** What `GET /v1/system/chart` answers. */
export interface FoundPoints {
  readonly points: readonly {
    readonly x: unknown;
    readonly by: readonly unknown[];
    readonly sum: readonly unknown[];
    readonly count: readonly number[];
  }[];
  readonly more: boolean;
}

/** The points of a chart: sums over all rows that `others` select. */
export async function fetchPoints(
  path: string,
  asked: {
    readonly x: string;
    readonly y: readonly string[];
    readonly by: readonly string[];
    readonly grain: string | null;
  },
  others: Parameters,
  signal: AbortSignal,
): Promise<FoundPoints> {
  const own = {
    ...{ path: [path], x: [asked.x], y: [asked.y.join(",")] },
    ...(asked.by.length > 0 && { by: [asked.by.join(",")] }),
    ...(asked.grain !== null && { grain: [asked.grain] }),
  };
  const endpoint = { path: "/v1/system/chart" };
  const response = await send(addressOf({ endpoint, parameters: { ...others, ...own } }), signal);
  return (await readable(response.json())) as FoundPoints;
}

/** The number of rows on all pages; null where the service does not say it. */
export async function fetchTotal(request: ApiRequest, signal: AbortSignal): Promise<number | null> {
  const parameters = { ...withoutPage(request.parameters), limit: ["1"] };
  const response = await send(addressOf({ ...request, parameters }), signal, { Prefer: "count=exact" });
  const total = response.headers.get("x-total-count");
  return total === null ? null : Number(total);
}

/** An incomplete body, or one of a proxy. */
async function readable<T>(body: Promise<T>): Promise<T> {
  return body.catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ServiceError(0, "The response is incomplete or is not JSON. Try again.");
  });
}

type LoadedRows = Promise<Pick<QueryResponse, "rows" | "json" | "isCut">>;

async function readEnvelope(response: Response): LoadedRows {
  const json = await response.text();
  return { rows: (JSON.parse(json, keepDigits) as { items: ShownRow[] }).items, json, isCut: false };
}

/** Rows of JSON on lines, which can be read while they arrive. */
async function readList(response: Response, most: number): LoadedRows {
  const lines: string[] = [];
  let rest = "";
  await readText(response, (piece) => {
    lines.push(...(rest + piece).split("\n"));
    rest = lines.pop() ?? "";
    return lines.length <= most;
  });
  const texts = [...lines, rest].filter((line) => line !== "").slice(0, most);
  const json = texts.length === 0 ? "[]" : `[\n${texts.slice(0, SHOWN).join(",\n")}\n]`;
  const rows = texts.map((text) => JSON.parse(text, keepDigits) as ShownRow);
  return { rows, json, isCut: lines.length > most };
}

/** Reads a body in pieces, until `take` returns false. */
export async function readText({ body }: Response, take: (piece: string) => boolean): Promise<void> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece === undefined || piece.done) return;
    if (!take(piece.value)) return reader?.cancel();
  }
}

export function sendRequest(request: ApiRequest, format: string, signal?: AbortSignal): Promise<Response> {
  return send(addressOf(request, format), signal);
}

async function send(
  address: string,
  signal?: AbortSignal,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const headers = new Headers(more);
  // A header value cannot contain other characters, and no key has them.
  if (/[^\x21-\x7e]/.test(key.get())) throw new ServiceError(403, "Invalid API Key");
  if (key.get() !== "") headers.set("X-API-Key", key.get());
  const response = await fetch(BASE + address, { headers, ...(signal && { signal }) }).catch(
    (error: unknown) => {
      if (signal?.aborted) throw error;
      throw new ServiceError(0, "The service does not answer. Check the connection, then try again.");
    },
  );
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { readonly detail?: string };
  const message = body.detail ?? `The service answered ${String(response.status)}.`;
  throw new ServiceError(response.status, message, response.headers);
}

function limitsOf({ headers }: Response): Limits | null {
  const [limit, remaining] = [headers.get("X-RateLimit-Limit"), headers.get("X-RateLimit-Remaining")];
  return limit && remaining ? { limit: Number(limit), remaining: Number(remaining) } : null;
}

/** The document of the page's own figures. */
export async function fetchFiguresText(): Promise<string> {
  return (await send("/explore/figures.json")).text();
}

/** What changed for consumers; nothing where it cannot be read, since the page works without it. */
export async function fetchChangelog(): Promise<Changelog> {
  try {
    return parseChangelog(await (await send("/v1/system/changelog")).text()) ?? NO_CHANGELOG;
  } catch {
    return NO_CHANGELOG;
  }
}

/** The states of all endpoints, and what they were; null where it cannot be read. */
export async function fetchStatus(): Promise<StatusBody | null> {
  try {
    return (await (await send("/v1/system/status")).json()) as StatusBody;
  } catch {
    return null;
  }
}

/** One page of the request by curl, for copying. It has a placeholder for the key, since copied text may be shared. */
export function curlOf(request: ApiRequest, hasKey: boolean): string {
  return `curl ${hasKey ? '-H "X-API-Key: $API_KEY" ' : ""}'${(BASE + addressOf(request)).replaceAll("'", "'\\''")}'`;
}
