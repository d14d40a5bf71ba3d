import {
  type ApiRequest,
  nextPage,
  type Parameters,
  query,
  type QueryResponse,
  ServiceError,
  valuesOf,
} from "./api.js";
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
export interface Reading {
  readonly signal: AbortSignal;
  readonly show: (rows: number) => void;
}

const UNWATCHED: Reading = { signal: new AbortController().signal, show: () => undefined };

/** The rows of all pages. A limit of the request's own is kept; a page that is all is not asked for again. */
export async function chartRowsOf(
  request: ApiRequest,
  page: QueryResponse | null,
  reading: Reading = UNWATCHED,
): Promise<ChartRows> {
  const sort = sortOf(request);
  const hasOwnLimit = Object.hasOwn(request.parameters, "limit");
  const isPart = Object.keys(request.parameters).some((name) => /^(offset|cursor)$/.test(name));
  if (page !== null && (hasOwnLimit || (!page.hasNext && !page.isCut && !isPart)))
    return { rows: page.rows, hasMore: page.hasNext || page.isCut || isPart, sort };
  if (hasOwnLimit) {
    const own = await query(request, reading.signal, MAX_CHART_ROWS);
    return { rows: own.rows, hasMore: own.hasNext || own.isCut || isPart, sort };
  }
  return { ...(await allPages(request, reading)), sort };
}

async function allPages(request: ApiRequest, { signal, show }: Reading): Promise<Omit<ChartRows, "sort">> {
  const rows: ShownRow[] = [];
  let parameters: Parameters | null = wholeOf(request);
  let build: string | null | undefined;
  while (parameters !== null && rows.length < MAX_CHART_ROWS) {
    let page: QueryResponse;
    try {
      page = await query({ ...request, parameters }, signal, MAX_CHART_ROWS - rows.length);
    } catch (error) {
      // Stopped, or out of requests: what has been read is drawn as a part.
      const isLimited = error instanceof ServiceError && error.status === 429;
      if ((signal.aborted || isLimited) && rows.length > 0) return { rows, hasMore: true };
      throw error;
    }
    if (build !== undefined && build !== page.asOf) throw new ServiceError(0, REBUILT);
    build = page.asOf;
    for (const row of page.rows) rows.push(row);
    show(rows.length);
    if (page.isCut) return { rows, hasMore: true };
    parameters = page.hasNext ? nextPage(parameters, page.cursor, page.rows.length) : null;
  }
  return { rows, hasMore: parameters !== null };
}

const REBUILT = "The rows were built anew while the chart read them. Try again.";

function sortOf({ endpoint, parameters }: ApiRequest): ChartRows["sort"] {
  const [by] = valuesOf(parameters, "sort_by");
  const [direction = "ASC"] = valuesOf(parameters, "sort_direction");
  if (by !== undefined) return [by, direction === "DESC" ? "DESC" : "ASC"];
  const [first] = endpoint.sort;
  return first === undefined ? null : [first[0], first[1] === "DESC" ? "DESC" : "ASC"];
}
