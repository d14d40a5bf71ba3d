import { LRUCache } from "lru-cache";
import type { Relation } from "../../model/endpoint.js";
import { type HttpError, httpError } from "../../model/errors.js";
import { type Condition, isTable, isTyped, queryKey, type ResolvedQuery } from "../../model/query.js";
import type { PerTier, Tier } from "../../model/tier.js";
import { type Lease, Overloaded, type QueryTicket } from "../fair-queue.js";
import { SpoolBudget } from "../spool.js";
import { QuerySlots } from "../query-slots.js";
import type { SharedResource } from "../shares.js";
import { Relations, servedColumns } from "../relations.js";
import {
  BUFFERED_ROWS,
  type AggregateResult,
  readAggregate,
  type BufferedRows,
  type HasStorage,
  type IsStillNeeded,
  type QueryContext,
  type ResultColumns,
  type Rows,
  type RowStream,
  sumOfLoads,
  TooManyRows,
  type Warehouse,
  type WarehouseLoad,
} from "../warehouse.js";
import type { ClickhouseAddress } from "../../model/clickhouse-address.js";
import { ClickhouseConnection } from "./connect.js";
import { isRefusal, isRelationChange, isTooManyRows, translated } from "./errors.js";
import { limitSettings, requireAtMost } from "./settings.js";
import { keyColumnsOf } from "./storage.js";
import type { ClickhouseServer } from "./connect.js";
import type { ReadRows } from "./views.js";
import { RelationLookup } from "./columns.js";
import { RoleHealth } from "./health.js";
import { nextRow, selectKeyed, withoutLimit } from "./keyed-pages.js";
import { LIST, RoleSettings } from "./settings.js";
import { printed, selectAggregate, selectRows, type Source } from "./select.js";
import { filterType, parseType } from "./filter-types.js";
import { bodyReader, lookAhead, openStream, readAll } from "./stream.js";
import type { RunningQuery } from "./stream.js";
import type { Statement } from "../sql.js";

/** Queue lengths for queries and for streams. */
const MAX_WAITING = 1000;
const MAX_WAITING_STREAMS = 100;

/** How many pages are remembered as too large for a buffered result, and for how long. */
const MAX_LARGE_PAGES = 1000;
const LARGE_PAGE_MS = 60_000;

/** Memory for rows that streams have read ahead. */
const SPOOL_MEMORY_BYTES = 32 * 1024 * 1024;

export interface ClickhouseOptions {
  readonly address: ClickhouseAddress;
  /** Upper bound of every query's time limit; 0: none. */
  readonly statementTimeoutMs: number;
  /** Time limit of a stream; 0: none. */
  readonly streamTimeoutMs: Readonly<PerTier<number>>;
  /** Rows that a query may read; 0: no limit. */
  readonly maxRowsRead: Readonly<PerTier<number>>;
  /** Queries with buffered results that run at a time. */
  readonly poolSize: number;
  /** Streams that run at a time. */
  readonly streamPoolSize: number;
  /** Streams that one caller may read at a time. */
  readonly streamsPerCaller: number;
  /** Memory for responses. */
  readonly memory?: SharedResource | undefined;
  /** Disk space for rows that streams read ahead of slow clients. Default 1024. */
  readonly spoolMegabytes?: number;
  /** Receives what an operator should know although queries succeed. */
  readonly warn: (error: Error, message: string) => void;
}

/** The ClickHouse warehouse. Rows go to the client as the bytes that ClickHouse prints. */
export function openClickhouse(options: ClickhouseOptions): Warehouse {
  return new ClickhouseWarehouse(options);
}

class ClickhouseWarehouse implements Warehouse {
  readonly #options: ClickhouseOptions;
  readonly #connection: ClickhouseConnection;
  readonly #queries: QuerySlots;
  readonly #streams: QuerySlots;
  readonly #relations: Relations;
  readonly #budget: SpoolBudget;
  readonly #settings: RoleSettings;
  readonly #health: RoleHealth;
  readonly #largePages = new LRUCache<string, true>({ max: MAX_LARGE_PAGES, ttl: LARGE_PAGE_MS });

