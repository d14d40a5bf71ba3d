import type { Method } from "../../model/endpoint.js";
import type { CatalogueBody, CatalogueEndpoint } from "../catalogue-body.js";

/** Filters of a request by parameter name. */
export type Parameters = Readonly<Record<string, readonly string[]>>;

/** Groups values by name. `Object.fromEntries` keeps names such as `__proto__`. */
export function parametersOf(pairs: readonly (readonly [name: string, value: string])[]): Parameters {
  const values = new Map<string, string[]>();
  for (const [name, value] of pairs) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries(values);
}

export function valuesOf(parameters: Parameters, name: string): readonly string[] {
  return Object.hasOwn(parameters, name) ? (parameters[name] ?? []) : [];
}

/** A request of an endpoint, as the form describes it. */
export interface ApiRequest {
  readonly endpoint: CatalogueEndpoint;
  readonly method: Method;
  readonly parameters: Parameters;
}

const KEY = "routewright.key";

/** The browser's storage; in memory where the browser denies access. */
export function storage(kind: "localStorage" | "sessionStorage"): Pick<Storage, "getItem" | "setItem"> {
  try {
    return window[kind];
  } catch {
    return FORGOTTEN;
  }
}

const kept = new Map<string, string>();
const FORGOTTEN = {
  getItem: (name: string): string | null => kept.get(name) ?? null,
  setItem: (name: string, value: string): void => void kept.set(name, value),
};

/** The API key, kept until the tab is closed. */
export const key = {
  get: (): string => storage("sessionStorage").getItem(KEY) ?? "",
  set: (value: string): void => storage("sessionStorage").setItem(KEY, value),
};

/** An error response, with the service's message. */
export class ServiceError extends Error {
  readonly status: number;
  readonly requestId: string | null;

  constructor(status: number, message: string, requestId: string | null = null) {
    super(message);
    this.status = status;
    this.requestId = requestId;
  }
}

/** The caller's rate limit window, from the response headers. */
export interface Limits {
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds. */
  readonly reset: number;
}

export async function fetchCatalogue(): Promise<CatalogueBody> {
  const response = await send("/v1/system/catalogue");
  return (await readable(response.json())) as CatalogueBody;
}

/** The address of a request, without the host. */
export function addressOf({ endpoint: { path }, method, parameters }: ApiRequest, format = ""): string {
  if (method === "POST") return path + format;
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(parameters))
    for (const value of values) query.append(name, value);
  const text = query.toString();
  return path + format + (text === "" ? "" : `?${text}`);
}

/** The JSON body of a POST: lists are arrays, whose values may hold commas. */
export function bodyOf({ endpoint, parameters }: ApiRequest): Readonly<Record<string, unknown>> {
  const lists = listsOf(endpoint);
  const names = Object.keys(parameters);
  const filters = (endpoint.filters ?? []).flatMap(({ column, operators }) => {
    const given = operators.filter((operator) => names.includes(`${column}[${operator}]`));
    const values = given.map((operator) => [operator, parameters[`${column}[${operator}]`]?.join(",")]);
    return given.length === 0 ? [] : [[column, Object.fromEntries(values) as unknown] as const];
  });
  const isFilter = (name: string): boolean =>
    filters.some(([column]) => name.startsWith(`${column}[`) && name.endsWith("]"));
  const fields = Object.entries(parameters).filter(([name]) => !isFilter(name));
  return Object.fromEntries([
    ...filters,
    ...fields.map(([name, values]): readonly [string, unknown] => [
      name,
      lists.has(name) || values.length > 1
        ? values
        : (name === "limit" || name === "offset") && /^\d{1,15}$/.test(values[0] ?? "")
          ? Number(values[0])
          : values[0],
    ]),
  ]);
}

/** The same request with another method: a GET separates the values of a list with commas, a POST does not. */
export function withMethod(
  { endpoint, parameters }: ApiRequest,
  method: Method,
): Pick<ApiRequest, "method" | "parameters"> {
  if (method === "GET") return { method, parameters };
  const lists = listsOf(endpoint);
  const apart = Object.entries(parameters).map(([name, values]) => [
    name,
    lists.has(name) ? values.flatMap(splitList) : values,
  ]);
  return { method, parameters: Object.fromEntries(apart) as Parameters };
}

/** The values of a comma-separated text, as the service splits it. */
export function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
}

function listsOf({ parameters }: CatalogueEndpoint): ReadonlySet<string> {
  return new Set((parameters ?? []).filter(({ type }) => type === "string_list").map(({ name }) => name));
}

/** A number that JavaScript would round, as text. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }

  toJSON(): number {
    return Number(this.text);
  }
}

/** The displayed text of a value. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value instanceof ExactNumber ? value.text : JSON.stringify(value);
}

export type Row = Readonly<Record<string, unknown>>;

export interface QueryResponse {
  readonly rows: readonly Row[];
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

/** Rows that the page reads at most; the CSV file has all of them. */
export const MAX_ROWS = 5000;

