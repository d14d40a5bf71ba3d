import { setTimeout as pause } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Relation } from "../../model/endpoint.js";
import { describe } from "./postgres-columns.js";
import { parseKey } from "./postgres-keyset.js";
import { aggregateColumns, selectAggregate, selectText, selectRows } from "./postgres-select.js";
import { relationKey, Relations, servedColumns } from "../relations.js";
import {
  type Condition,
  isTable,
  queryKey,
  type ResolvedQuery,
  type TableFormat,
} from "../../model/query.js";
import {
  BUFFERED_BYTES,
  BUFFERED_ROWS,
  type AggregateResult,
  readAggregate,
  type BufferedRows,
  type HasStorage,
  QueryAbandoned,
  type QueryContext,
  QueryTimeout,
  type ResultColumn,
  type ResultColumns,
  RelationMissing,
  type Rows,
  sumOfLoads,
  type Warehouse,
  type WarehouseLoad,
} from "../warehouse.js";
import { checkConditions } from "./filter-types.js";
import type { HttpError } from "../../model/errors.js";
import { withoutClient } from "./connection.js";
import { ConnectionPool, type ConnectionPoolOptions } from "./connection-pool.js";
import { ControlConnection } from "./control-connection.js";
import { LivenessCheck } from "./liveness-check.js";
import { isLockConflict, isRelationChange } from "./database-errors.js";
import { Overloaded, type QueryTicket } from "../fair-queue.js";
import { openRowStream, type StreamPool } from "./row-stream.js";
import { encoderOf } from "./encoders.js";
import { rowWriter } from "./row-text.js";
import { SpoolBudget } from "../spool.js";
import type { QueryLimits, Texts } from "./prepared-statements.js";
import type { SharedResource } from "../shares.js";
import type { Statement } from "../sql.js";

/** Queue lengths for queries and for streams. */
const MAX_WAITING = 1000;
const MAX_WAITING_STREAMS = 100;

/** How many pages are remembered as too large for a buffered result, and for how long. */
const MAX_LARGE_PAGES = 1000;
const LARGE_PAGE_MS = 60_000;

/** How many relations are remembered to have values with the separator, and for how long. */
const MAX_SEPARATED = 10_000;
const SEPARATED_MS = 600_000;

/**
 * Up to this limit a page is read as rows: PostgreSQL takes 0.07 ms for one row and 0.08 ms for its text, 0.09 and 0.11 ms for
 * 10 rows, 0.33 and 0.35 ms for 100, of which `pg` then parses every value (0.38 ms, the text 0.09 ms).
 */
const SMALL_PAGE_ROWS = 10;

/** Memory for rows that streams have read ahead. */
const SPOOL_MEMORY_BYTES = 32 * 1024 * 1024;

export interface PostgresOptions {
  readonly url: string;
  /** Upper bound of every query's time limit; 0: none. */
  readonly statementTimeoutMs: number;
  /** Connections for buffered results. */
  readonly poolSize?: number;
  /** Connections for streams. */
  readonly streamPoolSize?: number;
  /** Streams that one caller may read at a time. */
  readonly streamsPerCaller?: number;
  /** Disk space for rows that streams have read ahead of their clients; 0: none. */
  readonly spoolMegabytes?: number;
  /** Memory for responses. */
  readonly memory?: SharedResource | undefined;
  /** Receives the error of a connection that broke while idle. */
  readonly onIdleError: (error: Error) => void;
}

export const POOL_DEFAULTS = {
  poolSize: 10,
  streamPoolSize: 4,
  streamsPerCaller: 2,
  spoolMegabytes: 1024,
};

/** The PostgreSQL warehouse. Values are the database's own text, from which rows are written: no digit is lost. */
export function openPostgres(options: PostgresOptions): Warehouse {
  return new PostgresWarehouse({ ...POOL_DEFAULTS, ...options });
}

class PostgresWarehouse implements Warehouse {
  readonly degraded = null;
  readonly #queries: ConnectionPool;
  readonly #streams: StreamPool;
  readonly #control: ControlConnection;
  readonly #liveness: LivenessCheck;
  readonly #largePages = new LRUCache<string, true>({ max: MAX_LARGE_PAGES, ttl: LARGE_PAGE_MS });
  /** Relations whose values contain the separator of `selectText`. */
  readonly #separated = new LRUCache<string, true>({ max: MAX_SEPARATED, ttl: SEPARATED_MS });
  readonly #relations: Relations;
  readonly #statementTimeoutMs: number;

