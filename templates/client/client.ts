/** What an endpoint answers and takes; `endpoints.ts` has one for each path. */
export interface EndpointTypes {
  readonly row: object;
  readonly query: object;
}

export interface ClientOptions {
  /** Address of the API, such as `https://data.example.com`. */
  readonly baseUrl: string;
  /** Sent as `X-API-Key`; without it tier0 endpoints can be called. */
  readonly apiKey?: string;
  /** How often a request is sent again after 429, 503 or a lost connection. Default 3. */
  readonly retries?: number;
  /** How many responses are kept, to be asked for with `If-None-Match`. Default 100; 0: none. */
  readonly cacheEntries?: number;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
}

/** An answer other than 200. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    /** What the server says is wrong. */
    readonly detail: string,
    /** Quote it when you ask the operator. */
    readonly requestId: string | null,
  ) {
    super(`${String(status)}: ${detail}`);
  }
}

type QueryValue = string | number | undefined | readonly string[];

interface Page {
  readonly rows: readonly object[];
  /** Address of the next page; null after the last one. */
  readonly next: string | null;
}

interface CachedPage extends Page {
  readonly etag: string;
}

/** Calls the data API. `Endpoints` maps each path to its types. */
export class Client<Endpoints extends { readonly [Path in keyof Endpoints]: EndpointTypes }> {
  readonly #options: ClientOptions;
  /** By address, the least recently used first. */
  readonly #cache = new Map<string, CachedPage>();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** The rows of one response: all, or one page where the endpoint has pages. Throws `ApiError`. */
  async rows<Path extends keyof Endpoints & string>(
    path: Path,
    query?: Endpoints[Path]["query"],
    options?: RequestOptions,
  ): Promise<Endpoints[Path]["row"][]> {
    const { rows } = await this.#page(this.#address(path, query), options);
    return [...rows];
  }

  /** All rows, page after page; the next page is requested when its first row is. Throws `ApiError`. */
  async *iterate<Path extends keyof Endpoints & string>(
    path: Path,
    query?: Endpoints[Path]["query"],
    options?: RequestOptions,
  ): AsyncGenerator<Endpoints[Path]["row"], void, undefined> {
    let address: string | null = this.#address(path, query);
    while (address !== null) {
      const page: Page = await this.#page(address, options);
      yield* page.rows as readonly Endpoints[Path]["row"][];
      address = page.next;
    }
  }

  #address(path: string, query: object = {}): string {
    const url = new URL(path.slice(1), this.#options.baseUrl.replace(/\/*$/, "/"));
    for (const [name, value] of Object.entries(query) as [string, QueryValue][])
      for (const item of Array.isArray(value) ? value : [value])
        if (item !== undefined) url.searchParams.append(name, String(item));
    return url.href;
  }

  async #page(address: string, { signal }: RequestOptions = {}): Promise<Page> {
    const cached = this.#cache.get(address);
    const headers = new Headers({ accept: "application/json" });
    if (this.#options.apiKey !== undefined) headers.set("x-api-key", this.#options.apiKey);
    if (cached !== undefined) headers.set("if-none-match", cached.etag);
    const response = await this.#send(address, { headers, ...(signal && { signal }) });
    if (response.status === 304 && cached !== undefined) return this.#keep(address, cached);
    if (response.status !== 200) throw await errorOf(response);
    const body = (await response.json()) as readonly object[] | { readonly items: readonly object[] };
    const page = { rows: "items" in body ? body.items : body, next: nextOf(response, address) };
    const etag = response.headers.get("etag");
    return etag === null ? page : this.#keep(address, { ...page, etag });
  }

  #keep(address: string, page: CachedPage): CachedPage {
    this.#cache.delete(address);
    this.#cache.set(address, page);
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= (this.#options.cacheEntries ?? 100)) break;
      this.#cache.delete(oldest);
    }
    return page;
  }

  async #send(address: string, init: RequestInit): Promise<Response> {
    const send = this.#options.fetch ?? fetch;
    for (let left = this.#options.retries ?? 3; ; left--) {
      let response: Response;
      try {
        response = await send(address, init);
      } catch (error) {
        // Only a lost connection is worth a second attempt; an abort is the caller's wish.
        if (left <= 0 || init.signal?.aborted) throw error;
        await sleep(1000, init.signal);
        continue;
      }
      if (left <= 0 || (response.status !== 429 && response.status !== 503)) return response;
      await response.body?.cancel();
      await sleep(1000 * Number(response.headers.get("retry-after") ?? 1), init.signal);
    }
  }
}

/** Rejects at once when the signal aborts. */
function sleep(milliseconds: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      },
      { once: true },
    );
  });
}

/** `Link: <…>; rel="next"` (RFC 8288). */
function nextOf(response: Response, address: string): string | null {
  const link = /<([^>]*)>\s*;\s*rel="?next"?/.exec(response.headers.get("link") ?? "");
  return link?.[1] === undefined ? null : new URL(link[1], address).href;
}

async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  let detail = text;
  try {
    detail = (JSON.parse(text) as { detail?: string }).detail ?? text;
  } catch {
    // A proxy in between answers with a page of its own.
  }
  return new ApiError(response.status, detail, response.headers.get("x-request-id"));
}
