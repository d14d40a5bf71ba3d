import type { FilterParameter, Relation } from "../core/model/endpoint.js";
import type { ColumnCondition, Condition } from "../core/model/query.js";
import {
  BaseEngine,
  type EngineOptions,
  type EngineQuery,
  type FilteredColumn,
  type MadeQuery,
} from "../core/warehouse/base-engine.js";
import type { RelationLoad } from "../core/warehouse/data-versions.js";
import {
  DatabaseUnreachable,
  LockTimeout,
  Overloaded,
  QueryAbandoned,
  RelationMissing,
  SourceFailed,
} from "../core/warehouse/query-errors.js";
import { LOOK_UP } from "../core/warehouse/fair-queue.js";
import { servedOf } from "../core/warehouse/served-columns.js";
import {
  type AggregateResult,
  type DescribedRelation,
  type DescribedSelect,
  type ExplainedFilter,
  type QueryContext,
  joined,
  readAggregate,
  type ResultColumns,
  type Rows,
  type Warehouse,
} from "../core/warehouse/warehouse.js";
import { POSTGRES_AGGREGATES } from "./aggregates.js";
import { withoutClient } from "./connect.js";
import { ConnectionPool } from "./pool.js";
import { ControlConnection, inTime } from "./control-connection.js";
import { SessionSetup } from "./session.js";
import { MissingCharacters } from "./encoding.js";
import { withLabels } from "./enum-labels.js";
import {
  isConflict,
  isConnectionFailure,
  isRecoveryConflict,
  isRelationMissing,
  isSourceFailure,
  changeIn,
} from "./errors.js";
import { Explainer } from "./explain.js";
import { databaseType, filterType } from "./filter-types.js";
import {
  type MakeWriter,
  NoStreamPlace,
  type QueriedPage,
  PageReader,
  type StreamResources,
  writerOf,
} from "./page-reader.js";
import type { Statement } from "../core/warehouse/sql.js";
import { fieldFormats } from "./columns.js";
import { describe, describedRelation, describeSelect } from "./describe.js";
import { loadComments, relationLoads } from "./loads.js";
import { PreparedColumns, preparedOf } from "./prepared-columns.js";
import { aggregateColumns, selectAggregate, selectRows } from "./select.js";
import { preparedStatement, type StatementLimits } from "./statements.js";
import { fieldsOf } from "./rows.js";
import type { Reader } from "./run.js";
import { sleep } from "../core/model/timer.js";

/** Where columns are looked up. */
const COLUMNS: Relation = ["pg_catalog", "pg_attribute"];

/** The PostgreSQL warehouse. Values are the database's own text or number, from which rows are written: no digit is lost. */
export function openPostgres(options: EngineOptions): Warehouse {
  return new PostgresEngine(options);
}

class PostgresEngine extends BaseEngine {
  readonly #pool: ConnectionPool;
  readonly #resources: StreamResources = { budget: this.budget, open: new Set() };
  readonly #control: ControlConnection;
  readonly #missing = new MissingCharacters();
  readonly #url: string;
  #explainer: Explainer | null = null;
  protected override readonly aggregates = POSTGRES_AGGREGATES;
  protected readonly changeIn = changeIn;
  protected readonly filterTypeOf = filterType;
  protected readonly databaseTypeOf = databaseType;
  protected readonly translated = (error: unknown): Error => {
    if (isConnectionFailure(error)) return new DatabaseUnreachable(error);
    // Of a look-up of columns, which is not repeated.
    if (isConflict(error)) return conflictError(error);
    return isSourceFailure(error) ? new SourceFailed(error) : (error as Error);
  };

