import type { CatalogueBody, CatalogueEndpoint } from "../catalogue.js";

/** Filters of a request by parameter name. */
export type Parameters = Readonly<Record<string, readonly string[]>>;

const KEY = "routewright.key";

/** The key stays in this tab: it is gone when the tab is closed. */
export const key = {
  get: (): string => sessionStorage.getItem(KEY) ?? "",
  set: (value: string): void => {
    if (value === "") sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, value);
  },
};

/** What the service said no to, in its own words. */
export class ServiceError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The caller's window, as every response reports it. */
export interface Limits {
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds. */
  readonly reset: number;
}

export async function fetchCatalogue(): Promise<CatalogueBody> {
  const response = await send("/v1/system/catalogue");
  return (await response.json()) as CatalogueBody;
}

/** The address of a request, without the host. */
export function addressOf({ path }: CatalogueEndpoint, parameters: Parameters, format = ""): string {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(parameters)) {
    const given = values.filter((value) => value !== "");
    for (const value of given) query.append(name, value);
  }
  const text = query.toString();
  return path + format + (text === "" ? "" : `?${text}`);
}

/** An integer that JavaScript's numbers cannot hold, or a decimal that they would round: as it was sent. */
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

/** A value as a reader sees it. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value instanceof ExactNumber ? value.text : JSON.stringify(value);
}

export type Row = Readonly<Record<string, unknown>>;

export interface Result {
  readonly rows: readonly Row[];
  /** The rows as they were sent, one JSON text each. */
  readonly texts: readonly string[];
  /** Whether a next page follows. */
  readonly hasNext: boolean;
  /** Whether reading stopped at `MAX_ROWS`. */
  readonly isCut: boolean;
  readonly asOf: string | null;
  readonly limits: Limits | null;
  readonly milliseconds: number;
}

/** Rows that the page reads at most; the CSV file has all of them. */
export const MAX_ROWS = 5000;

/** Runs a request and reads its rows as they come. */
export async function query(
  endpoint: CatalogueEndpoint,
  parameters: Parameters,
  signal: AbortSignal,
): Promise<Result> {
  const started = performance.now();
  const response = await send(addressOf(endpoint, parameters, ".ndjson"), signal);
  const { texts, isCut } = await readLines(response);
  return {
    rows: texts.map((text) => JSON.parse(text, keepDigits) as Row),
    texts,
    hasNext: /rel="next"/.test(response.headers.get("link") ?? ""),
    isCut,
    asOf: response.headers.get("x-data-as-of"),
    limits: limitsOf(response),
    milliseconds: performance.now() - started,
  };
}

/** Keeps what a number would lose, in browsers that tell the source of a value. */
function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined) return value;
  return String(value) === source || Number.isSafeInteger(value) ? value : new ExactNumber(source);
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

/** Saves the rows as a CSV file, exactly as the API gives them. */
export async function downloadCsv(endpoint: CatalogueEndpoint, parameters: Parameters): Promise<void> {
  const response = await send(addressOf(endpoint, parameters, ".csv"));
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = `${endpoint.path.slice(4).replaceAll("/", "-")}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

async function send(address: string, signal?: AbortSignal): Promise<Response> {
  const headers: HeadersInit = key.get() === "" ? {} : { "X-API-Key": key.get() };
  const response = await fetch(address, { headers, ...(signal && { signal }) }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ServiceError(0, "The service does not answer. Check the connection, then try again.");
  });
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { readonly detail?: string };
  throw new ServiceError(response.status, body.detail ?? `The service answered ${String(response.status)}.`);
}

function limitsOf({ headers }: Response): Limits | null {
  const [limit, remaining, reset] = ["Limit", "Remaining", "Reset"].map((name) =>
    Number(headers.get(`X-RateLimit-${name}`) ?? NaN),
  );
  if (limit === undefined || remaining === undefined || reset === undefined || Number.isNaN(limit))
    return null;
  return { limit, remaining, reset };
}
