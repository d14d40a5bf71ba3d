import type pg from "pg";
import type { Relation } from "../model/endpoint.js";
import {
  type ResultColumn,
  type ResultColumns,
  BUFFERED_ROWS,
  type ResolvedQuery,
  type Rows,
  type RowStream,
  type IsStillNeeded,
  type Warehouse,
  type BufferedRows,
} from "../query/warehouse.js";
import { postgresDialect } from "../query/postgres.js";
import type { Texts } from "./batch.js";
import { Connections, NoneFree } from "./connections.js";
import { LargeAnswers } from "./large-answers.js";
import { OneRows } from "./one-rows.js";
import { QueryWatchdog, type QueryLimits } from "./query-watchdog.js";
import { openRowStream } from "./row-stream.js";
import { type Borrower, lend, take } from "./borrow.js";
import { openPingPool, openPool } from "./pools.js";
import { ColumnCache } from "./column-cache.js";
import { NamedStatements } from "./named-statements.js";
/** Queries that may wait for a connection; beyond it a caller is told to come back. */
const MAX_WAITING = 1000;

/** Connections held at most: more than the cores of an ordinary database server only adds switching. */
const MAX_CONNECTIONS = 20;

/** Connections for long answers, which clients may read as slowly as they like: short ones never wait for those. */
const MAX_STREAMS = 10;
const MAX_WAITING_STREAMS = 50;

/** How long a health check waits for the database. */
const PING_TIMEOUT_MS = 2000;

/** SQLSTATEs that a statement gives whose relation has other columns, or columns of other types, than when it was made. */
const SHAPE_CHANGED: ReadonlySet<string> = new Set([
  "42703", // undefined column
  "42P01", // undefined table
  "42883", // undefined function or operator, for the new type
  "22P02", // a literal is no text of the new type
  "22007", // nor a date or time of it
]);

export interface PostgresOptions {
  readonly url: string;
  /** The longest that any query may run, whatever a question allows; 0: no limit. */
  readonly statementTimeoutMs: number;
  /** Told of a connection that broke while nobody used it. */
  readonly onIdleError: (error: Error) => void;
}

/** The PostgreSQL warehouse: JSON is made by the database, so that no digit is lost and no row is printed twice. */
export function openPostgres({ url, statementTimeoutMs, onIdleError }: PostgresOptions): Warehouse {
  const settings = { url, statementTimeoutMs, onIdleError };
  const patrol = new QueryWatchdog(statementTimeoutMs);
  const shared = { patrol, onIdleError };
  return new PostgresWarehouse(
    {
      queries: new OneRows({ ...shared, pool: openPool({ ...settings, max: MAX_CONNECTIONS }) }),
      streams: new Connections<Borrower>(
        { ...shared, pool: openPool({ ...settings, max: MAX_STREAMS }) },
        lend,
      ),
      // A health check must not wait behind the queries: a database that is busy is not out of reach.
      pings: openPingPool(url, PING_TIMEOUT_MS, onIdleError),
    },
    patrol,
  );
}

interface Pools {
  readonly queries: OneRows;
  readonly streams: Connections<Borrower>;
  readonly pings: pg.Pool;
}

/** The look-up of a relation's columns is for all who ask. */
const FOR_ALL: QueryLimits = { timeoutMs: 0, wanted: () => true };

class PostgresWarehouse implements Warehouse {
  readonly degraded = null;
  readonly #pools: Pools;
  readonly #patrol: QueryWatchdog;
  readonly #statements = new NamedStatements();
  readonly #large = new LargeAnswers();
  readonly #shapes = new ColumnCache((relation) => this.#describe(relation));

  constructor(pools: Pools, patrol: QueryWatchdog) {
    this.#pools = pools;
    this.#patrol = patrol;
  }

  async rows(question: ResolvedQuery, wanted: IsStillNeeded): Promise<Rows | "overloaded"> {
    try {
      return await this.#ask(question, wanted);
    } catch (error) {
      if (error instanceof NoneFree) return "overloaded";
      throw error;
    }
  }

  async #ask(question: ResolvedQuery, wanted: IsStillNeeded): Promise<Rows | "overloaded"> {
    const known = this.#shapes.get(question.relation);
    try {
      return await this.#select(question, known instanceof Promise ? await known : known, wanted);
    } catch (error) {
      if (!SHAPE_CHANGED.has((error as pg.DatabaseError).code ?? "")) throw error;
      return this.#select(question, await this.#shapes.renew(question.relation), wanted);
    }
  }

  /** In one piece, unless that turns out to be too much. */
  async #select(
    question: ResolvedQuery,
    shape: ResultColumns,
    wanted: IsStillNeeded,
  ): Promise<Rows | "overloaded"> {
    const { relation, selection, format, timeoutMs } = question;
    const statement = postgresDialect.whole(relation, shape, selection, format);
    if (this.#pools.queries.connections.waitingCount >= MAX_WAITING) return "overloaded";
    if (!this.#large.isExpected(statement.text)) {
      const started = performance.now();
      const named = this.#statements.of(statement.text);
      const row = await this.#pools.queries.ask(statement, named, { timeoutMs, wanted });
      const rows = this.#wholeOf(row, question, shape, performance.now() - started);
      if (rows === null || rows.text.length > LargeAnswers.CHARACTERS) this.#large.note(statement.text);
      if (rows !== null) return rows;
    }
    if (this.#pools.streams.waitingCount >= MAX_WAITING_STREAMS) return "overloaded";
    return this.#stream(question, shape, wanted);
  }

  /** Null when there are more rows than one piece may hold. */
  #wholeOf(
    [text, count]: Texts,
    { selection: { page } }: ResolvedQuery,
    columns: ResultColumns,
    milliseconds: number,
  ): BufferedRows | null {
    const found = Number(count);
    const limit = page?.limit ?? Infinity;
    if (found > BUFFERED_ROWS && limit > BUFFERED_ROWS) return null;
    const returned = Math.min(found, limit);
    return { kind: "whole", columns, text: text ?? "", returned, hasMore: found > limit, milliseconds };
  }

  async #stream(
    { relation, selection, format, timeoutMs }: ResolvedQuery,
    shape: ResultColumns,
    wanted: IsStillNeeded,
  ): Promise<RowStream> {
    const statement = postgresDialect.each(relation, shape, selection, format);
    const limit = selection.page?.limit ?? Infinity;
    const connection = await take(this.#pools.streams);
    return openRowStream(connection, { columns: shape, statement, format, limit }, { timeoutMs, wanted });
  }

  async #describe(relation: Relation): Promise<ResultColumns> {
    const [columns = null] = await this.#pools.queries.ask(postgresDialect.describe(relation), null, FOR_ALL);
    if (columns !== null) return JSON.parse(columns) as ResultColumn[];
    throw new Error(`The relation ${relation.join(".")} does not exist in the database, or has no columns.`);
  }

  async isReachable(): Promise<boolean> {
    const late = new Promise<false>((resolve) => setTimeout(resolve, PING_TIMEOUT_MS, false).unref());
    const answer = this.#pools.pings.query("SELECT 1").then(
      () => true,
      () => false,
    );
    return Promise.race([answer, late]);
  }

  async close(): Promise<void> {
    const { queries, streams, pings } = this.#pools;
    await Promise.all([queries.connections.close(), streams.close(), pings.end()]);
    this.#patrol.close();
  }
}