  constructor(options: EngineOptions) {
    super(options);
    const { url, statementTimeoutMs, warn } = options;
    this.#url = url;
    const onIdleError = (error: Error): void => warn(withoutClient(error), "database connection lost");
    const setup = new SessionSetup(statementTimeoutMs, (part, error) =>
      warn(
        error,
        `the database or its pooler refuses ${part} in the set-up of sessions: they work without it`,
      ),
    );
    this.#control = new ControlConnection({ url, setup, cursors: this.#resources.open, onIdleError });
    this.#pool = new ConnectionPool({
      url,
      statementTimeoutMs,
      setup,
      queue: this.queries,
      streams: this.streams,
      cancelBackend: (pid) => this.#control.cancel(pid),
      onIdleError,
    });
    this.#control.watch(this.#pool);
  }

  /** What runs a query again is made when it fails: most queries succeed, and its promises cost them time. */
  protected select(query: EngineQuery, columns: ResultColumns, context: QueryContext): Promise<Rows> {
    const since = performance.now();
    const again = (first: Promise<Rows> | null): Promise<Rows> => {
      let failed = this.#missing.isEmpty ? first : null;
      return retryConflicts(since + (this.timeLimitOf(query) || Infinity), context, () =>
        this.#storable(query, (storable) => {
          const rows = failed ?? this.#select(storable, columns, context);
          failed = null;
          return rows;
        }),
      );
    };
    if (!this.#missing.isEmpty) return again(null);
    const first = this.#select(query, columns, context);
    return first.catch(() => again(first));
  }

  protected async selectAggregate(
    query: EngineQuery,
    columns: ResultColumns,
    context: QueryContext,
    bounded: ResultColumns,
  ): Promise<AggregateResult> {
    const prepared = new PreparedColumns(aggregateColumns(bounded));
    const { columns: result } = prepared;
    const makeWriter = await writerOf(prepared, "json");
    const read = ({ selection, ...storable }: EngineQuery): Promise<Rows> => {
      const statement = selectAggregate(storable, columns, bounded, selection);
      const page = {
        statement,
        query: { ...storable, selection: { ...selection, page: null } },
        columns: result,
        context,
      };
      return this.#read(page, makeWriter);
    };
    const until = performance.now() + (this.timeLimitOf(query) || Infinity);
    const rows = await retryConflicts(until, context, () => this.#storable(query, read));
    const text = rows.kind === "buffered" ? joined(rows.parts).toString() : "{}";
    return readAggregate(JSON.parse(text) as Readonly<Record<string, unknown>>, bounded);
  }

  /** Values that the database cannot hold, in its encoding or as labels of an enum, equal no row. */
  #storable<T>(query: EngineQuery, run: (query: EngineQuery) => Promise<T>): Promise<T> {
    return this.#missing.query(query, (storable) =>
      withLabels(storable, run, (statement) => this.#oneText(statement)),
    );
  }

  /** Runs the query as a stream from its start if its rows are too many while no place for a stream is free. */
  #select(query: EngineQuery, columns: ResultColumns, context: QueryContext): Promise<Rows> {
    const { selection, format } = query;
    const prepared = preparedOf(servedOf(columns, selection.columns));
    const statement = selectRows(query, columns, selection);
    const page = { statement, query, columns: prepared.columns, context };
    const makeWriter = writerOf(prepared, format);
    return makeWriter instanceof Promise
      ? makeWriter.then((made) => this.#readPage(page, made))
      : this.#readPage(page, makeWriter);
  }

  #readPage(page: QueriedPage, makeWriter: MakeWriter): Promise<Rows> {
    return this.#read(page, makeWriter).catch((error: unknown) => {
      if (!(error instanceof NoStreamPlace)) throw error;
      return this.#read({ ...page, isStream: true }, makeWriter);
    });
  }

  #read(page: QueriedPage, makeWriter: MakeWriter): Promise<Rows> {
    const { statement, query, context, isStream } = page;
    const { caller, isStillNeeded } = context;
    return new Promise((resolve, reject) => {
      const resources = this.#resources;
      const reader = new PageReader(page, { makeWriter, resources, resolve, reject });
      const queued = { caller, isStillNeeded, relation: query.relation };
      const limits = { timeoutMs: query.timeoutMs, isStillNeeded };
      const { prepared } = statement.planned;
      this.#pool.run({ statement, prepared, queued, limits, reader, isStream });
    });
  }

  protected describe(relation: Relation): Promise<DescribedRelation> {
    return this.#described(describe(relation), relation);
  }

  protected override async describeSelect(select: DescribedSelect): Promise<DescribedRelation> {
    const [relation = COLUMNS] = select.relations;
    try {
      return await this.#described(describeSelect(select), relation);
    } catch (error) {
      throw isRelationMissing(error) ? new RelationMissing(relation.join(".")) : error;
    }
  }

  async loads(relations: readonly Relation[]): Promise<readonly RelationLoad[]> {
    return relationLoads(await this.#oneText(loadComments(relations)), relations);
  }

  override async lastLoad(...of: Parameters<Warehouse["lastLoad"]>) {
    const { LAST_LOAD_MS, lastLoadIn, selectLastLoad } = await import("./last-load.js");
    return lastLoadIn(await this.#oneText(selectLastLoad(...of), LAST_LOAD_MS));
  }

  #oneText(statement: Statement, timeoutMs = 0): Promise<string | null> {
    const queued = { ...LOOK_UP, relation: COLUMNS };
    const limits: StatementLimits = { timeoutMs, isStillNeeded: LOOK_UP.isStillNeeded };
    const prepared = preparedStatement(statement.text);
    return new Promise((resolve, reject) => {
      this.#pool.run({ statement, prepared, queued, limits, reader: new OneText(resolve, reject) });
    });
  }

  async #described(statement: Statement, relation: Relation): Promise<DescribedRelation> {
    const text = await this.#oneText(statement);
    const found = text === null ? null : describedRelation(text);
    if (found === null || found.columns.length === 0) throw new RelationMissing(relation.join("."));
    return found;
  }

  protected explain(
    relation: Relation,
    filter: ExplainedFilter,
    columns: ResultColumns,
  ): Promise<boolean | null> {
    this.#explainer ??= new Explainer(this.#url);
    const all = { conditions: [], sort: [], page: null };
    const conditions = "column" in filter ? [anyValue(filter)] : filter;
    return this.#explainer.usesIndex(
      selectRows({ relation }, columns, { ...all, conditions }),
      selectRows({ relation }, columns, all),
    );
  }

  protected async explainGroups(
    _filtered: FilteredColumn,
    filter: FilterParameter,
    make: (condition: Condition | null) => Promise<MadeQuery>,
  ): Promise<boolean | null> {
    this.#explainer ??= new Explainer(this.#url);
    const [filtered, all] = await Promise.all([make(anyValue(filter)), make(null)]);
    return this.#explainer.groupsUseIndex(
      selectRows(filtered.query, filtered.columns, filtered.query.selection),
      selectRows(all.query, all.columns, all.query.selection),
    );
  }

  protected async responds(): Promise<boolean> {
    const [responds, isConnected] = await Promise.all([
      this.#control.ping(),
      inTime(this.#pool.isConnected()),
    ]);
    return responds && isConnected;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#explainer?.close();
    await this.#pool.close();
    // Until then it cancels their queries.
    await this.#control.close();
  }
}

