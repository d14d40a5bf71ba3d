import { setTimeout as pause } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Relation } from "../../model/endpoint.js";
import { postgresDialect } from "./postgres-select.js";
import { relationKey, Relations, servedColumns } from "../relations.js";
import { type Condition, queryKey, type ResolvedQuery } from "../../model/query.js";
import {
  BUFFERED_ROWS,
  type BufferedRows,
  type OutputStyle,
  QueryAbandoned,
  type QueryContext,
  QueryTimeout,
  type ResultColumn,
  type ResultColumns,
  RelationMissing,
  type Rows,
  type Warehouse,
} from "../warehouse.js";
import { checkConditions } from "./postgres-filters.js";
import type { HttpError } from "../../model/errors.js";
import { withoutClient } from "./connection.js";
import { ConnectionPool, type ConnectionPoolOptions } from "./connection-pool.js";
import { ControlConnection } from "./control-connection.js";
import { isLockTimeout, isRelationChange } from "./database-errors.js";
import { Overloaded, type QueryTicket } from "../fair-queue.js";
import { openRowStream, type StreamPool } from "./row-stream.js";
import { SpoolBudget } from "./spool.js";
import type { QueryLimits, Texts } from "./prepared-statements.js";

/** Queue lengths for queries and for streams. */
const MAX_WAITING = 1000;
const MAX_WAITING_STREAMS = 100;

/** How many pages are remembered as too large for a buffered result, and for how long. */
const MAX_LARGE_PAGES = 1000;
const LARGE_PAGE_MS = 60_000;

/** How many relations are remembered to contain NaN, infinities or years without four digits, and for how long. */
const MAX_UNPLAIN = 10_000;
const UNPLAIN_MS = 600_000;

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
  /** A replica does not retry a missing relation: the primary may have it. */
  readonly isReplica?: boolean;
  /** Whether there is memory for another result. */
  readonly hasMemory?: () => boolean;
  /** Receives the error of a connection that broke while idle. */
  readonly onIdleError: (error: Error) => void;
}

export const POOL_DEFAULTS = {
  poolSize: 10,
  streamPoolSize: 4,
  streamsPerCaller: 2,
  spoolMegabytes: 1024,
  isReplica: false,
  hasMemory: () => true,
};

/** The PostgreSQL warehouse. The database writes the JSON: no digit is lost, and rows are not serialized again. */
export function openPostgres(options: PostgresOptions): Warehouse {
  return new PostgresWarehouse({ ...POOL_DEFAULTS, ...options });
}

class PostgresWarehouse implements Warehouse {
  readonly degraded = null;
  readonly #queries: ConnectionPool;
  readonly #streams: StreamPool;
  readonly #control: ControlConnection;
  readonly #largePages = new LRUCache<string, true>({ max: MAX_LARGE_PAGES, ttl: LARGE_PAGE_MS });
  /** Relations with values that the plain style cannot write (`OutputStyle`). */
  readonly #unplain = new LRUCache<string, true>({ max: MAX_UNPLAIN, ttl: UNPLAIN_MS });
  readonly #relations: Relations;

  constructor(options: Required<PostgresOptions>) {
    const { url, statementTimeoutMs, onIdleError } = options;
    const describe = (relation: Relation): Promise<ResultColumns> => this.#describe(relation);
    this.#relations = new Relations({ describe, isRelationChange, isReplica: options.isReplica });
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
      hasMemory: options.hasMemory,
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
  }

  get missingRelations(): readonly string[] {
    return this.#relations.missing;
  }

