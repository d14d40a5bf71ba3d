import { setTimeout as pause } from "node:timers/promises";
import type { Relation } from "../../model/endpoint.js";
import type { HttpError } from "../../model/errors.js";
import type { Condition, ResolvedQuery } from "../../model/query.js";
import { Overloaded, type QueryTicket } from "../fair-queue.js";
import { Relations, servedColumns } from "../relations.js";
import type { SharedResource } from "../shares.js";
import type { Statement } from "../sql.js";
import {
  type AggregateResult,
  DatabaseUnreachable,
  framedRows,
  type HasStorage,
  QueryAbandoned,
  type QueryContext,
  QueryTimeout,
  readAggregate,
  RelationMissing,
  type ResultColumn,
  type ResultColumns,
  type Rows,
  sumOfLoads,
  type Warehouse,
  type WarehouseLoad,
} from "../warehouse.js";
import { withoutClient } from "./connect.js";
import { ConnectionPool } from "./pool.js";
import { ControlConnection } from "./control.js";
import { isConnectionFailure, isLockConflict, isRelationChange } from "./errors.js";
import { loadWriter, type MakeWriter, textWriter } from "./encoders.js";
import { checkConditions } from "./filter-types.js";
import { LivenessCheck } from "./liveness-check.js";
import { NoStreamPlace, PageReader, type StreamResources } from "./page-reader.js";
import { describe } from "./columns.js";
import { aggregateColumns, rowFields, selectAggregate, selectRows } from "./select.js";
import type { QueryLimits } from "./statements.js";
import { fieldTexts } from "./rows.js";
import type { Reader } from "./run.js";
import { SpoolBudget } from "../spool.js";

/** Queue lengths for queries and for streams. */
const MAX_WAITING = 1000;
const MAX_WAITING_STREAMS = 100;

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
  readonly #pool: ConnectionPool;
  readonly #streams: StreamResources;
  readonly #control: ControlConnection;
  readonly #liveness: LivenessCheck;
  readonly #relations: Relations;
  readonly #statementTimeoutMs: number;

  constructor(options: PostgresOptions & typeof POOL_DEFAULTS) {
    const { url, statementTimeoutMs, onIdleError } = options;
    this.#statementTimeoutMs = statementTimeoutMs;
    const describe = (relation: Relation): Promise<ResultColumns> => this.#describe(relation);
    this.#relations = new Relations({ describe, isRelationChange });
    const report = (error: Error): void => onIdleError(withoutClient(error));
    this.#pool = new ConnectionPool({
      url,
      statementTimeoutMs,
      size: options.poolSize,
      maxWaiting: MAX_WAITING,
      streams: {
        size: options.streamPoolSize,
        maxWaiting: MAX_WAITING_STREAMS,
        perCaller: options.streamsPerCaller,
      },
      memory: options.memory,
      cancelBackend: (pid) => this.#control.cancel(pid),
      onIdleError: report,
    });
    const budget = new SpoolBudget(SPOOL_MEMORY_BYTES, options.spoolMegabytes * 1024 * 1024);
    this.#streams = { budget, open: new Set() };
    this.#control = new ControlConnection(url, this.#streams.open, report);
    this.#liveness = new LivenessCheck(this.#pool, () => this.#control.ping());
  }

  get load(): WarehouseLoad {
    return sumOfLoads([this.#pool.queue.load, this.#pool.streams.load]);
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
      const statement = selectAggregate(relation, columns, bounded, selection);
      const result = aggregateColumns(bounded);
      const plain = { ...query, selection: { ...selection, page: null } };
      const fields = { count: result.length, keys: null };
      const rows = await this.#read(
        { statement, query: plain, columns: result, fields, context },
        textWriter(result, "json") as MakeWriter,
      );
      const text = rows.kind === "buffered" ? framedRows(rows.text).toString() : "{}";
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
      throw asUnreachable(error);
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

  /** Runs the query as a stream from its start if its rows are too many while no place for a stream is free. */
  async #select(query: ResolvedQuery, columns: ResultColumns, context: QueryContext): Promise<Rows> {
    const { relation, selection, format } = query;
    const served = servedColumns(columns, selection.columns);
    const statement = selectRows(relation, columns, selection);
    const page = { statement, query, columns: served, fields: rowFields(columns, selection), context };
    const makeWriter = textWriter(served, format) ?? (await loadWriter(served, format));
    try {
      return await this.#read(page, makeWriter);
    } catch (error) {
      if (!(error instanceof NoStreamPlace)) throw error;
      return this.#read({ ...page, isStream: true }, makeWriter);
    }
  }

  #read(
    { statement, query, columns, fields, context, isStream }: PageQuery,
    makeWriter: MakeWriter,
  ): Promise<Rows> {
    const { callerId, tier, isStillNeeded } = context;
    return new Promise((resolve, reject) => {
      const { count, keys } = fields;
      const resources = this.#streams;
      const reader = new PageReader({
        query,
        columns,
        fields: count,
        keys,
        makeWriter,
        resources,
        resolve,
        reject,
      });
      const ticket = { callerId, tier, relation: query.relation };
      const limits = { timeoutMs: query.timeoutMs, isStillNeeded };
      this.#pool.run({ statement, ticket, limits, reader, ...(isStream && { isStream }) });
    });
  }

  async #describe(relation: Relation): Promise<ResultColumns> {
    const ticket: QueryTicket = {
      callerId: "columns",
      tier: "tier3",
      relation: ["pg_catalog", "pg_attribute"],
    };
    const limits: QueryLimits = { timeoutMs: 0, isStillNeeded: () => true };
    const text = await new Promise<string | null>((resolve, fail) => {
      const reject = (error: Error): void => fail(asUnreachable(error));
      this.#pool.run({ statement: describe(relation), ticket, limits, reader: new OneText(resolve, reject) });
    });
    if (text === null) throw new RelationMissing(relation.join("."));
    return JSON.parse(text) as ResultColumn[];
  }

  isReachable(): Promise<boolean> {
    return this.#control.ping();
  }

  async close(): Promise<void> {
    this.#liveness.close();
    await this.#pool.close();
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

function asUnreachable(error: unknown): Error {
  return isConnectionFailure(error) ? new DatabaseUnreachable(error) : (error as Error);
}

/** A page to read. */
interface PageQuery {
  readonly statement: Statement;
  readonly query: ResolvedQuery;
  readonly columns: ResultColumns;
  readonly fields: { readonly count: number; readonly keys: readonly number[] | null };
  readonly context: QueryContext;
  readonly isStream?: boolean;
}

/** Reads a statement of one row with one field; null without a row. */
class OneText implements Reader {
  readonly partRows = 0;
  readonly nextPartRows = 0;
  readonly #resolve: (text: string | null) => void;
  readonly #reject: (error: Error) => void;
  #text: string | null = null;

  constructor(resolve: (text: string | null) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(): void {
    this.#text = null;
  }

  row(frame: Buffer, offset: number): void {
    this.#text = fieldTexts(frame, offset, 1)[0] ?? null;
  }

  wantsMore(): boolean {
    return false;
  }

  end(error: Error | null): void {
    if (error) this.#reject(error);
    else this.#resolve(this.#text);
  }
}
