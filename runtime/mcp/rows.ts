import type { CatalogueColumn, CatalogueEndpoint } from "../pages/catalogue-body.js";
import { MAX_COUNTED, type ToolParameters } from "./tools.js";

/** Runs an endpoint's own handler with the caller's key. The body is NDJSON. */
export type RunQuery = (path: string, parameters: URLSearchParams, isCounted: boolean) => Promise<QueryReply>;

/** The response of an endpoint, cut at a maximum size. */
export interface QueryReply {
  readonly status: number;
  readonly body: string;
  /** Whether the body was cut, or more rows follow the page. */
  readonly hasMore: boolean;
}

export type ToolRow = Readonly<Record<string, unknown>>;

export function queryString(
  parameters: ToolParameters,
  page: Readonly<Record<string, string | number>>,
): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const each of [value].flat()) query.append(name, String(each));
  for (const [name, value] of Object.entries(page)) query.set(name, String(value));
  return query;
}

/** The lines of an NDJSON body. */
export function linesOf(body: string): readonly string[] {
  return body.split("\n").filter((line) => line !== "");
}

/** A row as an object. Numbers of more digits than JavaScript keeps become texts. */
export function rowOf(line: string): ToolRow {
  const exact = line.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') || token.replace(/e.*$/i, "").replace(/\D/g, "").length <= 15
      ? token
      : JSON.stringify(token),
  );
  return JSON.parse(exact) as ToolRow;
}

export interface Summary {
  readonly count: number;
  readonly exact: boolean;
  readonly dates: Readonly<Record<string, { readonly min: unknown; readonly max: unknown }>>;
}

/** Why rows cannot be read. */
export class QueryFailure extends Error {}

/**
 * Counts rows and finds the bounds of dates by requests for single rows: the row at an offset exists or not, and the first
 * row of a sorted page is a bound. The endpoint's own handler runs each.
 */
export async function summarize(
  run: RunQuery,
  endpoint: CatalogueEndpoint,
  parameters: ToolParameters,
): Promise<Summary> {
  const read = readerOf(run, endpoint, parameters);
  const dates = endpoint.columns.filter(isDate);
  if (endpoint.pagination === null) return summaryOf(await read({}), dates);
  const { count, exact } = await countRows(async (offset) => (await rowAt(read, offset)) !== undefined);
  const bounds = dates.flatMap(async ({ name }) => {
    const ends = await boundsOf(read, endpoint, name, exact ? count : null);
    return ends === null ? [] : [[name, { min: ends[0], max: ends[1] }] as const];
  });
  return { count, exact, dates: Object.fromEntries((await Promise.all(bounds)).flat()) };
}

type Reader = (page: Readonly<Record<string, string | number>>) => Promise<QueryReply>;

function readerOf(run: RunQuery, { path }: CatalogueEndpoint, parameters: ToolParameters): Reader {
  return async (page) => {
    const reply = await run(path, queryString(parameters, page), true);
    if (reply.status === 200) return reply;
    throw new QueryFailure(`HTTP ${String(reply.status)}: ${reply.body}`);
  };
}

async function rowAt(
  read: Reader,
  offset: number,
  sort: Readonly<Record<string, string>> = {},
): Promise<ToolRow | undefined> {
  const { body } = await read({ ...sort, limit: 1, offset });
  return linesOf(body).map(rowOf)[0];
}

/** The number of rows, by bisection. */
async function countRows(
  exists: (offset: number) => Promise<boolean>,
): Promise<Pick<Summary, "count" | "exact">> {
  let [low, high] = [0, MAX_COUNTED];
  if (await exists(high)) return { count: high, exact: false };
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await exists(middle)) low = middle + 1;
    else high = middle;
  }
  return { count: low, exact: true };
}

/** The lowest and the highest value of a column; null where the endpoint cannot sort by it, or has no row. */
async function boundsOf(
  read: Reader,
  { sort, sortable_fields }: CatalogueEndpoint,
  column: string,
  count: number | null,
): Promise<readonly [unknown, unknown] | null> {
  if (count === 0) return null;
  const by = (direction: string) => rowAt(read, 0, { sort_by: column, sort_direction: direction });
  if (sortable_fields.includes(column)) return [(await by("ASC"))?.[column], (await by("DESC"))?.[column]];
  const [first] = sort;
  if (first?.[0] !== column || count === null) return null;
  const ends = [(await rowAt(read, 0))?.[column], (await rowAt(read, count - 1))?.[column]] as const;
  return first[1] === "ASC" ? ends : [ends[1], ends[0]];
}

/** Of an endpoint without pages. */
function summaryOf({ body, hasMore }: QueryReply, dates: readonly CatalogueColumn[]): Summary {
  const rows = linesOf(body).map(rowOf);
  const bounds = dates.flatMap(({ name }) => {
    const values = rows.map((row) => row[name]).filter((each) => typeof each === "string");
    const sorted = values.sort((a, b) => Date.parse(a) - Date.parse(b));
    return hasMore || sorted.length === 0 ? [] : [[name, { min: sorted[0], max: sorted.at(-1) }] as const];
  });
  return { count: rows.length, exact: !hasMore, dates: Object.fromEntries(bounds) };
}

function isDate({ type }: CatalogueColumn): boolean {
  return type !== null && /^(nullable\(|lowcardinality\()*(date|timestamp)/i.test(type);
}