  async rows(query: ResolvedQuery, context: QueryContext): Promise<Rows | "overloaded"> {
    try {
      const { relation } = query;
      const run = (columns: ResultColumns): Promise<Rows> =>
        retryWhileLocked(query, context, () => this.#select(query, columns, context));
      return await this.#relations.query(relation, context, run);
    } catch (error) {
      if (error instanceof Overloaded) return "overloaded";
      throw error;
    }
  }

  columns(relation: Relation, version: string | null): ResultColumns | Promise<ResultColumns> {
    return this.#relations.columns(relation, version);
  }

  check(conditions: readonly Condition[], columns: ResultColumns): HttpError | null {
    return checkConditions(conditions, columns);
  }

  /** Buffers the result; streams it if it is too large. */
  async #select(query: ResolvedQuery, columns: ResultColumns, context: QueryContext): Promise<Rows> {
    const key = this.#largePages.size > 0 ? queryKey(query) : null;
    if (key === null || !this.#largePages.has(key)) {
      const served = servedColumns(columns, query.selection.columns);
      const relation = relationKey(query.relation);
      const tryPlain = postgresDialect.hasPlainStyle(served) && !this.#unplain.has(relation);
      const plain = tryPlain ? await this.#selectBuffered(query, columns, served, "plain", context) : null;
      if (plain !== null) return plain;
      const exact = await this.#selectBuffered(query, columns, served, "exact", context);
      if (tryPlain && exact !== null) this.#unplain.set(relation, true);
      if (exact !== null) return exact;
      this.#largePages.set(key ?? queryKey(query), true);
    }
    return openRowStream(this.#streams, query, columns, context);
  }

  /** Null when the rows exceed the limits of a buffered result, or are not plain. */
  #selectBuffered(
    query: ResolvedQuery,
    columns: ResultColumns,
    served: ResultColumns,
    style: OutputStyle,
    { callerId, tier, isStillNeeded }: QueryContext,
  ): Promise<BufferedRows | null> {
    const { relation, selection, format, timeoutMs } = query;
    const statement = postgresDialect.selectBuffered(relation, columns, selection, format, style);
    const started = performance.now();
    return this.#queries
      .run(statement, { callerId, tier, relation }, { timeoutMs, isStillNeeded })
      .then(([row]) => bufferedRows(row ?? [], query, served, performance.now() - started));
  }

  async #describe(relation: Relation): Promise<ResultColumns> {
    const ticket: QueryTicket = {
      callerId: "columns",
      tier: "tier3",
      relation: ["pg_catalog", "pg_attribute"],
    };
    const limits: QueryLimits = { timeoutMs: 0, isStillNeeded: () => true };
    const [row] = await this.#queries.run(postgresDialect.describe(relation), ticket, limits);
    const columns = row?.[0] ?? null;
    if (columns === null) throw new RelationMissing(relation.join("."));
    return JSON.parse(columns) as ResultColumn[];
  }

  isReachable(): Promise<boolean> {
    return this.#control.ping();
  }

  async close(): Promise<void> {
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
  { timeoutMs }: ResolvedQuery,
  { isStillNeeded }: QueryContext,
  run: () => Promise<T>,
): Promise<T> {
  const until = timeoutMs === 0 ? Infinity : performance.now() + timeoutMs;
  for (let pauseMs = FIRST_LOCK_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_LOCK_PAUSE_MS)) {
    try {
      return await run();
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (!isStillNeeded()) throw new QueryAbandoned();
      if (performance.now() + pauseMs > until) throw new QueryTimeout(error);
      await pause(pauseMs);
    }
  }
}

/** Null when the rows exceed the limits of a buffered result. */
function bufferedRows(
  [text = null, count = null, beyond = null]: Texts,
  { selection: { page } }: ResolvedQuery,
  columns: ResultColumns,
  milliseconds: number,
): BufferedRows | null {
  const found = Number(count);
  const limit = page?.limit ?? Infinity;
  if (text === null && found > 0) return null;
  if (found > BUFFERED_ROWS && limit > BUFFERED_ROWS) return null;
  const returned = Math.min(found, limit);
  const hasMore = found > limit;
  const rows = hasMore ? withoutEnd(text ?? "", Number(beyond)) : (text ?? "");
  return { kind: "buffered", columns, text: rows, returned, hasMore, milliseconds };
}

/** The text without its last `bytes` bytes. */
function withoutEnd(text: string, bytes: number): string {
  const length = Buffer.byteLength(text);
  if (length === text.length) return text.slice(0, -bytes);
  return Buffer.from(text).toString("utf8", 0, length - bytes);
}