  constructor(options: PostgresOptions & typeof POOL_DEFAULTS) {
    const { url, statementTimeoutMs, onIdleError } = options;
    this.#statementTimeoutMs = statementTimeoutMs;
    const describe = (relation: Relation): Promise<ResultColumns> => this.#describe(relation);
    this.#relations = new Relations({ describe, isRelationChange });
    const shared: Omit<ConnectionPoolOptions, "size" | "maxWaiting"> = {
      url,
      statementTimeoutMs,
      onIdleError: (error) => onIdleError(withoutClient(error)),
      cancelBackend: (pid) => this.#control.cancel(pid),
    };
    this.#queries = new ConnectionPool({
      ...shared,
      size: options.poolSize,
      maxWaiting: MAX_WAITING,
      memory: options.memory,
    });
    const connections = new ConnectionPool({
      ...shared,
      size: options.streamPoolSize,
      maxWaiting: MAX_WAITING_STREAMS,
      perCaller: options.streamsPerCaller,
    });
    const budget = new SpoolBudget(SPOOL_MEMORY_BYTES, options.spoolMegabytes * 1024 * 1024);
    this.#streams = { connections, budget, cursors: new Set() };
    this.#control = new ControlConnection(url, this.#streams.cursors, shared.onIdleError);
    this.#liveness = new LivenessCheck([this.#queries, connections], () => this.#control.ping());
  }

  get load(): WarehouseLoad {
    return sumOfLoads([this.#queries.queue.load, this.#streams.connections.queue.load]);
  }

  get missingRelations(): readonly string[] {
    return this.#relations.missing;
  }

  rows(query: ResolvedQuery, context: QueryContext): Promise<Rows | "overloaded"> {
    return this.#query(query, context, (columns) => this.#select(query, columns, context));
  }

  aggregate(
    query: ResolvedQuery,
    context: QueryContext,
    bounded: ResultColumns,
  ): Promise<AggregateResult | "overloaded"> {
    const { relation, selection } = query;
    return this.#query(query, context, async (columns) => {
      const rows = await this.#run(selectAggregate(relation, columns, bounded, selection), query, context);
      const text = rowWriter(aggregateColumns(bounded), "json").ofRows(rows).toString();
      return readAggregate(JSON.parse(text) as Readonly<Record<string, unknown>>, bounded);
    });
  }

  async #query<T>(
    query: ResolvedQuery,
    context: QueryContext,
    select: (columns: ResultColumns) => Promise<T>,
  ): Promise<T | "overloaded"> {
    try {
      const run = (columns: ResultColumns): Promise<T> =>
        retryWhileLocked(this.#timeLimit(query), context, () => select(columns));
      return await this.#relations.query(query.relation, context, run);
    } catch (error) {
      if (error instanceof Overloaded) return "overloaded";
      throw error;
    }
  }

  /** The shorter of the query's own time limit and that of every query. */
  #timeLimit({ timeoutMs }: ResolvedQuery): number {
    return Math.min(timeoutMs || Infinity, this.#statementTimeoutMs || Infinity);
  }

  columns(relation: Relation, version: string | null, hasStorage?: HasStorage): Promise<ResultColumns> {
    return this.#relations.columns(relation, version, hasStorage);
  }

  checkRelations(relations: readonly Relation[]): Promise<void> {
    return this.#relations.check(relations);
  }

  check(conditions: readonly Condition[], columns: ResultColumns): HttpError | null {
    return checkConditions(conditions, columns);
  }

  /** Buffers the result; streams it if it is too large. */
  async #select(query: ResolvedQuery, columns: ResultColumns, context: QueryContext): Promise<Rows> {
    const key = this.#largePages.size > 0 ? queryKey(query) : null;
    if (key === null || !this.#largePages.has(key)) {
      const rows = await this.#selectBuffered(query, columns, context);
      if (rows !== null) return rows;
      this.#largePages.set(key ?? queryKey(query), true);
    }
    return openRowStream(this.#streams, query, columns, context);
  }

  /** Null when the rows exceed the limits of a buffered result. */
  async #selectBuffered(
    query: ResolvedQuery,
    columns: ResultColumns,
    context: QueryContext,
  ): Promise<BufferedRows | null> {
    const { relation, selection } = query;
    const started = performance.now();
    const served = servedColumns(columns, selection.columns);
    const { format } = query;
    const isSmall = selection.page !== null && selection.page.limit <= SMALL_PAGE_ROWS;
    const isSeparated = this.#separated.size > 0 && this.#separated.has(relationKey(relation));
    if (!isTable(format) && !isSmall && !isSeparated) {
      const [row] = await this.#run(selectText(relation, columns, selection), query, context);
      if (row === undefined) return null;
      const found = Number(row[1]);
      const text = rowWriter(served, format).ofText(row[0] ?? "", found, returnedOf(query, found));
      const milliseconds = performance.now() - started;
      if (text !== null) return bufferedRows(text, query, { found, next: row[2] }, served, milliseconds);
      this.#separated.set(relationKey(relation), true);
    }
    const rows = await this.#run(selectRows(relation, columns, selection), query, context);
    if (rows.some((row) => row[served.length] !== "t")) return null;
    const returned = rows.slice(0, returnedOf(query, rows.length));
    const text = isTable(format)
      ? await tableOf(returned, served, format)
      : rowWriter(served, format).ofRows(returned);
    const result = { found: rows.length, next: rows[0]?.[served.length + 1] };
    return bufferedRows(text, query, result, served, performance.now() - started);
  }

  #run(
    statement: Statement,
    { relation, timeoutMs }: ResolvedQuery,
    { callerId, tier, isStillNeeded }: QueryContext,
  ): Promise<readonly Texts[]> {
    return this.#queries.run(statement, { callerId, tier, relation }, { timeoutMs, isStillNeeded });
  }

  async #describe(relation: Relation): Promise<ResultColumns> {
    const ticket: QueryTicket = {
      callerId: "columns",
      tier: "tier3",
      relation: ["pg_catalog", "pg_attribute"],
    };
    const limits: QueryLimits = { timeoutMs: 0, isStillNeeded: () => true };
    const [row] = await this.#queries.run(describe(relation), ticket, limits);
    const columns = row?.[0] ?? null;
    if (columns === null) throw new RelationMissing(relation.join("."));
    return JSON.parse(columns) as ResultColumn[];
  }

  isReachable(): Promise<boolean> {
    return this.#control.ping();
  }

  async close(): Promise<void> {
    this.#liveness.close();
    await Promise.all([this.#queries.close(), this.#streams.connections.close()]);
    // Until then it cancels their queries.
    await this.#control.close();
  }
}

/** Pauses between the attempts at a locked relation; they double up to the longest. */
const FIRST_LOCK_PAUSE_MS = 25;
const LONGEST_LOCK_PAUSE_MS = 1000;

/**
 * Runs a query again while another session locks its relation, up to the query's time limit. In between it holds no
 * connection, and its caller is not charged: with 40 callers that wait for a locked table, their other queries took 6.8 s
 * when each waited on its connection.
 */
async function retryWhileLocked<T>(
  timeLimitMs: number,
  { isStillNeeded }: QueryContext,
  run: () => Promise<T>,
): Promise<T> {
  const until = performance.now() + timeLimitMs;
  for (let pauseMs = FIRST_LOCK_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_LOCK_PAUSE_MS)) {
    try {
      return await run();
    } catch (error) {
      if (!isLockConflict(error)) throw error;
      if (!isStillNeeded()) throw new QueryAbandoned();
      if (performance.now() + pauseMs > until) throw new QueryTimeout(error);
      await pause(pauseMs);
    }
  }
}

async function tableOf(rows: readonly Texts[], columns: ResultColumns, format: TableFormat): Promise<Buffer> {
  const encoder = await encoderOf(columns, format);
  return Buffer.concat([encoder.write(rows), encoder.end()]);
}

function returnedOf({ selection: { page } }: ResolvedQuery, found: number): number {
  return Math.min(found, page?.limit ?? Infinity);
}

/** Null when the rows exceed the limits of a buffered result. */
function bufferedRows(
  text: string | Buffer,
  query: ResolvedQuery,
  { found, next }: { readonly found: number; readonly next: string | null | undefined },
  columns: ResultColumns,
  milliseconds: number,
): BufferedRows | null {
  const returned = returnedOf(query, found);
  if (returned > BUFFERED_ROWS || text.length > BUFFERED_BYTES) return null;
  const hasMore = found > returned;
  return { kind: "buffered", columns, text, returned, hasMore, next: parseKey(next), milliseconds };
}
