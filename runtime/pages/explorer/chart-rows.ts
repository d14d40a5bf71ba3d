import { type ApiRequest, query, type QueryResponse } from "./api.js";
import { wholeOf } from "./downloads.js";
import type { ShownRow } from "./values.js";

/** Rows that a chart is drawn from. */
export interface ChartRows {
  readonly rows: readonly ShownRow[];
  /** Whether there are more, which are not drawn. */
  readonly hasMore: boolean;
}

/** Rows that are read for a chart: a browser draws them in a second. */
const MAX_CHART_ROWS = 20_000;

/** Every row up to the endpoint's largest page. A limit of the request's own is kept; a page that is all is not asked for again. */
export async function chartRowsOf(request: ApiRequest, page: QueryResponse | null): Promise<ChartRows> {
  const hasOwnLimit = Object.hasOwn(request.parameters, "limit");
  const isPart = Object.keys(request.parameters).some((name) => /^(offset|cursor)$/.test(name));
  if (page !== null && (hasOwnLimit || (!page.hasNext && !page.isCut && !isPart)))
    return { rows: page.rows, hasMore: page.hasNext && !hasOwnLimit };
  const parameters = hasOwnLimit ? request.parameters : wholeOf(request);
  const all = await query({ ...request, parameters }, new AbortController().signal, MAX_CHART_ROWS);
  return { rows: all.rows, hasMore: (all.hasNext && !hasOwnLimit) || all.isCut };
}
