import type { Caller, RequestContext } from "../model/caller.js";
import type { Endpoint } from "../model/endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../model/errors.js";
import type { ResolvedQuery, Selection } from "../model/query.js";
import { queryKey } from "../model/query-key.js";
import { andThen } from "../http/serve.js";
import { requireAccess } from "../request/authorize.js";
import { conditionError } from "../request/resolve-query.js";
import { typesOf } from "../response/cursors.js";
import { buildTag, namesTag } from "../response/entity-tag.js";
import type { Answer, AnsweredRows, QueryResult, RowClaims } from "../response/answer.js";
import { deprecationHeaders, isFresh } from "../response/respond.js";
import { completed } from "../response/whole-results.js";
import type { DataVersion } from "../warehouse/data-versions.js";
import type { QueryColumns, QueryContext, Warehouse } from "../warehouse/warehouse.js";
import type { Exchange } from "./exchange.js";
import type { Gateway } from "./gateway.js";
import { errorOf } from "./query-error.js";

/** A request for rows, and how it reads them. */
export interface RowsContext
  extends
    Pick<RequestContext, "id" | "caller" | "isStillNeeded">,
    Pick<QueryContext, "onStart" | "onRollUp"> {
  /** Entity tags of the rows that the client has. */
  readonly ifNoneMatch?: string | undefined;
  /**
   * Set where the client asks for a length or for parts, which a stream does not have: whether a kept result of so many bytes
   * answers the request.
   */
  readonly readsPart?: ((bytes: number) => boolean) | undefined;
  /** Whether the client asks for the number of rows on all pages. */
  readonly wantsTotal?: boolean;
}

/** Runs a query, or finds its result. Null when the client has disconnected. Never rejects. */
export function run(
  gateway: Gateway,
  endpoint: Endpoint,
  query: ResolvedQuery,
  reader: RowsContext,
): Result<Answer> | Promise<Result<Answer> | null> {
  const refused = rowsRefusal(gateway, endpoint, reader.caller);
  if (refused !== null) return refused;
  const due = endpoint.freshness === undefined ? null : gateway.dueOf(endpoint);
  const claims = { due, quality: gateway.qualityOf(endpoint) };
  if (query.mustBeFresh === true && !isFresh(due)) return notFresh();
  const answered = rowsOf(gateway, endpoint, query, reader, claims);
  if (query.mustBeFresh !== true) return answered;
  // The promise may end while the database works, and a kept part is as old as its first one.
  return answered.then((answer) =>
    answer === null || isHttpError(answer) || isFresh(answer.due) ? answer : withoutRows(answer, notFresh()),
  );
}

/** `Retry-After` of rows that wait for a build, in seconds. Its end is not known: who retries each minute gets the rows at most a minute late. */
const BUILD_SECONDS = 60;

function notFresh(): HttpError {
  return httpError("notFresh", { n: BUILD_SECONDS });
}

/** What a response says of a deprecated endpoint. */
export function noticeOf({ gateway, request, context }: Exchange, endpoint: Endpoint): readonly string[] {
  if (endpoint.deprecationDate === null && endpoint.successor === null) return NO_NOTICE;
  const { prefix } = gateway.publicAddressOf(request);
  return deprecationHeaders(endpoint, successorFor(gateway, endpoint, context.caller), prefix);
}

const NO_NOTICE: readonly string[] = [];

/** The successor of an endpoint, where the caller may know of it. */
function successorFor({ catalogue, tierOf }: Gateway, { successor }: Endpoint, caller: Caller) {
  if (successor === null || catalogue === "public") return successor;
  const tier = tierOf(successor);
  return tier !== null && requireAccess(successor, tier, caller) === null ? successor : null;
}

/** The refusal of an endpoint that has ended (`goneAt`). */
export function goneRefusal(gateway: Gateway, endpoint: Endpoint, caller: Caller): HttpError | null {
  const { goneAt } = endpoint;
  if (goneAt === undefined || Date.now() < Date.parse(goneAt)) return null;
  const successor = successorFor(gateway, endpoint, caller);
  const instead = successor === null ? "It has no successor that you may call." : `Use ${successor}.`;
  return httpError("gone", { at: goneAt, instead });
}