const conflictError = (error: unknown): Error =>
  isRecoveryConflict(error) ? new Overloaded("recovery") : new LockTimeout(error);

/** Pauses between the attempts at a query; they double up to the longest. */
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1000;

/**
 * Runs a query again while another session locks its relation, or recovery cancels it, up to `until`, a time of `performance.now()`. In between it holds no
 * connection, and its caller is not charged: with 40 callers that wait for a locked table, their other queries took 6.8 s
 * when each waited on its connection.
 */
function retryConflicts<T>(until: number, context: QueryContext, run: () => Promise<T>): Promise<T> {
  const attempt = (pauseMs: number): Promise<T> =>
    run().catch(async (error: unknown) => {
      if (!isConflict(error)) throw error;
      if (!context.isStillNeeded()) throw new QueryAbandoned();
      if (performance.now() + pauseMs > until) throw conflictError(error);
      await sleep(pauseMs);
      return attempt(Math.min(2 * pauseMs, LONGEST_PAUSE_MS));
    });
  return attempt(FIRST_PAUSE_MS);
}

/** Reads a statement of one row with one field. Without a row it fails: what was not answered is not taken for null. */
class OneText implements Reader {
  readonly mayBeLong = false;
  readonly formats = fieldFormats([]);
  readonly #resolve: (text: string | null) => void;
  readonly #reject: (error: Error) => void;
  #text: string | null | undefined;

  constructor(resolve: (text: string | null) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(): void {
    this.#text = undefined;
  }

  row(frame: Buffer, offset: number): void {
    this.#text = fieldsOf(frame, offset, 1)[0]?.toString() ?? null;
  }

  end(error: Error | null): void {
    if (this.#text !== undefined && error === null) this.#resolve(this.#text);
    else this.#reject(error ?? new Error("PostgreSQL has answered a look-up without a row."));
  }
}

/** The text of a statement is the same for any value. */
function anyValue(filter: FilterParameter): ColumnCondition {
  return { ...filter, value: filter.type === "string_list" ? ["1"] : "1" };
}