  constructor(options: ClickhouseOptions) {
    const { address, warn, poolSize, memory, streamPoolSize, streamsPerCaller } = options;
    this.#options = options;
    this.#connection = new ClickhouseConnection(address, warn);
    const limits = { timeoutMs: options.statementTimeoutMs, isStillNeeded: () => true };
    this.#settings = new RoleSettings((query) =>
      this.#connection.text({ ...query, callerId: "settings", limits }),
    );
    this.#budget = new SpoolBudget(SPOOL_MEMORY_BYTES, (options.spoolMegabytes ?? 1024) * 1024 * 1024);
    this.#queries = new QuerySlots({ capacity: poolSize, maxWaiting: MAX_WAITING, memory });
    this.#streams = new QuerySlots({
      capacity: streamPoolSize,
      maxWaiting: MAX_WAITING_STREAMS,
      perCaller: streamsPerCaller,
    });
    const lookup = new RelationLookup(this.#connection, warn, (statement, server) =>
      this.#read(statement, server && { server }),
    );
    const describe = (relation: Relation): Promise<ResultColumns> => lookup.columns(relation);
    this.#health = new RoleHealth(this.#connection, this.#settings, options);
    this.#relations = new Relations({ describe, isRelationChange });
  }

  get load(): WarehouseLoad {
    return sumOfLoads([this.#queries.load, this.#streams.load]);
  }

  get missingRelations(): readonly string[] {
    return this.#relations.missing;
  }

  rows(query: ResolvedQuery, context: QueryContext): Promise<Rows | "overloaded"> {
    return this.#query(query, context, (source) => this.#select(query, source, context));
  }

  aggregate(
    query: ResolvedQuery,
    context: QueryContext,
    bounded: ResultColumns,
  ): Promise<AggregateResult | "overloaded"> {
    return this.#query(query, context, async (source) => {
      const select = selectAggregate(source, bounded, query.selection);
      const read = this.#readerFor(query, context);
      const [row = {}] = await this.#withinLimit(source, context.tier, () =>
        read<Readonly<Record<string, unknown>>>(printed(select, "ndjson")),
      );
      return readAggregate(row, bounded);
    });
  }

  async #query<T>(
    query: ResolvedQuery,
    context: QueryContext,
    run: (source: Source) => Promise<T>,
  ): Promise<T | "overloaded"> {
    const { relation } = query;
    try {
      return await this.#relations.query(relation, context, async (columns) =>
        run({ relation, columns, settings: await this.#settings.own }),
      );
    } catch (error) {
      if (error instanceof Overloaded || isRefusal(error)) return "overloaded";
      throw error;
    }
  }

  columns(relation: Relation, version: string | null, hasStorage?: HasStorage): Promise<ResultColumns> {
    return this.#relations.columns(relation, version, hasStorage);
  }

  checkRelations(relations: readonly Relation[]): Promise<void> {
    return this.#relations.check(relations);
  }

  check(conditions: readonly Condition[], columns: ResultColumns): HttpError | null {
    for (const { name, column, operator, value } of conditions) {
      if (!isTyped(operator)) continue;
      const found = columns.find((each) => each.name === column);
      const type = found ? filterType(parseType(found.type)) : null;
      const values = typeof value === "string" ? [value] : value;
      if (type !== null && values.some((text) => type.parse(text) === undefined))
        return httpError(type.error, { name });
    }
    return null;
  }

  get degraded(): string | null {
    return this.#health.degraded;
  }

  isReachable(): Promise<boolean> {
    return this.#health.check();
  }

  async close(): Promise<void> {
    this.#queries.close();
    this.#streams.close();
    await this.#connection.close();
  }

  /** Buffers the result; streams it if it is too large. */
  async #select(query: ResolvedQuery, source: Source, context: QueryContext): Promise<Rows> {
    const { keyset } = query.selection;
    const select = (page: ResolvedQuery): Promise<Rows> => this.#selectPage(page, source, context);
    return this.#withinLimit(source, context.tier, () =>
      keyset === undefined
        ? select(query)
        : selectKeyed(query, keyset, source, { read: this.#readerFor(query, context), select }),
    );
  }

  /** Runs a query that may read no more rows than its tier. Rejects with `TooManyRows`. */
  async #withinLimit<T>({ relation, columns }: Source, tier: Tier, run: () => Promise<T>): Promise<T> {
    const limit = this.#options.maxRowsRead[tier];
    requireAtMost(limit, columns);
    try {
      return await run();
    } catch (error) {
      if (limit === 0 || !isTooManyRows(error)) throw error;
      throw new TooManyRows(limit, await keyColumnsOf(relation, (statement) => this.#read(statement)));
    }
  }

  async #selectPage(query: ResolvedQuery, source: Source, context: QueryContext): Promise<Rows> {
    const key = this.#largePages.size > 0 ? queryKey(query) : null;
    if (key === null || !this.#largePages.has(key)) {
      const rows = await this.#selectBuffered(query, source, context);
      if (rows !== null) return rows;
      this.#largePages.set(key ?? queryKey(query), true);
    }
    return this.#selectStream(query, source, context);
  }

  /** Null when the rows exceed the limits of a buffered result. */
  async #selectBuffered(
    query: ResolvedQuery,
    source: Source,
    context: QueryContext,
  ): Promise<BufferedRows | null> {
    const { page } = query.selection;
    const limit = page?.limit ?? Infinity;
    const maxRows = Math.min(lookAhead(query), BUFFERED_ROWS + 1);
    const started = performance.now();
    const lease = await this.#queries.acquire(ticketOf(query, context), context.isStillNeeded);
    const rows = await this.#holding(lease, async (): Promise<BufferedRows | null> => {
      const running = await this.#run(query, source, context, maxRows, query.timeoutMs);
      const reader = await bodyReader(query.format, limit, running.exceptionTag);
      const text = await readAll(running, reader).catch((error: unknown) => {
        throw reader.error ?? error;
      });
      if (text === null || reader.returned > BUFFERED_ROWS) return null;
      const { returned, hasMore } = reader;
      const served = servedColumns(source.columns, query.selection.columns);
      const milliseconds = performance.now() - started;
      return { kind: "buffered", columns: served, text, returned, hasMore, milliseconds };
    });
    if (rows === null || !isTable(query.format)) return rows;
    const next = nextRow(query, rows.returned, source);
    const following = next === null ? [] : await this.#readerFor(query, context)(next);
    return { ...rows, hasMore: following.length > 0 };
  }

  async #selectStream(query: ResolvedQuery, source: Source, context: QueryContext): Promise<RowStream> {
    const { columns: declared, keyset } = query.selection;
    const limited = keyset?.upTo === undefined ? query : withoutLimit(query);
    const limit = limited.selection.page?.limit ?? Infinity;
    const lease = await this.#streams.acquire(ticketOf(query, context), context.isStillNeeded);
    try {
      const timeoutMs = this.#options.streamTimeoutMs[context.tier];
      const running = await this.#run(query, source, context, lookAhead(limited), timeoutMs);
      const reader = await bodyReader(query.format, limit, running.exceptionTag);
      const chunks = await openStream({ running, reader, lease, budget: this.#budget });
      return { kind: "stream", columns: servedColumns(source.columns, declared), chunks };
    } catch (cause) {
      lease.release();
      throw translated(cause);
    }
  }

  /** `timeoutMs`: for the server, which counts the time in which the client does not read too. */
  async #run(
    { selection, format, timeoutMs: databaseMs }: ResolvedQuery,
    source: Source,
    { callerId, tier, isStillNeeded }: QueryContext,
    maxRows: number,
    timeoutMs: number,
  ): Promise<RunningQuery> {
    const served = servedColumns(source.columns, selection.columns);
    const select = selectRows(source, selection, { served, format, maxRows });
    const statement = printed(select, format);
    const isList = format === "json" || format === "json-strings";
    const settings = {
      ...(await this.#settings.toSend()),
      ...limitSettings({ tier, timeoutMs, maxRows: this.#options.maxRowsRead[tier] }),
      ...(isList && LIST),
    };
    const limits = { timeoutMs: databaseMs || this.#options.statementTimeoutMs, isStillNeeded };
    return this.#connection.run({ statement, settings, callerId, limits });
  }

  async #holding<T>(lease: Lease, run: () => Promise<T>): Promise<T> {
    try {
      const result = await run();
      lease.release();
      return result;
    } catch (cause) {
      lease.release();
      throw translated(cause);
    }
  }

  /** Reads the rows of statements on behalf of a query, within its time limit. */
  #readerFor(query: ResolvedQuery, context: QueryContext): ReadRows {
    const maxRows = this.#options.maxRowsRead[context.tier];
    const timeoutMs = query.timeoutMs || this.#options.statementTimeoutMs;
    const { isStillNeeded } = context;
    const options = { ticket: ticketOf(query, context), isStillNeeded, timeoutMs, maxRows };
    return <Row>(statement: Statement): Promise<readonly Row[]> => this.#read<Row>(statement, options);
  }

  /** The rows of a statement in the format JSONEachRow. */
  async #read<Row>(statement: Statement, options: ReadOptions = {}): Promise<readonly Row[]> {
    const { ticket = LOOK_UP, isStillNeeded = () => true, maxRows = 0, server } = options;
    const { timeoutMs = this.#options.statementTimeoutMs } = options;
    const { tier, callerId } = ticket;
    const limits = { timeoutMs, isStillNeeded };
    const lease = await this.#queries.acquire(ticket, isStillNeeded);
    const text = await this.#holding(lease, async () => {
      const settings = { ...(await this.#settings.toSend()), ...limitSettings({ tier, timeoutMs, maxRows }) };
      return this.#connection.text({ statement, settings, callerId, limits, ...(server && { server }) });
    });
    const lines = text.split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as Row);
  }
}

interface ReadOptions {
  /** Default: looked up for all callers. */
  readonly ticket?: QueryTicket;
  readonly isStillNeeded?: IsStillNeeded;
  readonly timeoutMs?: number;
  readonly maxRows?: number;
  /** Only this one is asked. */
  readonly server?: ClickhouseServer;
}

const LOOK_UP: QueryTicket = { callerId: "columns", tier: "tier3", relation: ["system", "columns"] };

function ticketOf({ relation }: ResolvedQuery, { callerId, tier }: QueryContext) {
  return { callerId, tier, relation };
}
