import type pg from "pg";
import type { Statement } from "../query/sql.js";
import type { Connection } from "./connections.js";
import type { QueryLimits } from "./query-watchdog.js";
import { queryOf, run } from "./run.js";

/** Characters of a fetch, about: enough that it is worth its round trip, few enough to hold two of them. */
const FETCH_CHARACTERS = 64 * 1024;

/** Rows of the first fetch: how long they are is known only then. */
const FIRST_ROWS = 32;
const MOST_ROWS = 4096;

/** What a fetch gave, and whether rows may follow it. */
interface Fetched {
  readonly rows: readonly string[];
  readonly isLast: boolean;
}

/**
 * Reads the rows of a query, which has one text column, in a transaction of its own. It is one fetch ahead of its reader,
 * and never more: a reader who is slow makes the database wait.
 */
export class Cursor {
  readonly #connection: Connection;
  readonly #terms: QueryLimits;
  #ahead: Promise<Fetched> | null = null;
  #size = FIRST_ROWS;
  #isOpen = true;
  #milliseconds = 0;

  constructor(connection: Connection, terms: QueryLimits) {
    this.#connection = connection;
    this.#terms = terms;
  }

  /** What the database took so far. */
  get milliseconds(): number {
    return this.#milliseconds;
  }

  /** Resolves once the first rows are there. When that fails the connection is given back already. */
  async open(statement: Statement): Promise<void> {
    try {
      await this.#run({ text: "BEGIN READ ONLY" });
      const { text, values } = queryOf(statement);
      await this.#run({ text: `DECLARE answer NO SCROLL CURSOR FOR ${text}`, values: values ?? [] });
      this.#ahead = this.#fetch();
      await this.#ahead;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** The next rows, none when there are no more. When that fails the connection is given back already. */
  async next(): Promise<readonly string[]> {
    if (this.#ahead === null) return [];
    try {
      const { rows, isLast } = await this.#ahead;
      this.#ahead = isLast ? null : this.#fetch();
      // A failure is for the next call to tell.
      this.#ahead?.catch(() => undefined);
      return rows;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Gives the connection back; may be called again. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const isUsable = await this.#settle();
    this.#connection.release(!isUsable);
  }

  /** Ends the transaction once a fetch under way is done, and tells whether that went well. */
  async #settle(): Promise<boolean> {
    try {
      await this.#ahead?.catch(() => undefined);
      await this.#run({ text: "ROLLBACK" });
      return true;
    } catch {
      return false;
    }
  }

  async #fetch(): Promise<Fetched> {
    const size = this.#size;
    const { rows } = await this.#run({ text: `FETCH ${String(size)} FROM answer`, rowMode: "array" });
    const texts = (rows as unknown as [string][]).map(([text]) => text);
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    const fitting = Math.ceil((FETCH_CHARACTERS * texts.length) / Math.max(1, characters));
    // A page of long rows may follow short ones: growth is slow, so that it is noticed.
    this.#size = Math.max(1, Math.min(fitting, 4 * size, MOST_ROWS));
    return { rows: texts, isLast: texts.length < size };
  }

  async #run(config: pg.QueryConfig | pg.QueryArrayConfig): Promise<pg.QueryResult> {
    const started = performance.now();
    const result = await run(this.#connection, config, this.#terms);
    this.#milliseconds += performance.now() - started;
    return result;
  }
}
