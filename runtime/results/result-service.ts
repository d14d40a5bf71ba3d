import {
  type IsStillNeeded,
  type QueryContext,
  QueryTimeout,
  type ResolvedQuery,
  type RowStream,
  type Warehouse,
} from "../query/warehouse.js";
import { BufferedResult } from "./buffered-result.js";
import { type Frame, frameOf } from "./format.js";
import type { ResultCache } from "./result-cache.js";

/** A result that is sent while it is read from the database. */
export interface StreamedResult {
  readonly kind: "stream";
  readonly frame: Frame;
  readonly stream: RowStream;
}

export interface QueryResult {
  readonly answer: BufferedResult | StreamedResult;
  /** Whether this request ran the query itself. */
  readonly hasRunQuery: boolean;
}

type Answer = BufferedResult | StreamedResult | "overloaded";

/**
 * An in-flight query and the callers that wait for it. Cleared when it ends, because V8's maps can retain deleted entries
 * until they are rehashed.
 */
interface InFlightQuery {
  answer: Promise<Answer> | null;
  callers: IsStillNeeded[];
}

/** After a timeout, a waiter that has used less than this share of its own time limit runs the query again. */
const WAITED_SHARE = 0.9;

/** Returns query results: from the cache, from an in-flight query, or by running one. */
export class ResultService {
  readonly #warehouse: Warehouse;
  readonly #cache: ResultCache | null;
  readonly #inFlight = new Map<string, InFlightQuery>();

  /** Without a cache, results are only shared between concurrent callers. */
  constructor(warehouse: Warehouse, cache: ResultCache | null) {
    this.#warehouse = warehouse;
    this.#cache = cache;
  }

  /** `key`: the query's (`queryKey`). Rejects when the database fails. */
  get(key: string, query: ResolvedQuery, context: QueryContext): Promise<QueryResult | "overloaded"> {
    const cached = this.#cache?.get(key, context.version);
    if (cached) return Promise.resolve({ answer: cached, hasRunQuery: false });
    // Callers share a query only within one version of the rows.
    const versioned = `${context.version ?? ""}\0${key}`;
    const inFlight = this.#inFlight.get(versioned);
    if (!inFlight?.answer) return this.#runFirst(versioned, key, query, context);
    inFlight.callers.push(context.isStillNeeded);
    return this.#wait(inFlight.answer, key, query, context);
  }

  /** A stream has one reader: each other caller reads its own. */
  async #wait(
    shared: Promise<Answer>,
    key: string,
    query: ResolvedQuery,
    context: QueryContext,
  ): Promise<QueryResult | "overloaded"> {
    const started = performance.now();
    try {
      const answer = await shared;
      if (answer === "overloaded") return answer;
      if (answer.kind === "whole") return { answer, hasRunQuery: false };
    } catch (error) {
      // The first caller's time limit was reached, not this one's.
      const waitedMs = performance.now() - started;
      if (!(error instanceof QueryTimeout) || waitedMs > WAITED_SHARE * query.timeoutMs) throw error;
      return this.get(key, query, context);
    }
    const answer = await this.#run(query, context);
    return answer === "overloaded" ? answer : { answer, hasRunQuery: true };
  }

  async #runFirst(
    versioned: string,
    key: string,
    query: ResolvedQuery,
    context: QueryContext,
  ): Promise<QueryResult | "overloaded"> {
    const callers = [context.isStillNeeded];
    const inFlight: InFlightQuery = { answer: null, callers };
    this.#inFlight.set(versioned, inFlight);
    try {
      const isStillNeeded = (): boolean => isAwaited(inFlight, callers);
      inFlight.answer = this.#run(query, { ...context, isStillNeeded });
      const answer = await inFlight.answer;
      if (answer === "overloaded") return answer;
      if (answer.kind === "whole") this.#cache?.set(key, answer, context.version);
      return { answer, hasRunQuery: true };
    } finally {
      if (this.#inFlight.get(versioned) === inFlight) this.#inFlight.delete(versioned);
      inFlight.answer = null;
      inFlight.callers = [];
    }
  }

  async #run(query: ResolvedQuery, context: QueryContext): Promise<Answer> {
    const rows = await this.#warehouse.rows(query, context);
    if (rows === "overloaded") return rows;
    const frame = frameOf(query.format, query.selection.page, rows.columns);
    if (rows.kind === "stream") return { kind: "stream", frame, stream: rows };
    return new BufferedResult(
      frame.head + rows.text + frame.tail(rows),
      rows.returned,
      rows.milliseconds,
      rows.hasMore,
    );
  }
}

/** Whether any caller still needs the query. If not it is cancelled, and a later caller runs it again. */
function isAwaited(inFlight: InFlightQuery, callers: readonly IsStillNeeded[]): boolean {
  const isNeeded = callers.some((isStillNeeded) => isStillNeeded());
  if (!isNeeded) inFlight.answer = null;
  return isNeeded;
}