/** Rows that the page shows. */
export const SHOWN = 500;

/** Runs a request and reads its rows. */
export async function query(request: ApiRequest, signal: AbortSignal): Promise<QueryResponse> {
  const started = performance.now();
  const isEnvelope = request.endpoint.pagination?.response === "envelope";
  const response = await sendRequest(request, isEnvelope ? ".json" : ".ndjson", signal);
  const { rows, json, isCut } = await readable((isEnvelope ? readEnvelope : readList)(response));
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  return {
    rows,
    json,
    hasNext: next !== undefined || isFullUnlinkedPage(request, rows.length),
    cursor: next === undefined ? null : new URL(next, location.href).searchParams.get("cursor"),
    isCut,
    asOf: response.headers.get("x-data-as-of"),
    limits: limitsOf(response),
    milliseconds: performance.now() - started,
  };
}

/** The service links no next page where the values of a list hold commas, because the link is a GET. */
function isFullUnlinkedPage({ endpoint, method, parameters }: ApiRequest, rows: number): boolean {
  const limit = Number(valuesOf(parameters, "limit")[0] ?? endpoint.pagination?.default_limit);
  const hasCommas = [...listsOf(endpoint)].some((name) =>
    valuesOf(parameters, name).some((value) => value.includes(",")),
  );
  return method === "POST" && hasCommas && rows === limit;
}

/** Keeps all digits of a number, in browsers whose `JSON.parse` passes the source text. */
function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined) return value;
  return String(value) === source || Number.isSafeInteger(value) ? value : new ExactNumber(source);
}

/** An incomplete body, or one of a proxy. */
async function readable<T>(body: Promise<T>): Promise<T> {
  return body.catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ServiceError(0, "The response is incomplete or is not JSON. Try again.");
  });
}

type ReadRows = Promise<Pick<QueryResponse, "rows" | "json" | "isCut">>;

async function readEnvelope(response: Response): ReadRows {
  const json = await response.text();
  return { rows: (JSON.parse(json, keepDigits) as { items: Row[] }).items, json, isCut: false };
}

/** Rows of JSON on lines, which can be read while they arrive. */
async function readList(response: Response): ReadRows {
  const { texts, isCut } = await readLines(response);
  const json = texts.length === 0 ? "[]" : `[\n${texts.slice(0, SHOWN).join(",\n")}\n]`;
  return { rows: texts.map((text) => JSON.parse(text, keepDigits) as Row), json, isCut };
}

async function readLines(response: Response): Promise<{ texts: string[]; isCut: boolean }> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const texts: string[] = [];
  let rest = "";
  for (;;) {
    const piece = await reader?.read();
    if (piece === undefined || piece.done) break;
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop() ?? "";
    texts.push(...lines.filter((line) => line !== ""));
    if (texts.length > MAX_ROWS) {
      await reader?.cancel();
      return { texts: texts.slice(0, MAX_ROWS), isCut: true };
    }
  }
  if (rest !== "") texts.push(rest);
  return { texts, isCut: false };
}

/** Downloads all rows as a CSV file. */
export async function downloadCsv(request: ApiRequest): Promise<void> {
  const response = await sendRequest(request, ".csv");
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = `${request.endpoint.path.slice(4).replaceAll("/", "-")}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function sendRequest(request: ApiRequest, format: string, signal?: AbortSignal): Promise<Response> {
  const { method } = request;
  const headers = { "Content-Type": "application/json" };
  const body = method === "POST" ? { headers, body: JSON.stringify(bodyOf(request)) } : {};
  return send(addressOf(request, format), { method, ...body, ...(signal && { signal }) });
}

async function send(address: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  // A header value cannot contain other characters, and no key has them.
  if (/[^\x21-\x7e]/.test(key.get())) throw new ServiceError(403, "Invalid API Key");
  if (key.get() !== "") headers.set("X-API-Key", key.get());
  const response = await fetch(address, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new ServiceError(0, "The service does not answer. Check the connection, then try again.");
  });
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { readonly detail?: string };
  const message = body.detail ?? `The service answered ${String(response.status)}.`;
  throw new ServiceError(response.status, message, response.headers.get("x-request-id"));
}

function limitsOf({ headers }: Response): Limits | null {
  const [limit, remaining, reset] = ["Limit", "Remaining", "Reset"].map((name) =>
    Number(headers.get(`X-RateLimit-${name}`) ?? NaN),
  );
  if (limit === undefined || remaining === undefined || reset === undefined || Number.isNaN(limit))
    return null;
  return { limit, remaining, reset };
}
