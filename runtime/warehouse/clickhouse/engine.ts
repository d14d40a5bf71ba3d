import { LRUCache } from "lru-cache";
import type { Relation } from "../../model/endpoint.js";
import { isTable, queryKey, type ResolvedQuery } from "../../model/query.js";
import type { PerTier, Tier } from "../../model/tier.js";
import { type ClickhouseAddress, clickhouseAddress } from "../../model/clickhouse-address.js";
import { BaseEngine, type DatabaseTraits, type EngineOptions } from "../base-engine.js";
import type { Lease, QueryTicket } from "../fair-queue.js";
import { QuerySlots } from "../query-slots.js";
import { servedColumns } from "../relations.js";
import type { Statement } from "../sql.js";
import {
  type AggregateResult,
  readAggregate,
  type BufferedRows,
  type IsStillNeeded,
  type QueryContext,
  type ResultColumns,
  type Rows,
  type RowStream,
  TooManyRows,
  type Warehouse,
} from "../warehouse.js";
import { RelationLookup } from "./columns.js";
import { ClickhouseConnection } from "./connect.js";
import { isRelationChange, isTooManyRows, translated } from "./errors.js";
import { filterType, parseType } from "./filter-types.js";
import { RoleHealth } from "./health.js";
import { nextRow, selectKeyed, withoutLimit } from "./keyed-pages.js";
import { printed, selectAggregate, selectRows, type Source } from "./select.js";
import { limitSettings, LIST, requireAtMost, RoleSettings } from "./settings.js";
import { keyColumnsOf, type ReadRows } from "./storage.js";
import { bodyReader, lookAhead, openStream, readAll, type RunningQuery } from "./stream.js";

/** What queries may use of the server. */
type QueryLimits = Required<Pick<EngineOptions, "statementTimeoutMs" | "streamTimeoutMs" | "maxRowsRead">>;

/** Rows of a buffered result: a larger one is another query, as a stream, whose time limit differs. */
const BUFFERED_ROWS = 1000;

/** How many pages are remembered as too large for a buffered result, and for how long. */
const MAX_LARGE_PAGES = 1000;
const LARGE_PAGE_MS = 60_000;

const NO_LIMITS: Readonly<PerTier<number>> = { tier0: 0, tier1: 0, tier2: 0, tier3: 0 };

/** The ClickHouse warehouse. Rows go to the client as the bytes that ClickHouse prints. */
export function openClickhouse(options: EngineOptions): Warehouse {
  const address = clickhouseAddress(options.url);
  if (address === null) throw new Error("Not the address of a ClickHouse database.");
  return new ClickhouseEngine(address, options);
}

const TRAITS: DatabaseTraits = {
  isRelationChange,
  translated,
  filterTypeOf: ({ type }) => filterType(parseType(type)),
};

class ClickhouseEngine extends BaseEngine {
  readonly #limits: QueryLimits;
  readonly #connection: ClickhouseConnection;
  readonly #querySlots: QuerySlots;
  readonly #streamSlots: QuerySlots;
  readonly #lookup: RelationLookup;
  readonly #settings: RoleSettings;
  readonly #health: RoleHealth;
  readonly #largePages = new LRUCache<string, true>({ max: MAX_LARGE_PAGES, ttl: LARGE_PAGE_MS });

  constructor(address: ClickhouseAddress, options: EngineOptions) {
    super(options, TRAITS);
    const { statementTimeoutMs, streamTimeoutMs = NO_LIMITS, maxRowsRead = NO_LIMITS, warn } = options;
    this.#limits = { statementTimeoutMs, streamTimeoutMs, maxRowsRead };
    this.#connection = new ClickhouseConnection(address, warn);
    const limits = { timeoutMs: statementTimeoutMs, isStillNeeded: () => true };
    this.#settings = new RoleSettings((query) => this.#connection.text({ ...query, limits }));
    this.#querySlots = new QuerySlots(this.queries);
    this.#streamSlots = new QuerySlots(this.streams);
    this.#lookup = new RelationLookup(warn, (statement) => this.#read(statement));
    this.#health = new RoleHealth(this.#connection, this.#settings, { ...this.#limits, warn });
  }

  protected describe(relation: Relation): Promise<ResultColumns> {
    return this.#lookup.columns(relation);
  }

