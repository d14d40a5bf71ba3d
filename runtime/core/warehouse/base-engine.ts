import { columnNamed } from "../model/column-names.js";
import { recent, shared } from "../model/timer.js";
import { SERVER_DEFAULTS } from "../model/limits.js";
import type { FilterParameter, Relation } from "../model/endpoint.js";
import type { HttpError } from "../model/errors.js";
import type { LastLoadSql } from "../model/freshness.js";
import type { ValueKind } from "../model/column-types.js";
import type { DatabaseType } from "../model/database-types.js";
import {
  type ColumnCondition,
  type Condition,
  isGroup,
  type ResolvedQuery,
  type Selection,
} from "../model/query.js";
import type { PerTier } from "../model/tier.js";
import type { RelationLoad } from "./data-versions.js";
import { FairQueue } from "./fair-queue.js";
import type { FilterType } from "./filter-type.js";
import type { AskedGrouping } from "../model/aggregate/aggregate.js";
import type { AggregateDialect, GroupsSource, PreparedGrouping } from "./aggregate-dialect.js";
import { Groupings, readBy } from "./groupings.js";
import { loadMetrics } from "./load-metrics.js";
import { SchemaCache } from "./schema-cache.js";
import { typeCondition } from "./typed-condition.js";
import { explainedIn, withDeclaredNames, withNamesOf } from "./served-columns.js";
import type { SharedResource } from "./caller-shares.js";
import { resolved } from "./sql.js";
import { Budget, type SpoolBudget } from "./spool.js";
import {
  type ColumnChange,
  ColumnMissing,
  DatabaseUnreachable,
  QueryTimeout,
  ValueRefused,
} from "./query-errors.js";
import type {
  AggregateResult,
  DescribedRelation,
  DescribedSelect,
  ExplainedFilter,
  LastLoad,
  QueryColumns,
  QueryContext,
  ResultColumn,
  ResultColumns,
  Rows,
  Warehouse,
  WarehouseLoad,
} from "./warehouse.js";

export interface EngineOptions {
  /** Address of the database. */
  readonly url: string;
  /** Upper bound of every query's time limit; 0: none. */
  readonly statementTimeoutMs: number;
  /** Time limit of a stream in the database; 0: none. For engines that have one. */
  readonly streamTimeoutMs?: Readonly<PerTier<number>>;
  /** Rows that a query may read; 0: no limit. For engines that have one. */
  readonly maxRowsRead?: Readonly<PerTier<number>>;
  /** Queries with buffered results that run at a time. Default 10. */
  readonly databasePoolSize?: number | undefined;
  /** Streams that run at a time. Default 4. */
  readonly databaseStreamPoolSize?: number | undefined;
  /** Streams that one caller may read at a time. Default 2. */
  readonly streamsPerCaller?: number | undefined;
  /** Disk space for rows that streams have read ahead of their clients; 0: none. Default 1024. */
  readonly streamSpoolMegabytes?: number | undefined;
  /** Memory for responses. */
  readonly memory?: SharedResource | undefined;
  /** Receives what an operator should know although queries succeed. */
  readonly warn: (error: Error, message: string) => void;
  /** Called with the columns of a relation once per build, when they are looked up. */
  readonly onColumns?: (relation: Relation, columns: ResultColumns) => void;
  readonly rollUpVersion?: (node: string) => string | null;
}

export type OpenEngine = (options: EngineOptions) => Warehouse;

/** A query as an engine runs it: from its relation, or from a statement over relations. */
export type EngineQuery = ResolvedQuery & GroupsSource;

/** The column of a relation that a filter of groups compares with. */
export interface FilteredColumn {
  readonly relation: Relation;
  readonly column: string;
  readonly columns: ResultColumns;
}

export interface MadeQuery {
  readonly query: EngineQuery;
  readonly columns: ResultColumns;
}

