import type { ResolvedQuery, RowStream, IsStillNeeded, Warehouse } from "../query/warehouse.js";
import type { ResultCache } from "./result-cache.js";
import { type Frame, frameOf } from "./frame.js";
import { BufferedResult } from "./buffered-result.js";

/** An answer that is fetched while it is sent. */
export interface StreamedResult {
  readonly kind: "stream";
  readonly frame: Frame;
  readonly stream: RowStream;
}

export interface QueryResult {
  readonly answer: BufferedResult | StreamedResult;
  /** Whether this very request asked the database. */
  readonly asked: boolean;
}

/**
 * A query under way, with all who wait for it. Once it is over nothing hangs on it any more: a map that has grown old
 * keeps what was deleted from it for a while, and with it all that it refers to.
 */
interface InFlightQuery {
  answer: Promise<BufferedResult | StreamedResult | "overloaded"> | null;
  waiting: IsStillNeeded[];
}

/** Answers questions: out of the cache, by a query that is under way already, or by one of its own. */
export class ResultService {
  readonly #warehouse: Warehouse;
  readonly #cache: ResultCache | null;
  readonly #flights = new Map<string, InFlightQuery>();

  /** Without a cache nothing is kept once it is answered. */
  constructor(warehouse: Warehouse, cache: ResultCache | null) {
    this.#warehouse = warehouse;
    this.#cache = cache;
  }

  /**
   * `key`: the question's (`keyOf`); `version`: of the rows, where it is known. Rejects when the database fails.
   */
  of(
    key: string,
    question: ResolvedQuery,
    version: string | null,
    wanted: IsStillNeeded,
  ): Promise<QueryResult | "overloaded"> {
    const cached = this.#cache?.get(key, version);
    if (cached) return Promise.resolve({ answer: cached, asked: false });
    const flight = this.#flights.get(key);
    if (!flight?.answer) return this.#lead(key, question, version, wanted);
    flight.waiting.push(wanted);
    return this.#follow(flight.answer, question, wanted);
  }

  /** A stream has one reader; whoever else asks reads his own. */
  async #follow(
    shared: NonNullable<InFlightQuery["answer"]>,
    question: ResolvedQuery,
    wanted: IsStillNeeded,
  ): Promise<QueryResult | "overloaded"> {
    let answer = await shared;
    if (answer === "overloaded") return answer;
    if (answer.kind === "whole") return { answer, asked: false };
    answer = await this.#ask(question, wanted);
    return answer === "overloaded" ? answer : { answer, asked: true };
  }

  async #lead(
    key: string,
    question: ResolvedQuery,
    version: string | null,
    wanted: IsStillNeeded,
  ): Promise<QueryResult | "overloaded"> {
    const waiting = [wanted];
    const flight: InFlightQuery = { answer: null, waiting };
    this.#flights.set(key, flight);
    try {
      flight.answer = this.#ask(question, () => isAwaited(flight, waiting));
      const answer = await flight.answer;
      if (answer === "overloaded") return answer;
      if (answer.kind === "whole") this.#cache?.set(key, answer, version);
      return { answer, asked: true };
    } finally {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
      flight.answer = null;
      flight.waiting = [];
    }
  }

  async #ask(
    question: ResolvedQuery,
    wanted: IsStillNeeded,
  ): Promise<BufferedResult | StreamedResult | "overloaded"> {
    const rows = await this.#warehouse.rows(question, wanted);
    if (rows === "overloaded") return rows;
    const frame = frameOf(question.format, question.selection.page, rows.columns);
    if (rows.kind === "stream") return { kind: "stream", frame, stream: rows };
    return new BufferedResult(frame.head + rows.text + frame.tail(rows), rows.returned, rows.milliseconds);
  }
}

/** A query that nobody waits for is cancelled: whoever asks from then on asks anew. */
function isAwaited(flight: InFlightQuery, waiting: readonly IsStillNeeded[]): boolean {
  const is = waiting.some((each) => each());
  if (!is) flight.answer = null;
  return is;
}
