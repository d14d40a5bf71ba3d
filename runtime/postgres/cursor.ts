import { postgresDialect } from "../query/postgres.js";
import type { ResolvedQuery, ResultColumns } from "../query/warehouse.js";
import { type Connection, queryOf, type QueryLimits } from "./connection.js";

/** Target size of a fetch, in characters: large enough to amortize its round trip. */
const FETCH_CHARACTERS = 64 * 1024;

/** Rows of the first fetch, when the length of a row is unknown, and the maximum. */
const FIRST_ROWS = 8;
const MOST_ROWS = 2048;

/** Reads the rows of a query as text, in its own transaction, which ends with the last row. */
export class Cursor {
  readonly #connection: Connection;
  readonly #limits: QueryLimits;
  #size = FIRST_ROWS;
  #isOpen = true;
  #hasFailed = false;
  #milliseconds = 0;

  constructor(connection: Connection, limits: QueryLimits) {
    this.#connection = connection;
    this.#limits = limits;
  }

  /** Time in the database so far. */
  get milliseconds(): number {
    return this.#milliseconds;
  }

  get backendPid(): number {
    return this.#connection.backendPid;
  }

  /** Resolves with the first rows, so that a failing query fails before anything is sent. */
  async open(query: ResolvedQuery, columns: ResultColumns): Promise<readonly string[]> {
    const { relation, selection, format } = query;
    const { text, values } = queryOf(postgresDialect.selectEach(relation, columns, selection, format));
    return this.#timed(async () => {
      await this.#connection.begin(this.#limits);
      await this.#connection.identify(this.#limits);
      const declare = { text: `DECLARE answer NO SCROLL CURSOR FOR ${text}`, values: values ?? [] };
      await this.#connection.run(declare, this.#limits);
      return this.#fetch();
    });
  }

  /** The next rows; none when there are no more. */
  next(): Promise<readonly string[]> {
    return this.#isOpen ? this.#timed(() => this.#fetch()) : Promise.resolve([]);
  }

  /** Cancels the transaction and its query, which rejects with the reason. */
  cancel(reason: Error): void {
    this.#connection.cancel(reason);
  }

  /** Ends the transaction and returns the connection. The caller's lease is held until the result is called. */
  async close(): Promise<() => void> {
    let isBroken = this.#hasFailed;
    if (!isBroken)
      isBroken = await this.#connection
        .run({ text: "ROLLBACK" }, { ...this.#limits, isStillNeeded: () => true })
        .then(
          () => false,
          () => true,
        );
    return this.#connection.releaseKeepingLease(isBroken);
  }

  async #fetch(): Promise<readonly string[]> {
    const size = this.#size;
    const rows = await this.#connection.run({ text: `FETCH ${String(size)} FROM answer` }, this.#limits);
    const texts = rows.map(([text]) => text ?? "");
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    const fitting = Math.ceil((FETCH_CHARACTERS * texts.length) / Math.max(1, characters));
    // Grows slowly, since long rows may follow short ones.
    this.#size = Math.max(1, Math.min(fitting, 4 * size, MOST_ROWS));
    if (texts.length < size) this.#isOpen = false;
    return texts;
  }

  async #timed<T>(work: () => Promise<T>): Promise<T> {
    const started = performance.now();
    try {
      return await work();
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    } finally {
      this.#milliseconds += performance.now() - started;
    }
  }
}