  protected async selectAggregate(
    query: ResolvedQuery,
    columns: ResultColumns,
    context: QueryContext,
    bounded: ResultColumns,
  ): Promise<AggregateResult> {
    const source = await this.#source(query, columns);
    const select = selectAggregate(source, bounded, query.selection);
    const read = this.#readerFor(query, context);
    const [row = {}] = await this.#withinLimit(source, context.tier, () =>
      read<Readonly<Record<string, unknown>>>(printed(select, "ndjson")),
    );
    return readAggregate(row, bounded);
  }

  override get degraded(): string | null {
    return this.#health.degraded;
  }

  isReachable(): Promise<boolean> {
    return this.#health.check();
  }

  async close(): Promise<void> {
    this.#querySlots.close();
    this.#streamSlots.close();
    await this.#connection.close();
  }

  async #source({ relation }: ResolvedQuery, columns: ResultColumns): Promise<Source> {
    return { relation, columns, settings: await this.#settings.own };
  }

  /** Buffers the result; streams it if it is too large. */
  protected async select(query: ResolvedQuery, columns: ResultColumns, context: QueryContext): Promise<Rows> {
    const { keyset } = query.selection;
    const source = await this.#source(query, columns);
    const select = (page: ResolvedQuery): Promise<Rows> => this.#selectPage(page, source, context);
    return this.#withinLimit(source, context.tier, () =>
      keyset === undefined
        ? select(query)
        : selectKeyed(query, keyset, source, { read: this.#readerFor(query, context), select }),
    );
  }

  /** Runs a query that may read no more rows than its tier. Rejects with `TooManyRows`. */
  async #withinLimit<T>({ relation, columns }: Source, tier: Tier, run: () => Promise<T>): Promise<T> {
    const limit = this.#limits.maxRowsRead[tier];
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
    const lease = await this.#querySlots.acquire(ticketOf(query, context), context.isStillNeeded);
    const rows = await holding(lease, async (): Promise<BufferedRows | null> => {
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
    const lease = await this.#streamSlots.acquire(ticketOf(query, context), context.isStillNeeded);
    try {
      const timeoutMs = this.#limits.streamTimeoutMs[context.tier];
      const running = await this.#run(query, source, context, lookAhead(limited), timeoutMs);
      const reader = await bodyReader(query.format, limit, running.exceptionTag);
      const chunks = await openStream({ running, reader, lease, budget: this.budget });
      return { kind: "stream", columns: servedColumns(source.columns, declared), chunks };
    } catch (cause) {
      lease.release();
      throw cause;
    }
  }

  /** `timeoutMs`: for the server, which counts the time in which the client does not read too. */
  async #run(
    query: ResolvedQuery,
    source: Source,
    { tier, isStillNeeded }: QueryContext,
    maxRows: number,
    timeoutMs: number,
  ): Promise<RunningQuery> {
    const { selection, format } = query;
    const served = servedColumns(source.columns, selection.columns);
    const select = selectRows(source, selection, { served, format, maxRows });
    const statement = printed(select, format);
    const isList = format === "json" || format === "json-strings";
    const settings = {
      ...(await this.#settings.toSend()),
      ...limitSettings({ tier, timeoutMs, maxRows: this.#limits.maxRowsRead[tier] }),
      ...(isList && LIST),
    };
    const limits = { timeoutMs: this.timeLimitOf(query), isStillNeeded };
    return this.#connection.run({ statement, settings, limits });
  }

  /** Reads the rows of statements on behalf of a query, within its time limit. */
  #readerFor(query: ResolvedQuery, context: QueryContext): ReadRows {
    const maxRows = this.#limits.maxRowsRead[context.tier];
    const timeoutMs = this.timeLimitOf(query);
    const { isStillNeeded } = context;
    const options = { ticket: ticketOf(query, context), isStillNeeded, timeoutMs, maxRows };
    return <Row>(statement: Statement): Promise<readonly Row[]> => this.#read<Row>(statement, options);
  }

  /** The rows of a statement in the format JSONEachRow. */
  async #read<Row>(statement: Statement, options: ReadOptions = {}): Promise<readonly Row[]> {
    const { ticket = LOOK_UP, isStillNeeded = () => true, maxRows = 0 } = options;
    const { timeoutMs = this.#limits.statementTimeoutMs } = options;
    const { tier } = ticket;
    const limits = { timeoutMs, isStillNeeded };
    const lease = await this.#querySlots.acquire(ticket, isStillNeeded);
    const text = await holding(lease, async () => {
      const settings = { ...(await this.#settings.toSend()), ...limitSettings({ tier, timeoutMs, maxRows }) };
      return this.#connection.text({ statement, settings, limits });
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
}

async function holding<T>(lease: Lease, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw translated(cause);
  } finally {
    lease.release();
  }
}

const LOOK_UP: QueryTicket = { callerId: "columns", tier: "tier3", relation: ["system", "columns"] };

function ticketOf({ relation }: ResolvedQuery, { callerId, tier }: QueryContext) {
  return { callerId, tier, relation };
}
