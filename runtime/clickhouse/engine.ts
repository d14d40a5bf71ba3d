import type { FilterParameter, Relation } from "../core/model/endpoint.js";
import { type ColumnCondition, type Condition, isTable, type ResolvedQuery } from "../core/model/query.js";
import { type PerTier, TIERS } from "../core/model/tier.js";
import { type ClickhouseAddress, clickhouseAddress } from "../core/model/clickhouse-address.js";
import {
  BaseEngine,
  type EngineOptions,
  type EngineQuery,
  type FilteredColumn,
  type MadeQuery,
} from "../core/warehouse/base-engine.js";
import type { RelationLoad } from "../core/warehouse/data-versions.js";
import { type Lease, LOOK_UP, type QueuedQuery } from "../core/warehouse/fair-queue.js";
import { freeMemory } from "../core/warehouse/free-memory.js";
import { servedOf } from "../core/warehouse/served-columns.js";
import { sql, type Statement } from "../core/warehouse/sql.js";
import {
  type AggregateResult,
  type DescribedRelation,
  type DescribedSelect,
  type ExplainedFilter,
  readAggregate,
  type QueryContext,
  type ResultColumn,
  type ResultColumns,
  type Rows,
  type Warehouse,
} from "../core/warehouse/warehouse.js";
import { CLICKHOUSE_AGGREGATES } from "./aggregates.js";
import { RelationLookup } from "./relation-lookup.js";
import { ClickhouseConnection } from "./connection.js";
import { changeIn, ClickhouseError, translated } from "./errors.js";
import { usesIndex } from "./explain.js";
import { databaseType, filterType, parseType } from "./filter-types.js";
import { nextRow, selectGroups, selectKeyed } from "./keyed-pages.js";
import { relationLoads } from "./loads.js";
import { finished } from "./parameters.js";
import { printed, selectAggregate, selectRows, type SelectSource, sourceOf } from "./select.js";
import { RoleSettings, ROW_FORMS, rowFormOf, withinLimit } from "./settings.js";
import type { ReadRows } from "./scanned-rows.js";
import {
  bodyReader,
  lookAhead,
  openStream,
  readFirst,
  type RunningQuery,
  type TimeLimits,
} from "./stream.js";

/** What queries may use of the server. */
type ReadLimits = Required<Pick<EngineOptions, "streamTimeoutMs" | "maxRowsRead">>;

/** A health check waits so long for its queries. */
const CHECK_MS = 3000;
const ANY_ROW = finished(sql`SELECT 1`);

const NO_LIMITS: Readonly<PerTier<number>> = { tier0: 0, tier1: 0, tier2: 0, tier3: 0 };

/** The ClickHouse warehouse. Rows go to the client as the bytes that ClickHouse prints. */
export function openClickhouse(options: EngineOptions): Warehouse {
  const address = clickhouseAddress(options.url);
  if (address === null) throw new Error("Not the address of a ClickHouse database.");
  return new ClickhouseEngine(address, options);
}

class ClickhouseEngine extends BaseEngine {
  readonly #limits: ReadLimits;
  readonly #connection: ClickhouseConnection;
  readonly #lookup: RelationLookup;
  readonly #settings: RoleSettings;
  readonly #warn: EngineOptions["warn"];
  #isRefused = false;
  protected override readonly aggregates = CLICKHOUSE_AGGREGATES;
  protected readonly changeIn = changeIn;
  protected readonly translated = translated;
  protected readonly filterTypeOf = ({ type }: ResultColumn) => filterType(parseType(type));
  protected readonly databaseTypeOf = ({ type, states }: ResultColumn) =>
    databaseType(states === undefined ? type : "AggregateFunction");

