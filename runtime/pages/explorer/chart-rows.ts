import { query, type QueryResponse, ServiceError } from "./api.js";
import { type ApiRequest, nextPage, type Parameters, valuesOf } from "./api-request.js";
import { wholeOf } from "./downloads.js";
import type { ShownRow } from "./values.js";

/** Rows that a chart is drawn from. */
export interface ChartRows {
  readonly rows: readonly ShownRow[];
  /** Whether there are more. Then no sum, average or order by size of these rows is that of the endpoint. */
  readonly hasMore: boolean;
  /** The column that the rows are sorted by first; null where none is known. */
  readonly sort: readonly [column: string, direction: "ASC" | "DESC"] | null;
}

/** Rows that are read for a chart: a browser draws them in a second. */
const MAX_CHART_ROWS = 20_000;

/** Shows how many rows have been read. Aborted, the chart is of these. */
export interface ReadProgress {
  readonly signal: AbortSignal;
  readonly show: (rows: number) => void;
}

export const UNWATCHED: ReadProgress = { signal: new AbortController().signal, show: () => undefined };

/** Rows that a chart is chosen by, where it adds up: the service adds up all of them. */
const SAMPLE_ROWS = 2000;

/** Reads the rows of all pages, as far as a chart needs them. */
export class ChartReader {
  readonly request: ApiRequest;
  /** Whether the request has a limit of its own: the chart is of its rows. */
  readonly isPart: boolean;
  readonly #sort: ChartRows["sort"];
  #read: Omit<ChartRows, "sort">;
  /** The next page; null where none is to be read. */
  #next: Parameters | null;
  #build: string | null | undefined;
  /** Readings follow each other: they go on where the last one ended. */
  #last: Promise<unknown> = Promise.resolve();

  /** A page that is all is not asked for again. */
  constructor(request: ApiRequest, page: QueryResponse | null) {
    const names = Object.keys(request.parameters);
    this.request = request;
    this.isPart = names.includes("limit");
    this.#sort = sortOf(request);
    const hasMore = page === null || page.hasNext || page.isCut || isLater(request.parameters);
    const isWhole = page !== null && (this.isPart || !hasMore);
    this.#read = { rows: isWhole ? page.rows : [], hasMore };
    this.#next = isWhole ? null : this.isPart ? request.parameters : wholeOf(request);
  }

  /** The rows so far, once they are all, as many as are drawn, or enough. */
  read(isEnough: (rows: ChartRows) => boolean, reading: ReadProgress = UNWATCHED): Promise<ChartRows> {
    const read = this.#last.then(() => this.#readPages(isEnough, reading));
    this.#last = read.catch(() => undefined);
    return read;
  }

  async #readPages(isEnough: (rows: ChartRows) => boolean, reading: ReadProgress): Promise<ChartRows> {
    while (this.#next !== null && this.#read.rows.length < MAX_CHART_ROWS) {
      const isSample = this.#read.rows.length >= SAMPLE_ROWS;
      if (isSample && isEnough(this.#rows())) break;
      if (!(await this.#readPage(this.#next, reading))) break;
    }
    return this.#rows();
  }

  #rows(): ChartRows {
    return { ...this.#read, sort: this.#sort };
  }

  /** Whether there was time for it. */
  async #readPage(parameters: Parameters, { signal, show }: ReadProgress): Promise<boolean> {
    let page: QueryResponse;
    const { rows } = this.#read;
    try {
      page = await query({ ...this.request, parameters }, signal, MAX_CHART_ROWS - rows.length);
    } catch (error) {
      // Stopped, or out of requests: what has been read is drawn as a part.
      const isLimited = error instanceof ServiceError && error.status === 429;
      if ((signal.aborted || isLimited) && rows.length > 0) return false;
      throw error;
    }
    if (this.#build !== undefined && this.#build !== page.asOf) throw new ServiceError(0, REBUILT);
    this.#build = page.asOf;
    const all = [...rows, ...page.rows];
    show(all.length);
    const follows = page.hasNext && !page.isCut && !this.isPart;
    this.#next = follows ? nextPage(parameters, page.cursor, page.rows.length) : null;
    const startsLater = this.isPart && isLater(parameters);
    this.#read = { rows: all, hasMore: page.hasNext || page.isCut || startsLater };
    return true;
  }
}

/** Whether a request asks for another page than the first. */
function isLater(parameters: Parameters): boolean {
  return Object.hasOwn(parameters, "offset") || Object.hasOwn(parameters, "cursor");
}

const REBUILT = "The rows were built anew while the chart read them. Try again.";

function sortOf({ endpoint, parameters }: ApiRequest): ChartRows["sort"] {
  const [by] = valuesOf(parameters, "sort_by");
  const [direction = "ASC"] = valuesOf(parameters, "sort_direction");
  if (by !== undefined) return [by, direction === "DESC" ? "DESC" : "ASC"];
  const [first] = endpoint.sort;
  return first === undefined ? null : [first[0], first[1] === "DESC" ? "DESC" : "ASC"];
}
