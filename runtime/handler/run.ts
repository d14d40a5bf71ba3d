import type { RequestContext } from "../model/caller.js";
import type { ValueKind } from "../model/column-types.js";
import type { Endpoint } from "../model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../model/errors.js";
import type { ResolvedQuery, Selection } from "../model/query.js";
import { conditionError } from "../request/resolve-query.js";
import { SortKeyTooLong, typesOf } from "../response/cursors.js";
import { buildTag, namesTag } from "../response/entity-tag.js";
import type { QueryResult } from "../response/result-service.js";
import { completed } from "../response/whole-results.js";
import type { DataVersion } from "../warehouse/data-versions.js";
import { Overloaded } from "../warehouse/fair-queue.js";
import { servedColumns } from "../warehouse/served-columns.js";
import {
  DatabaseUnreachable,
  QueryAbandoned,
  type QueryContext,
  TooManyDigits,
  TooManyRows,
} from "../warehouse/warehouse.js";
import type { Gateway } from "./gateway.js";
import type { Resolved } from "./resolve.js";

/** A request for rows, and how it reads them. */
export interface RowsContext extends Pick<RequestContext, "id" | "caller" | "isStillNeeded"> {
  /** Entity tags of the rows that the client has. */
  readonly ifNoneMatch?: string | undefined;
  /**
   * Of a client that asks for a length, or for parts, which a stream has not: whether a result of so many bytes that the caller
   * reads in parts answers the request.
   */
  readonly readsPart?: ((bytes: number) => boolean) | undefined;
  /** Whether the client asks for the number of rows on all pages. */
  readonly wantsTotal?: boolean;
  /** Called when the query has its connection. */
  readonly onStart?: (() => void) | undefined;
}

/** The rows of a query, before they are sent. */
export interface Answer {
  readonly resolved: Resolved;
  /** Null when the client has these rows already. */
  readonly result: QueryResult | null;
  readonly version: DataVersion | null;
  /** The entity tag, if the build determines it. */
  readonly tag: string | null;
  /** Whether rows follow the page. */
  readonly hasMore: boolean;
  /** The number of rows on all pages, where it is wanted. */
  readonly total: number | null;
}

/** Runs a query, or finds its result. Null when the client has disconnected. Never rejects. */
export async function run(
  gateway: Gateway,
  endpoint: Endpoint,
  resolved: Resolved,
  reader: RowsContext,
): Promise<Result<Answer> | null> {
  try {
    const version = gateway.versionOf(endpoint.path);
    const build = endpoint.changes === "on_build" ? version : null;
    const tag = build && buildTag(build, resolved.key);
    if (tag !== null && namesTag(tag, reader.ifNoneMatch))
      return { resolved, result: null, version, tag, hasMore: false, total: null };
    const part = partAtHand(gateway, resolved, reader);
    if (part !== null) return part;
    const query = await prepare(gateway, resolved, version);
    if (isHttpError(query)) return query;
    const answer = await read(gateway, resolved, { query, version, build, tag }, reader);
    return (await isAtCursor(gateway, resolved, version)) ? answer : await withoutRows(answer);
  } catch (error) {
    return errorOf(gateway, endpoint, reader, error);
  }
}

/**
 * The number of a query's rows on all pages, and the bounds of the dates and times that it serves, where there are any.
 * Null when the client has disconnected. Never rejects.
 */
export async function summarize(
  gateway: Gateway,
  endpoint: Endpoint,
  resolved: Resolved,
  reader: RowsContext,
): Promise<Result<object> | null> {
  try {
    const version = gateway.versionOf(endpoint.path);
    const { columns } = await gateway.warehouse.columnsOf(resolved.query, version?.id ?? null);
    const query = await prepare(gateway, resolved, version);
    if (isHttpError(query)) return query;
    const dates = servedColumns(columns, query.selection.columns).filter((column) =>
      DATES.has(gateway.warehouse.valuesOf(column)),
    );
    const { count, bounds } = await gateway.warehouse.aggregate(query, contextOf(reader, version), dates);
    const entries = dates.map(({ name, key = name }, i) => [key, bounds[i]] as const);
    return { count, dates: Object.fromEntries(entries.filter(([, bound]) => bound?.min != null)) };
  } catch (error) {
    return errorOf(gateway, endpoint, reader, error);
  }
}

const DATES: ReadonlySet<ValueKind> = new Set(["date", "date-time"]);

/** The query, checked against the columns of its relation. */
async function prepare(
  { warehouse }: Gateway,
  { query, position }: Resolved,
  version: DataVersion | null,
): Promise<Result<ResolvedQuery>> {
  const { keyset, ...selection } = query.selection;
  if (keyset === undefined && selection.conditions.length === 0) return query;
  const { columns, filtered } = await warehouse.columnsOf(query, version?.id ?? null);
  for (const compared of filtered) {
    const error = warehouse.check(selection.conditions, compared);
    if (error) return conditionError(error);
  }
  if (keyset === undefined) return query;
  const types = typesOf(query.selection, columns);
  if (position && position.types !== types) return httpError("invalidCursor");
  return { ...query, selection: { ...selection, keyset: { ...keyset, types } } };
}

/**
 * Whether the sort columns have the types that the cursor was made for. Asked behind the query too: one that meets changed
 * columns looks them up and runs again.
 */
