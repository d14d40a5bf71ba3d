import type { Keyset, KeyValues, ResolvedQuery } from "../model/query.js";
import { QueryAbandoned, reachedTimeLimit } from "../warehouse/query-errors.js";
import type { BufferedRows, QueryContext, Rows, Warehouse } from "../warehouse/warehouse.js";
import type { Cursors } from "./cursors.js";
import type { AnsweredRows, QueryResult } from "./answer.js";
import { BufferedResult } from "./buffered-result.js";
import { type Frame, frameOf } from "./content-negotiation.js";
import type { ResultCache } from "./result-cache.js";

/** An in-flight query and the callers that wait for it. */
interface InFlightQuery {
  /** When it started, in requests and queries so far. */
  readonly startedAt: number;
  /** Null before the query starts, and once it has ended or was abandoned. */
  promise: Promise<QueryResult> | null;
  callers: QueryContext["isStillNeeded"][];
}

/** After a timeout, a waiter that has used less than this share of its own time limit runs the query again. */
const WAITED_SHARE = 0.9;

/** Returns query results: from the cache, from an in-flight query, or by running one. */
export class ResultService {
  readonly #warehouse: Warehouse;
  readonly #cache: ResultCache;
  readonly #cursors: Cursors;
  /** Not a `Map`: the garbage collector keeps what its former tables hold (`FairQueue`). Bounded by the queries that run. */
  readonly #inFlight = Object.create(null) as Record<string, InFlightQuery>;
  /** Counts requests and queries, so that it is known which of two began first. */
  #time = 0;

  constructor(warehouse: Warehouse, cache: ResultCache, cursors: Cursors) {
    this.#warehouse = warehouse;
    this.#cache = cache;
    this.#cursors = cursors;
  }

  /** The result that is kept of rows of a build. `cacheKey`: of the key. */
  kept(key: string, build: string, cacheKey: string): BufferedResult | undefined {
    return this.#cache.get(key, build, cacheKey);
  }

  /**
   * `build`: the version of the rows where they change only with builds, else null. Rejects when the database fails. A query
   * that began before the caller's request may have read its rows before a change that the caller knows of: it is shared only
   * where its result would be cached, otherwise the request waits for its end and shares the next query.
   */
  get(
    key: string,
    query: ResolvedQuery,
    context: QueryContext,
    build: string | null = null,
    requestedAt = ++this.#time,
  ): Promise<AnsweredRows> {
    const cached = this.#cache.get(key, build);
    if (cached) return Promise.resolve({ result: cached, hasRunQuery: false, ownsResult: false });
    const inFlightKey = `${build ?? ""}\0${key}`;
    const inFlight = this.#inFlight[inFlightKey];
    if (!inFlight?.promise) return this.#runFirst(inFlightKey, key, { query, context, build });
    const getAgain = (): Promise<AnsweredRows> => this.get(key, query, context, build, requestedAt);
    if (inFlight.startedAt < requestedAt && !this.#cache.keeps(build))
      return inFlight.promise.then(getAgain, getAgain);
    inFlight.callers.push(context.isStillNeeded);
    return this.#wait(inFlight.promise, query, context, getAgain);
  }

  /**
   * Waits for another caller's query. Runs its own if that one became a stream, which has one reader, if only the other
   * caller's time limit was reached, or if it was abandoned as it began.
   */
  async #wait(
    promise: Promise<QueryResult>,
    query: ResolvedQuery,
    context: QueryContext,
    getAgain: () => Promise<AnsweredRows>,
  ): Promise<AnsweredRows> {
    const started = performance.now();
    try {
      const result = await promise;
      if (result.kind === "buffered") return { result, hasRunQuery: false, ownsResult: false };
    } catch (error) {
      if (error instanceof QueryAbandoned && context.isStillNeeded()) return getAgain();
      const waitedMs = performance.now() - started;
      if (!reachedTimeLimit(error) || waitedMs > WAITED_SHARE * query.timeoutMs) throw error;
      return getAgain();
    }
    return { result: await this.#run(query, context), hasRunQuery: true, ownsResult: true };
  }

  async #runFirst(
    inFlightKey: string,
    key: string,
    { query, context, build }: { query: ResolvedQuery; context: QueryContext; build: string | null },
  ): Promise<AnsweredRows> {
    // A stream needs the callers after `inFlight` is cleared.
    const callers = [context.isStillNeeded];
    const inFlight: InFlightQuery = { startedAt: ++this.#time, promise: null, callers };
    this.#inFlight[inFlightKey] = inFlight;
    try {
      const isStillNeeded = (): boolean => !abandonIfUnneeded(inFlight, callers);
      const { id, caller, onStart, onRollUp, version } = context;
      inFlight.promise = this.#run(query, { id, caller, isStillNeeded, onStart, onRollUp, version });
      const result = await inFlight.promise;
      if (result.kind === "buffered") this.#cache.set(key, result, build, query.route);
      const ownsResult = callers.length === 1 && !this.#cache.keeps(build);
      return { result, hasRunQuery: true, ownsResult };
    } finally {
      if (this.#inFlight[inFlightKey] === inFlight) Reflect.deleteProperty(this.#inFlight, inFlightKey);
      inFlight.promise = null;
      inFlight.callers = [];
    }
  }

  async #run(query: ResolvedQuery, context: QueryContext): Promise<QueryResult> {
    const rows = await this.#warehouse.rows(query, context);
    const { keyset } = query.selection;
    const nextCursor = rows.next && keyset ? await this.#nextCursor(rows, rows.next, keyset) : null;
    const frame = frameOf(query, rows.columns, nextCursor);
    if (rows.kind === "stream") return { kind: "stream", frame, stream: rows, nextCursor };
    const { returned, milliseconds, hasMore } = rows;
    return new BufferedResult(framed(frame, rows), returned, milliseconds, hasMore, nextCursor);
  }

  /** Ends a stream whose sort key fits into no cursor: its connection would stay in use. */
  async #nextCursor(rows: Rows, next: KeyValues, keyset: Keyset): Promise<string | null> {
    try {
      return this.#cursors.write(keyset, next);
    } catch (error) {
      if (rows.kind === "stream") await rows.chunks.return();
      throw error;
    }
  }
}

/** Shorter bodies are one buffer: a part of a few bytes costs more than it saves. */
const JOINED_BYTES = 16 * 1024;

function framed(frame: Frame, rows: BufferedRows): Buffer | readonly Buffer[] {
  const [head, tail] = [frame.head, frame.tail(rows)];
  const bytes = rows.parts.reduce((sum, { length }) => sum + length, Buffer.byteLength(head + tail));
  if (rows.release === undefined && bytes > JOINED_BYTES)
    return [Buffer.from(head), ...rows.parts, Buffer.from(tail)].filter(({ length }) => length > 0);
  const body = Buffer.allocUnsafe(bytes);
  let at = body.write(head);
  for (const part of rows.parts) at += part.copy(body, at);
  body.write(tail, at);
  rows.release?.();
  return body;
}

/**
 * Whether no caller needs the query any more. If so it is abandoned: the warehouse cancels it, and a later caller runs it
 * again.
 */
function abandonIfUnneeded(
  inFlight: InFlightQuery,
  callers: readonly QueryContext["isStillNeeded"][],
): boolean {
  const isUnneeded = !callers.some((isStillNeeded) => isStillNeeded());
  if (isUnneeded) inFlight.promise = null;
  return isUnneeded;
}