/** The refusal of rows of an endpoint that has ended, or while a test of them fails, where it has `onFailedTest`. */
export function rowsRefusal(gateway: Gateway, endpoint: Endpoint, caller: Caller): HttpError | null {
  const ended = goneRefusal(gateway, endpoint, caller);
  if (ended !== null) return ended;
  const { failed = 0 } = (endpoint.onFailedTest === "refuse" ? gateway.qualityOf(endpoint) : null) ?? {};
  return failed === 0 ? null : httpError("testsFailed", { failed, n: BUILD_SECONDS });
}

async function rowsOf(
  gateway: Gateway,
  endpoint: Endpoint,
  query: ResolvedQuery,
  reader: RowsContext,
  claims: RowClaims,
): Promise<Result<Answer> | null> {
  try {
    const key = queryKey(query);
    const version = gateway.versionOf(endpoint.path);
    const build = endpoint.changes === "on_build" ? version : null;
    const tag = build && buildTag(build, key);
    if (tag !== null && namesTag(tag, reader.ifNoneMatch))
      return answerOf(query, UNREAD, { version, tag }, claims);
    const part = partAtHand(gateway, endpoint, query, key, reader);
    if (part !== null) return part;
    const preparing = prepare(gateway, query, version);
    const checked = preparing instanceof Promise ? await preparing : preparing;
    if (isHttpError(checked)) return checked;
    const context = contextOf(reader, version);
    const resultKey = build === null ? claimedKey(key, version, claims) : key;
    const rows = await gateway.results.get(resultKey, checked, context, build?.id ?? null);
    const answer = answerOf(checked, rows, { version, tag }, claims);
    const isWhole = reader.wantsTotal !== true && reader.readsPart === undefined;
    const whole = isWhole
      ? answer
      : await orEndStream(answer, withTotalAndLength(gateway, endpoint, answer, key, reader));
    const { types } = query.selection.keyset ?? {};
    if (types === undefined || (await orEndStream(whole, isAtCursor(gateway, query, types, version))))
      return whole;
    return await withoutRows(whole, httpError("invalidCursor"));
  } catch (error) {
    return errorOf(gateway, endpoint, reader, error);
  }
}

const UNREAD = { result: null, hasRunQuery: false, ownsResult: false };

/** Without spreads, which make a hidden class of each object (`ServiceMetrics`). */
function answerOf<Rows extends Pick<Answer, keyof AnsweredRows>>(
  query: ResolvedQuery,
  { result, hasRunQuery, ownsResult }: Rows,
  { version, tag }: Pick<Answer, "version" | "tag">,
  { due, quality }: RowClaims,
): Answer & Pick<Rows, "result"> {
  const hasMore = result !== null && mayHaveMore(result, query.selection);
  return { query, result, hasRunQuery, ownsResult, version, due, quality, tag, hasMore, total: null };
}

/** A result that was kept for a time does not get what is said of a later build: claims of other rows have another key. */
function claimedKey(key: string, version: DataVersion | null, { due, quality }: RowClaims): string {
  if (due === null && quality === null) return key;
  return [version?.id, due?.due, due?.warnAt, quality?.state, quality?.failed, key].join("\0");
}

/** The query, checked against the columns of its relation. Nothing is refused by columns that may have changed since they were looked up. */
export function prepare(
  { warehouse }: Gateway,
  query: ResolvedQuery,
  version: DataVersion | null,
): Result<ResolvedQuery> | Promise<Result<ResolvedQuery>> {
  const { keyset, conditions } = query.selection;
  if (keyset === undefined && conditions.length === 0) return query;
  const checked = () =>
    andThen(warehouse.columnsOf(query, version?.id ?? null), (columns) => check(warehouse, query, columns));
  return andThen(checked(), (first) => {
    if (!isHttpError(first)) return first;
    warehouse.expireColumns(query);
    return checked();
  });
}

function check(
  warehouse: Warehouse,
  query: ResolvedQuery,
  { columns, compared }: QueryColumns,
): Result<ResolvedQuery> {
  const { selection } = query;
  const { keyset, conditions } = selection;
  for (const each of compared) {
    const error = warehouse.check(conditions, each);
    if (error) return conditionError(error);
  }
  if (keyset === undefined) return query;
  const types = typesOf(selection, columns);
  if ((keyset.types ?? types) !== types) return httpError("invalidCursor");
  return { ...query, selection: { ...selection, keyset: { ...keyset, types } } };
}

/**
 * Whether the sort columns still have the types that the cursor was made for. Checked after the query as well: the columns may
 * have changed meanwhile, and the query has run again with the new ones.
 */