async function isAtCursor(
  { warehouse }: Gateway,
  { query, position }: Resolved,
  version: DataVersion | null,
): Promise<boolean> {
  if (!position) return true;
  const { columns } = await warehouse.columnsOf(query, version?.id ?? null);
  return position.types === typesOf(query.selection, columns);
}

async function withoutRows({ result: queried }: Answer): Promise<HttpError> {
  if (queried?.result.kind === "stream") await queried.result.stream.chunks.return();
  return httpError("invalidCursor");
}

/** What is read, and how it is known before the query runs. */
interface RowsReading {
  readonly query: ResolvedQuery;
  /** The latest builds of the endpoint's nodes; null if unknown. */
  readonly version: DataVersion | null;
  /** The version of the rows where they change only with builds, and the entity tag by it. */
  readonly build: DataVersion | null;
  readonly tag: string | null;
}

async function read(
  gateway: Gateway,
  resolved: Resolved,
  { query, version, build, tag }: RowsReading,
  reader: RowsContext,
): Promise<Answer> {
  const context = contextOf(reader, version);
  const result = await gateway.results.get(resolved.key, query, context, build?.id ?? null);
  try {
    const hasMore = mayHaveMore(result, query.selection);
    const total = reader.wantsTotal === true ? await totalOf(gateway, result, query, context) : null;
    const answer = { resolved, result, version, tag, hasMore, total };
    return reader.readsPart === undefined ? answer : await wholeAnswer(gateway, answer, reader);
  } catch (error) {
    // Otherwise the connection and the caller's share of a stream would stay in use.
    if (result.result.kind === "stream") await result.result.stream.chunks.return();
    throw error;
  }
}

/** The answer with a length, kept for the parts that follow. Of parts that are read at once, the first result counts for all. */
async function wholeAnswer(
  gateway: Gateway,
  answer: Answer & { readonly result: QueryResult },
  reader: RowsContext,
): Promise<Answer> {
  const { resolved, version, tag, hasMore } = answer;
  const { result, hasRunQuery } = await completed(answer.result, hasMore);
  if (result.kind === "stream") return { ...answer, result: { result, hasRunQuery } };
  const part = partAtHand(gateway, resolved, reader);
  if (part !== null) return part;
  const whole = { result, version, tag, hasMore };
  const kept = gateway.wholeResults.keep(reader.caller.id, resolved.key, whole);
  return { ...answer, result: { result: kept, hasRunQuery } };
}

/** The answer with a part of the result that the caller reads in parts; null where there is none, or the request needs another. */
function partAtHand(
  { wholeResults }: Gateway,
  resolved: Resolved,
  { caller, readsPart }: RowsContext,
): Answer | null {
  const reading = readsPart && wholeResults.get(caller.id, resolved.key);
  if (!reading || !readsPart(reading.result.bytes)) return null;
  const { result, ...whole } = reading;
  return { resolved, ...whole, result: { result, hasRunQuery: false }, total: null };
}

/** Written out: a copy by `...` of what a request carries took 2.5 µs. */
function contextOf(
  { id, caller, isStillNeeded, onStart }: RowsContext,
  version: DataVersion | null,
): QueryContext {
  return { id, caller, isStillNeeded, onStart, version: version?.id ?? null };
}

/** Whether rows follow the page. Of a stream that is known at its end only: its next page may be empty. */
function mayHaveMore({ result }: QueryResult, { page, keyset }: Selection): boolean {
  if (page === null) return false;
  if (keyset !== undefined) return result.nextCursor !== null;
  return result.kind === "stream" || result.hasMore;
}

/** The number of rows on all pages: known where the last one of them is in memory, otherwise counted. */
async function totalOf(
  { warehouse }: Gateway,
  { result }: QueryResult,
  query: ResolvedQuery,
  context: QueryContext,
): Promise<number> {
  const { page, keyset } = query.selection;
  const offset = page?.offset ?? 0;
  const { rows = null, hasMore = true } = result.kind === "buffered" ? result : {};
  if (rows !== null && !hasMore && !keyset?.after && (offset === 0 || rows > 0)) return offset + rows;
  return (await warehouse.aggregate(query, context, [])).count;
}

/** `Retry-After` of an overloaded server, or of one without its database, in seconds. */
const RETRY_SECONDS = 1;

/** The error of a query that failed, which is logged where the caller cannot help it; null when nobody needs its rows. */
export function errorOf(
  { log }: Gateway,
  endpoint: Endpoint,
  { id: requestId, caller: { tier } }: Pick<RequestContext, "id" | "caller">,
  error: unknown,
): HttpError | null {
  if (error instanceof QueryAbandoned) return null;
  if (error instanceof TooManyRows) return httpError("tooManyRows", { tier, max: error.limit });
  if (error instanceof Overloaded) return httpError("overloaded", { n: RETRY_SECONDS });
  if (error instanceof SortKeyTooLong) return httpError("sortKeyTooLong");
  log.error({ requestId, route: endpoint.path, err: error }, "query failed");
  if (error instanceof TooManyDigits) return httpError("tooManyDigits", { name: error.column });
  return error instanceof DatabaseUnreachable
    ? httpError("unreachable", { n: RETRY_SECONDS })
    : httpError("queryFailed");
}