  constructor(address: ClickhouseAddress, options: EngineOptions) {
    super(options);
    const { statementTimeoutMs, streamTimeoutMs = NO_LIMITS, maxRowsRead = NO_LIMITS, warn } = options;
    this.#limits = { streamTimeoutMs, maxRowsRead };
    this.#connection = new ClickhouseConnection(address, warn);
    const limits = { timeoutMs: statementTimeoutMs, isStillNeeded: LOOK_UP.isStillNeeded };
    this.#settings = new RoleSettings((query) => this.#connection.text({ ...query, limits }));
    // A look-up serves all callers: it has no caller's limits.
    const lookUp = { ...limits, queued: { ...LOOK_UP, relation: COLUMNS }, maxRows: 0 };
    this.#lookup = new RelationLookup({
      read: (statement) => this.#read(statement, lookUp),
      isLimited: Object.values(maxRowsRead).some((limit) => limit > 0),
      warn,
    });
    this.#warn = warn;
  }

  protected describe(relation: Relation): Promise<DescribedRelation> {
    return this.#lookup.describe(relation);
  }

  protected override describeSelect(select: DescribedSelect): Promise<DescribedRelation> {
    return this.#lookup.describeSelect(select);
  }

  loads(relations: readonly Relation[]): Promise<readonly RelationLoad[]> {
    return relationLoads(this.#explaining(), relations);
  }

  override async lastLoad(...of: Parameters<Warehouse["lastLoad"]>) {
    const { LAST_LOAD_MS, readLastLoad } = await import("./last-load.js");
    return readLastLoad(this.#explaining(LAST_LOAD_MS), ...of);
  }

  protected async selectAggregate(
    query: EngineQuery,
    columns: ResultColumns,
    context: QueryContext,
    bounded: ResultColumns,
  ): Promise<AggregateResult> {
    const source = await this.#source(query, columns);
    const select = selectAggregate(source, bounded, query.selection);
    const read = this.#readerFor(query, context);
    const [row = {}] = await withinLimit(source, query, () =>
      read<Readonly<Record<string, unknown>>>(printed(select, "ndjson")),
    );
    return readAggregate(row, bounded);
  }

  override get degraded(): string | null {
    return this.#isRefused ? "The database refuses the queries of the role; the log has the reason." : null;
  }

  /** Whether the server responds, and runs queries of the role with the limits of each tier. */
  protected async responds(): Promise<boolean> {
    if (!(await this.#connection.isUp())) return (this.#isRefused = false);
    const failure = await this.#checkRole().then(
      () => null,
      (error: unknown) => error as Error,
    );
    const isRefused = failure instanceof ClickhouseError;
    if (isRefused && !this.#isRefused) this.#warn(failure, "ClickHouse refuses the queries of the role");
    this.#isRefused = isRefused;
    return failure === null;
  }

  /** Fails where a constraint of the role's profile refuses the limits of a tier or the settings of a format: each such query would fail. */
  async #checkRole(): Promise<void> {
    const { streamTimeoutMs, maxRowsRead } = this.#limits;
    const limits = { timeoutMs: CHECK_MS, isStillNeeded: () => true };
    await Promise.all(
      Array.from({ length: Math.max(TIERS.length, ROW_FORMS.length) }, async (_, i) => {
        const tier = TIERS[i % TIERS.length] ?? "tier0";
        const tierLimits = { tier, timeoutMs: streamTimeoutMs[tier], maxRows: maxRowsRead[tier] };
        const settings = await this.#settings.toSend(tierLimits, ROW_FORMS[i % ROW_FORMS.length] ?? "lines");
        return this.#connection.text({ statement: ANY_ROW, settings, limits });
      }),
    );
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#connection.close();
  }

  protected async explain(
    relation: Relation,
    filter: ExplainedFilter,
    columns: ResultColumns,
  ): Promise<boolean | null> {
    const source = await this.#source({ relation }, columns);
    return usesIndex(this.#explaining(), source, filter, () => Promise.resolve(source));
  }

  protected async explainGroups(
    { relation, column, columns }: FilteredColumn,
    filter: FilterParameter,
    make: (condition: Condition) => Promise<MadeQuery>,
  ): Promise<boolean | null> {
    const source = await this.#source({ relation }, columns);
    return usesIndex(
      this.#explaining(),
      source,
      { ...filter, column },
      async ({ value }: ColumnCondition) => {
        const made = await make({ ...filter, value });
        return this.#source(made.query, made.columns);
      },
    );
  }

  #explaining(limitMs = 0): ReadRows {
    const timeoutMs = this.timeLimitOf({ timeoutMs: limitMs });
    return (statement) =>
      this.#read(statement, {
        queued: { ...LOOK_UP, relation: COLUMNS },
        isStillNeeded: LOOK_UP.isStillNeeded,
        timeoutMs,
        maxRows: 0,
      });
  }

  async #source(query: Parameters<typeof sourceOf>[0], columns: ResultColumns): Promise<SelectSource> {
    return sourceOf(query, columns, await this.#settings.roleSettingsClause());
  }

  protected async select(query: EngineQuery, columns: ResultColumns, context: QueryContext): Promise<Rows> {
    const { keyset } = query.selection;
    const source = await this.#source(query, columns);
    const select = async (page: ResolvedQuery): Promise<Rows> => {
      const rows = await this.#selectPage(page, source, context);
      if (rows.kind === "stream" || !isTable(page.format)) return rows;
      const next = nextRow(page, source);
      const following = next === null ? [] : await this.#readerFor(page, context)(next);
      return { ...rows, hasMore: following.length > 0 };
    };
    const selectPages = query.selection.grouping === undefined ? selectKeyed : selectGroups;
    return withinLimit(source, query, () =>
      keyset === undefined
        ? select(query)
        : selectPages(query, keyset, source, { read: this.#readerFor(query, context), select }),
    );
  }

  /** Buffers a page. The rows of a larger one go on as a stream: from its start again where no place for a stream is free. */
  async #selectPage(
    query: ResolvedQuery,
    source: SelectSource,
    context: QueryContext,
    isStream = false,
  ): Promise<Rows> {
    const queued = queuedOf(query, context);
    const started = performance.now();
    const lease = await (isStream ? this.streams : this.queries).acquire(queued);
    context.onStart?.();
    let place: Lease | null = null;
    let running: RunningQuery | null = null;
    try {
      running = await this.#run(query, source, context);
      const limit = query.selection.page?.limit ?? Infinity;
      const reader = bodyReader(query.format, limit, running.exceptionTag);
      const { parts, isWhole } = await readFirst(running, reader);
      const columns = servedOf(source.columns, query.selection.columns).columns;
      if (isWhole) {
        const milliseconds = performance.now() - started;
        const { returned, hasMore } = reader;
        return { kind: "buffered", columns, parts, returned, hasMore, milliseconds };
      }
      place = isStream ? lease : this.streams.tryAcquire(queued);
      if (place !== null) {
        const first = Buffer.concat(parts);
        freeMemory(parts);
        const chunks = openStream({ running, reader, lease: place, budget: this.budget }, first);
        return { kind: "stream", columns, chunks };
      }
      running.cancel();
    } catch (cause) {
      running?.cancel();
      throw translated(cause);
    } finally {
      if (place !== lease) lease.release();
    }
    return this.#selectPage(query, source, context, true);
  }

  /** Its time limit on the server is that of a stream, as it may become one; its own is kept here. */
  async #run(query: ResolvedQuery, source: SelectSource, context: QueryContext): Promise<RunningQuery> {
    const { selection, format } = query;
    const { isStillNeeded } = context;
    const { tier } = context.caller;
    const served = servedOf(source.columns, selection.columns);
    const select = selectRows(source, selection, { served, format, maxRows: lookAhead(query) });
    const statement = printed(select, format);
    const limits = {
      tier,
      timeoutMs: this.#limits.streamTimeoutMs[tier],
      maxRows: query.maxRowsRead ?? 0,
    };
    const form = rowFormOf(format, served.columns.length);
    const settings = await this.#settings.toSend(limits, form, commentOf(query, context));
    return this.#connection.run({
      statement,
      settings,
      limits: { timeoutMs: this.timeLimitOf(query), isStillNeeded },
    });
  }

  /** Reads the rows of statements on behalf of a query, within its time limit. */
  #readerFor(query: ResolvedQuery, context: QueryContext): ReadRows {
    const maxRows = query.maxRowsRead ?? 0;
    const timeoutMs = this.timeLimitOf(query);
    const { isStillNeeded } = context;
    const comment = commentOf(query, context);
    const options = { queued: queuedOf(query, context), isStillNeeded, timeoutMs, maxRows, comment };
    return <Row>(statement: Statement): Promise<readonly Row[]> => this.#read<Row>(statement, options);
  }

  /** The rows of a statement in the format JSONEachRow. */
  async #read<Row>(
    statement: Statement,
    { queued, maxRows, comment, ...limits }: ReadOptions,
  ): Promise<readonly Row[]> {
    const { tier } = queued.caller;
    const { timeoutMs } = limits;
    const lease = await this.queries.acquire(queued);
    const text = await holding(lease, async () => {
      const settings = await this.#settings.toSend({ tier, timeoutMs, maxRows }, "lines", comment);
      return this.#connection.text({ statement, settings, limits });
    });
    const lines = text.split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as Row);
  }
}

interface ReadOptions extends TimeLimits {
  readonly queued: QueuedQuery;
  readonly maxRows: number;
  readonly comment?: string;
}

/** Who asks for what, in `system.query_log` (runtime/docs/how-to/who-costs-what.md). */
function commentOf({ route }: ResolvedQuery, { id, caller }: QueryContext): string {
  return JSON.stringify({ route, key: caller.key?.id ?? null, request: id });
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

/** Where columns are looked up. */
const COLUMNS: Relation = ["system", "columns"];

function queuedOf({ relation }: ResolvedQuery, { caller, isStillNeeded }: QueryContext): QueuedQuery {
  return { caller, isStillNeeded, relation };
}