async function isAtCursor(
  { warehouse }: Gateway,
  query: ResolvedQuery,
  types: string,
  version: DataVersion | null,
): Promise<boolean> {
  const { columns } = await warehouse.columnsOf(query, version?.id ?? null);
  return types === typesOf(query.selection, columns);
}

async function withoutRows({ result }: Answer, error: HttpError): Promise<HttpError> {
  if (result?.kind === "stream") await result.stream.chunks.return();
  return error;
}

/** What follows a query. Where that fails, the query's stream ends: its caller's share would stay in use. */
async function orEndStream<T>({ result }: Answer, following: Promise<T>): Promise<T> {
  try {
    return await following;
  } catch (error) {
    if (result?.kind === "stream") await result.stream.chunks.return();
    throw error;
  }
}

/** The answer with the number of all rows and with a length, where the request asks for them. */
async function withTotalAndLength(
  gateway: Gateway,
  endpoint: Endpoint,
  answer: Answer & AnsweredRows,
  key: string,
  reader: RowsContext,
): Promise<Answer> {
  const { version } = answer;
  const counted =
    reader.wantsTotal === true
      ? { ...answer, total: await totalOf(gateway, answer, contextOf(reader, version)) }
      : answer;
  return reader.readsPart === undefined ? counted : wholeAnswer(gateway, endpoint, counted, key, reader);
}

/** The answer with a length, kept for the parts that follow. Of parts that are read at once, the first result counts for all. */
async function wholeAnswer(
  gateway: Gateway,
  endpoint: Endpoint,
  answer: Answer & AnsweredRows,
  key: string,
  reader: RowsContext,
): Promise<Answer> {
  const { query, hasMore } = answer;
  const result = await completed(answer.result, hasMore);
  if (result.kind === "stream") return { ...answer, result };
  const part = partAtHand(gateway, endpoint, query, key, reader);
  if (part !== null) return part;
  const kept = gateway.wholeResults.keep(reader.caller.id, key, { ...answer, result });
  return { ...answer, result: kept, ownsResult: false };
}

/** The answer with a part of the result that the caller reads in parts; null where there is none, or the request needs another. */
function partAtHand(
  gateway: Gateway,
  endpoint: Endpoint,
  query: ResolvedQuery,
  key: string,
  { caller, readsPart }: RowsContext,
): Answer | null {
  const kept = readsPart && gateway.wholeResults.get(caller.id, key);
  if (!kept || !readsPart(kept.result.bytes)) return null;
  const now = gateway.qualityOf(endpoint);
  const version = gateway.versionOf(endpoint.path);
  const isSameBuild = kept.version?.id === version?.id;
  // Of rows of another build nobody knows any more whether their tests failed.
  const mayBeRefused = !isSameBuild || (version === null && kept.quality?.state !== now?.state);
  if (endpoint.onFailedTest === "refuse" && mayBeRefused) return null;
  const quality = isSameBuild && version !== null ? now : kept.quality;
  return { query, ...kept, quality, hasRunQuery: false, ownsResult: false, total: null };
}

/** Written out: a copy by `...` of what a request carries took 2.5 µs. */
export function contextOf(
  { id, caller, isStillNeeded, onStart, onRollUp }: RowsContext,
  version: DataVersion | null,
): QueryContext {
  return { id, caller, isStillNeeded, onStart, onRollUp, version: version?.id ?? null };
}

/** Whether rows follow the page. Of a stream that is known at its end only: its next page may be empty. */
export function mayHaveMore(result: QueryResult, { page, keyset }: Selection): boolean {
  if (page === null) return false;
  if (keyset !== undefined) return result.nextCursor !== null;
  return result.kind === "stream" || result.hasMore;
}

/** The number of rows on all pages: known where the last one of them is in memory, otherwise counted. */
async function totalOf(
  { warehouse }: Gateway,
  { query, result }: Answer & AnsweredRows,
  context: QueryContext,
): Promise<number> {
  const { page, keyset } = query.selection;
  const offset = page?.offset ?? 0;
  const { rows = null, hasMore = true } = result.kind === "buffered" ? result : {};
  if (rows !== null && !hasMore && !keyset?.after && (offset === 0 || rows > 0)) return offset + rows;
  return (await warehouse.aggregate(query, context, [])).count;
}