/** Queue lengths for queries and for streams. */
const MAX_WAITING = 1000;
const MAX_WAITING_STREAMS = 100;

/** Memory for rows that streams have read ahead. */
const SPOOL_MEMORY_BYTES = 32 * 1024 * 1024;

/**
 * What every engine needs: relations and their columns, the check of what filters compare, queues with the shares of callers, overload, room for streams.
 * An engine extends it with what its database needs (runtime/core/warehouse/README.md).
 */
export abstract class BaseEngine implements Warehouse {
  /** Queries with buffered results, and streams. */
  protected readonly queries: FairQueue;
  protected readonly streams: FairQueue;
  protected readonly budget: SpoolBudget;
  readonly #relations: SchemaCache;
  readonly #statementTimeoutMs: number;
  readonly #groupings: Groupings;
  readonly #checkNow = shared(() => this.responds());
  /** Nothing limits how often `/health` is asked: of 600 requests at once 535 were 503 on PostgreSQL and 577 on ClickHouse. */
  readonly isReachable = recent(this.#checkNow);

  constructor(options: EngineOptions) {
    const {
      databasePoolSize = SERVER_DEFAULTS.databasePoolSize,
      databaseStreamPoolSize = SERVER_DEFAULTS.databaseStreamPoolSize,
      streamsPerCaller = SERVER_DEFAULTS.streamsPerCaller,
      streamSpoolMegabytes = SERVER_DEFAULTS.streamSpoolMegabytes,
      memory,
    } = options;
    this.#statementTimeoutMs = options.statementTimeoutMs;
    this.queries = new FairQueue({ capacity: databasePoolSize, maxWaiting: MAX_WAITING, memory });
    this.streams = new FairQueue({
      capacity: databaseStreamPoolSize,
      maxWaiting: MAX_WAITING_STREAMS,
      perCaller: streamsPerCaller,
    });
    const disk = new Budget(streamSpoolMegabytes * 1024 * 1024);
    this.budget = { memory: new Budget(SPOOL_MEMORY_BYTES), disk };
    this.#relations = new SchemaCache({
      describe: (relation) => this.describe(relation).catch(this.#fail),
      changeIn: (error) => (error instanceof ColumnMissing ? "possible" : this.changeIn(error)),
      onColumns: options.onColumns ?? (() => undefined),
    });
    this.#groupings = new Groupings({
      dialect: () => this.aggregates,
      relations: this.#relations,
      describe: (select) => this.describeSelect(select).catch(this.#fail),
      changeIn: (error) => this.changeIn(error),
      rollUpVersion: options.rollUpVersion ?? (() => null),
    });
  }

  /** Looks a relation up. Rejects with `RelationMissing` when it does not exist. */
  protected abstract describe(relation: Relation): Promise<DescribedRelation>;
  /** How the engine writes statements of groups; an engine without it serves no aggregates. */
  protected readonly aggregates: AggregateDialect | null = null;

  /** The columns of a statement. Rejects with `RelationMissing` where a relation of it does not exist. */
  protected describeSelect({ relations }: DescribedSelect): Promise<DescribedRelation> {
    return Promise.reject(new Error(`The engine cannot aggregate ${relations.join(", ")}.`));
  }

  lastLoad(relation: Relation, load: LastLoadSql): Promise<LastLoad> {
    return Promise.reject(new Error(`The engine cannot ask ${relation.join(".")} for ${load.latest}.`));
  }

  /** Rejects with `Overloaded` when it gets no connection. */
  protected abstract select(query: EngineQuery, columns: ResultColumns, context: QueryContext): Promise<Rows>;
  protected abstract selectAggregate(
    query: EngineQuery,
    columns: ResultColumns,
    context: QueryContext,
    bounded: ResultColumns,
  ): Promise<AggregateResult>;
  /** As `usesIndex`. */
  protected abstract explain(
    relation: Relation,
    filter: ExplainedFilter,
    columns: ResultColumns,
  ): Promise<boolean | null>;
  /** As `explain`, of the statement of groups that `make` makes with a condition, or without one. */
  protected abstract explainGroups(
    filtered: FilteredColumn,
    filter: FilterParameter,
    make: (condition: Condition | null) => Promise<MadeQuery>,
  ): Promise<boolean | null>;
  /** Asks the database whether it responds within a short time. */
  protected abstract responds(): Promise<boolean>;
  abstract loads(relations: readonly Relation[]): Promise<readonly RelationLoad[]>;
  /** What an error says of the relation and columns that its statement was built for. */
  protected abstract readonly changeIn: (error: unknown) => ColumnChange;
  /** The error as every engine reports it (`query-errors.ts`); others are as they were. */
  protected abstract readonly translated: (error: unknown) => Error;
  /** How a filter compares with a column, and what the table of types says of it. */
  protected abstract readonly filterTypeOf: (column: ResultColumn) => FilterType;
  protected abstract readonly databaseTypeOf: (column: ResultColumn) => DatabaseType;

  close(): Promise<void> {
    this.queries.close();
    this.streams.close();
    return Promise.resolve();
  }

  rows(query: ResolvedQuery, context: QueryContext): Promise<Rows> {
    const rows = this.#query(query, context, (own, columns) => this.select(own, columns, context));
    return rows.then(withDeclaredNames);
  }

  aggregate(query: ResolvedQuery, context: QueryContext, bounded: ResultColumns): Promise<AggregateResult> {
    return this.#query(query, context, (own, columns) =>
      this.selectAggregate(own, columns, context, bounded),
    );
  }

  /** Runs a query with the relation's own names of its columns. */
  async #query<T>(
    query: ResolvedQuery,
    context: QueryContext,
    run: (query: EngineQuery, columns: ResultColumns) => Promise<T>,
  ): Promise<T> {
    try {
      if (query.selection.grouping !== undefined)
        return await this.#groupings.run(query.selection, context, (prepared, columns) =>
          run(this.#grouped(query, prepared, columns), columns),
        );
      return await this.#relations.query(query.relation, context, (columns) => {
        const own = withNamesOf(query, columns);
        this.#requireValues(own.selection.conditions, [columns]);
        return run(own, columns);
      });
    } catch (error) {
      return await this.#fail(error);
    }
  }

  /** Rejects with the error as every engine reports it. A timeout without an error of the database (`cause`) may mean a lost server: one check tells, for all such queries. */
  readonly #fail = async (error: unknown): Promise<never> => {
    const failure = this.translated(error);
    if (!(failure instanceof QueryTimeout) || failure.cause !== undefined) throw failure;
    const responds = (await this.#checkNow()) || this.degraded !== null;
    throw responds ? failure : new DatabaseUnreachable(failure);
  };

  /** Columns may have become others since the query was checked: its values would equal no row. */
  #requireValues(conditions: readonly Condition[], compared: readonly ResultColumns[]): void {
    for (const columns of compared) {
      const refusal = this.check(conditions, columns);
      if (refusal !== null) throw new ValueRefused(refusal);
    }
  }

  #grouped(
    query: ResolvedQuery,
    { select, read, compared: comparedOf, isOfStored }: PreparedGrouping,
    results: ResultColumns,
  ): EngineQuery {
    const compared = comparedOf(results);
    this.#requireValues(query.selection.conditions, compared);
    const { select: statement, columns: fromColumns } = select(results);
    const from = () => resolved(statement, query.selection);
    return { ...query, from, fromColumns, read, ...(isOfStored && { compared }) };
  }

  expireColumns({ relation, selection }: ResolvedQuery): void {
    this.#relations.expire(selection.grouping === undefined ? [relation] : readBy(selection));
  }

  columnsOf({ relation, selection }: ResolvedQuery, version: string | null) {
    if (selection.grouping !== undefined) {
      const context = { version, isStillNeeded: () => true };
      const asked = this.#groupings.run(selection, context, ({ compared }, columns) =>
        Promise.resolve({ columns, compared: compared(columns) }),
      );
      return asked.catch(this.#fail);
    }
    const columns = this.columns(relation, version);
    return columns instanceof Promise ? columns.then(allOf) : allOf(columns);
  }

  /** The shorter of the query's own time limit and that of every query; 0: none. */
  protected timeLimitOf({ timeoutMs }: Pick<ResolvedQuery, "timeoutMs">): number {
    const limits = [timeoutMs, this.#statementTimeoutMs].filter((limit) => limit > 0);
    return limits.length === 0 ? 0 : Math.min(...limits);
  }

  columns(relation: Relation, version: string | null): ResultColumns | Promise<ResultColumns> {
    return this.#relations.columns(relation, version);
  }

  valuesOf(column: ResultColumn): ValueKind {
    return this.databaseTypeOf(column).value;
  }

  check(conditions: readonly Condition[], columns: ResultColumns): HttpError | null {
    for (const condition of conditions) {
      const error = isGroup(condition)
        ? this.check(condition.of, columns)
        : this.#typeCondition(condition, columns);
      if (error !== null) return error;
    }
    return null;
  }

  #typeCondition(condition: ColumnCondition, columns: ResultColumns): HttpError | null {
    const column = columnNamed(columns, condition.column);
    if (column === undefined) return null;
    return typeCondition(condition, this.databaseTypeOf(column), () => this.filterTypeOf(column));
  }

  async usesIndex(
    relation: Relation,
    filter: ExplainedFilter,
    grouping?: AskedGrouping,
  ): Promise<boolean | null> {
    try {
      if (grouping !== undefined && "column" in filter)
        return await this.#groupingUsesIndex(relation, filter, grouping);
      const columns = await this.columns(relation, null);
      return await this.explain(relation, explainedIn(columns, filter), columns);
    } catch (error) {
      return await this.#fail(error);
    }
  }

  /** By the column of the first fact: the value of a filter is one that it has. */
  async #groupingUsesIndex(
    relation: Relation,
    filter: FilterParameter,
    grouping: AskedGrouping,
  ): Promise<boolean | null> {
    const { filteredColumn } = await loadMetrics();
    const filtered = filteredColumn(grouping, filter.column);
    if (filtered === null) return null;
    const columns = await this.columns(filtered.relation, null);
    const column = columnNamed(columns, filtered.column)?.name ?? filtered.column;
    return this.explainGroups({ ...filtered, column, columns }, filter, async (condition) => {
      const selection: Selection = { grouping, conditions: [condition ?? []].flat(), sort: [], page: null };
      const query: ResolvedQuery = { relation, selection, format: "json", timeoutMs: 0 };
      const { source, select } = await this.#groupings.prepare(selection, null);
      const columns = await this.#relations.columns(source, null);
      return { query: { ...query, from: () => resolved(select(columns).select, selection) }, columns };
    });
  }

  checkRelations(relations: readonly Relation[]): Promise<void> {
    return this.#relations.check(relations);
  }

  get missingRelations(): readonly string[] {
    return this.#relations.missing;
  }

  reasonMissing(name: string): string | null {
    return this.#relations.reasonMissing(name);
  }

  knownColumns(relation: Relation): ResultColumns | null {
    return this.#relations.known(relation);
  }

  get load(): WarehouseLoad {
    const [queries, streams] = [this.queries.load, this.streams.load];
    return {
      running: queries.running + streams.running,
      waiting: queries.waiting + streams.waiting,
      started: queries.started + streams.started,
      waitedMs: queries.waitedMs + streams.waitedMs,
    };
  }

  get degraded(): string | null {
    return null;
  }
}

const allOf = (columns: ResultColumns): QueryColumns => ({ columns, compared: [columns] });
