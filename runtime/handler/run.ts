import type { RequestContext } from "../model/caller.js";
import type { Endpoint } from "../model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../model/errors.js";
import type { ResolvedQuery, Selection } from "../model/query.js";
import { conditionError } from "../request/resolve-query.js";
import { SortKeyTooLong, typesOf } from "../response/cursors.js";
import { matchesTag, versionTag } from "../response/buffered-result.js";
import type { QueryResult } from "../response/result-service.js";
import type { DataVersion } from "../warehouse/data-versions.js";
import { Overloaded } from "../warehouse/fair-queue.js";
import { servedColumns } from "../warehouse/served-columns.js";
import {
  DatabaseUnreachable,
  QueryAbandoned,
  type QueryContext,
  type ResultColumns,
  TooManyDigits,
  TooManyRows,
} from "../warehouse/warehouse.js";
import type { Gateway } from "./gateway.js";
import type { Resolved } from "./resolve.js";

/** A request for rows, and how it reads them. */
export interface RowsContext extends RequestContext {
  /** Entity tags of the rows that the client has. */
  readonly ifNoneMatch?: string | undefined;
  /** Whether the client asks for a length, or for parts: a stream has neither. */
  readonly isWhole?: boolean;
  /** Whether the client asks for the number of rows on all pages. */
  readonly wantsTotal?: boolean;
}

/** The rows of a query, before they are sent. */
export interface Answer {
  readonly resolved: Resolved;
  /** Null when the client has these rows already. */
  readonly result: QueryResult | null;
  readonly version: DataVersion | null;
  /** The entity tag, if the data version determines it. */
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
    const { position, query } = resolved;
    const known = gateway.builds.versionOf(endpoint.upstreamNodes);
    const hasStorage =
      known !== null || gateway.results.hasCache || reader.isWhole === true || position !== undefined;
    const columns =
      hasStorage || query.selection.conditions.length > 0
        ? await gateway.warehouse.columns(query.relation, known?.id ?? null, hasStorage)
        : null;
    const prepared = prepare(gateway, resolved, known, columns);
    if (isHttpError(prepared)) return prepared;
    const { version, tag } = prepared;
    if (tag !== null && matchesTag(tag, reader.ifNoneMatch))
      return { resolved, result: null, version, tag, hasMore: false, total: null };
    return await read(gateway, resolved, prepared, reader);
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
    const known = gateway.builds.versionOf(endpoint.upstreamNodes);
    const columns = await gateway.warehouse.columns(endpoint.relation, known?.id ?? null);
    const prepared = prepare(gateway, resolved, known, columns);
    if (isHttpError(prepared)) return prepared;
    const { query, build } = prepared;
    const dates = servedColumns(columns, query.selection.columns).filter(({ type }) => DATES.test(type));
    const { count, bounds } = await gateway.warehouse.aggregate(query, contextOf(reader, build), dates);
    const entries = dates.map(({ name, key = name }, i) => [key, bounds[i]] as const);
    return { count, dates: Object.fromEntries(entries.filter(([, bound]) => bound?.min != null)) };
  } catch (error) {
    return errorOf(gateway, endpoint, reader, error);
  }
}

/** Types of both engines. */
const DATES = /^((nullable|lowcardinality)\()*(date(32|time(64)?)?|timestamp(tz)?)\b/i;

/** A query checked against the columns of its relation. */
interface Prepared {
  readonly query: ResolvedQuery;
  /** Id of the newest build of the upstream nodes. */
  readonly build: string | null;
  /** Null where the version of the rows is unknown. */
  readonly version: DataVersion | null;
  readonly storage: string | null;
  readonly tag: string | null;
}

function prepare(
  gateway: Gateway,
  { query, key, position }: Resolved,
  known: DataVersion | null,
  columns: ResultColumns | null,
): Result<Prepared> {
  const build = known?.id ?? null;
  if (columns === null) return { query, build, version: null, storage: "", tag: null };
  const error = gateway.warehouse.check(query.selection.conditions, columns);
  if (error) return conditionError(error);
  const { storage = "" } = columns[0] ?? {};
  const version = storage === null ? null : known;
  const tag = version === null ? null : versionTag(version, key, columns);
  const { keyset, ...selection } = query.selection;
  if (keyset === undefined) return { query, build, version, storage, tag };
  const types = typesOf(query.selection, columns);
  if (position && position.types !== types) return httpError("invalidCursor");
  const page = { ...query, selection: { ...selection, keyset: { ...keyset, types } } };
  return { query: page, build, version, storage, tag };
}

async function read(
  gateway: Gateway,
  resolved: Resolved,
  { query, build, version, storage, tag }: Prepared,
  reader: RowsContext,
): Promise<Answer> {
  const context = contextOf(reader, build);
  const key = `${storage ?? ""}\0${resolved.key}`;
  const wholeKey = reader.isWhole === true ? `${version?.id ?? ""}\0${key}` : null;
  const whole = wholeKey === null ? undefined : gateway.wholeResults.get(wholeKey);
  const result = whole ?? (await gateway.results.get(key, query, context, storage !== null));
  try {
    const hasMore = mayHaveMore(result, query.selection);
    const total = reader.wantsTotal === true ? await totalOf(gateway, result, query, context) : null;
    const complete =
      wholeKey === null ? result : await gateway.wholeResults.complete(wholeKey, result, hasMore);
    return { resolved, result: complete, version, tag, hasMore, total };
  } catch (error) {
    // Otherwise the connection and the caller's share of a stream would stay in use.
    if (result.result.kind === "stream") await result.result.stream.chunks.return();
    throw error;
  }
}

function contextOf(context: RequestContext, version: string | null): QueryContext {
  return { ...context, version };
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
  { id: requestId, caller: { tier } }: RequestContext,
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
