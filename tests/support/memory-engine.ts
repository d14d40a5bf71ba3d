import { setTimeout as pause } from "node:timers/promises";
import type { Relation, SortKey } from "../../runtime/core/model/endpoint.js";
import { postgresType } from "../../runtime/core/model/database-types.js";
import {
  type Condition,
  isGroup,
  isTable,
  type ResolvedQuery,
  type TextFormat,
} from "../../runtime/core/model/query.js";
import { BaseEngine, type EngineOptions, type OpenEngine } from "../../runtime/core/warehouse/base-engine.js";
import type { Lease } from "../../runtime/core/warehouse/fair-queue.js";
import { type FilterType, filterType, textType } from "../../runtime/core/warehouse/filter-type.js";
import { servedOf } from "../../runtime/core/warehouse/served-columns.js";
import { QueryAbandoned, QueryTimeout, RelationMissing } from "../../runtime/core/warehouse/query-errors.js";
import {
  type AggregateResult,
  BUFFERED_BYTES,
  type DescribedRelation,
  type QueryContext,
  type ResultColumn,
  type ResultColumns,
  ROW_SEPARATORS,
  type RowChunks,
  type Rows,
} from "../../runtime/core/warehouse/warehouse.js";

type Row = Readonly<Record<string, number | string | null>>;

export interface MemoryTable {
  /** Type by column. */
  readonly columns: Readonly<Record<string, "integer" | "text" | "date">>;
  readonly rows: readonly Row[];
  /** How long a query runs. */
  readonly milliseconds?: number;
  /** A query fails when it reads this row; 0: at once. */
  readonly failsAt?: number;
}

/** By `schema.name`. */
export type MemoryTables = Readonly<Record<string, MemoryTable>>;

/** An engine whose database is a few tables in memory: the least that the base class and the contract suite ask of one. */
export const openMemory =
  (tables: MemoryTables): OpenEngine =>
  (options) =>
    new MemoryEngine(tables, options);

const FILTER_TYPES: Readonly<Record<string, FilterType>> = {
  integer: filterType("integer", { cast: "integer", write: String }),
  date: filterType("date", { cast: "date", write: ({ text }) => text }),
  text: textType("text", "text"),
};

const ROWS_OF_CHUNK = 1000;

/** The query is refused. */
class QueryRefused extends Error {
  constructor() {
    super("The row cannot be read.");
  }
}

class MemoryEngine extends BaseEngine {
  readonly #tables: MemoryTables;
  protected readonly changeIn = (error: unknown) => (error instanceof QueryRefused ? "possible" : "none");
  protected readonly translated = (error: unknown) => error as Error;
  protected readonly filterTypeOf = ({ type }: ResultColumn) =>
    FILTER_TYPES[type] ?? textType("text", "text");
  protected readonly databaseTypeOf = ({ type }: ResultColumn) => postgresType(type);

  constructor(tables: MemoryTables, options: EngineOptions) {
    super(options);
    this.#tables = tables;
  }

  protected explain(): Promise<null> {
    return Promise.resolve(null);
  }

  protected explainGroups(): Promise<null> {
    return Promise.resolve(null);
  }

  protected describe(relation: Relation): Promise<DescribedRelation> {
    const columns = Object.entries(this.#tables[relation.join(".")]?.columns ?? {});
    return columns.length === 0
      ? Promise.reject(new RelationMissing(relation.join(".")))
      : Promise.resolve({ id: relation.join("."), columns: columns.map(([name, type]) => ({ name, type })) });
  }

  loads(): Promise<readonly []> {
    return Promise.resolve([]);
  }

  protected responds(): Promise<boolean> {
    return Promise.resolve(true);
  }

  protected async select(query: ResolvedQuery, columns: ResultColumns, context: QueryContext): Promise<Rows> {
    const { format, selection } = query;
    if (isTable(format)) throw new Error("Tables in memory are written as text.");
    const served = servedOf(columns, selection.columns).columns;
    const started = performance.now();
    const { rows, following, lease } = await this.#run(query, columns, context);
    lease.release();
    const write = (row: Row): string => textOf(row, served, format);
    const [separator, hasMore] = [ROW_SEPARATORS[format], following !== undefined];
    const last = rows.at(-1);
    const key = hasMore && last ? selection.sort.map(([name]) => String(last[name])) : null;
    const next = selection.keyset === undefined ? {} : { next: key };
    const milliseconds = performance.now() - started;
    const end = { returned: rows.length, hasMore, milliseconds };
    const text = shortText(rows, write, separator);
    if (text !== null)
      return { kind: "buffered", columns: served, parts: [Buffer.from(text)], ...end, ...next };
    const place = await this.streams.acquire({ ...context, relation: query.relation });
    const { failsAt = Infinity } = this.#tables[query.relation.join(".")] ?? {};
    const chunks = chunksOf(rows, write, separator, { failsAt, end, place });
    return { kind: "stream", columns: served, chunks, ...next };
  }

  protected async selectAggregate(
    query: ResolvedQuery,
    columns: ResultColumns,
    context: QueryContext,
    bounded: ResultColumns,
  ): Promise<AggregateResult> {
    const all = { ...query, selection: { ...query.selection, page: null } };
    const { rows, lease } = await this.#run(all, columns, context);
    lease.release();
    const bounds = bounded.map(({ name }) => {
      const sorted = rows.map((row) => row[name] ?? null).filter((value) => value !== null);
      sorted.sort(compare);
      return { min: sorted[0] ?? null, max: sorted.at(-1) ?? null };
    });
    return { count: rows.length, bounds };
  }

  /** The rows of the page, and the one behind them. */
  async #run(query: ResolvedQuery, columns: ResultColumns, context: QueryContext) {
    const { conditions, sort, page, keyset } = query.selection;
    const table = this.#tables[query.relation.join(".")];
    const { rows: stored = [], milliseconds = 0, failsAt, columns: own = {} } = table ?? {};
    const lease = await this.queries.acquire({ ...context, relation: query.relation });
    try {
      if (failsAt === 0 || columns.some(({ name }) => own[name] === undefined)) throw new QueryRefused();
      await this.#wait(milliseconds, this.timeLimitOf(query), context);
      const after = keyset?.after ?? null;
      const rows = stored
        .filter((row) => conditions.every((each) => this.#matches(row, each, columns)))
        .filter((row) => after === null || compareKeys(keyOf(row, sort), after, sort) > 0)
        .sort((a, b) => compareKeys(keyOf(a, sort), keyOf(b, sort), sort));
      const { offset = 0, limit = Infinity, lookAhead = false } = page ?? {};
      const following = lookAhead ? rows[offset + limit] : undefined;
      return { rows: rows.slice(offset, offset + limit), following, lease };
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  async #wait(milliseconds: number, limit: number, { isStillNeeded }: QueryContext): Promise<void> {
    const started = performance.now();
    for (let waited = 0; waited < milliseconds; waited = performance.now() - started) {
      if (!isStillNeeded()) throw new QueryAbandoned();
      if (limit > 0 && waited > limit) throw new QueryTimeout();
      await pause(10);
    }
  }

  #matches(row: Row, condition: Condition, columns: ResultColumns): boolean {
    if (isGroup(condition)) {
      const holds = condition.of.map((each) => this.#matches(row, each, columns));
      if (condition.operator === "not") return holds[0] !== true;
      return condition.operator === "and" ? holds.every((each) => each) : holds.includes(true);
    }
    const { column, operator } = condition;
    const type = this.filterTypeOf(
      columns.find(({ name }) => name === column) ?? { name: column, type: "text" },
    );
    const letters = "case" in condition ? condition.case : undefined;
    const folded = (text: string): string =>
      letters === undefined ? text : letters === "lower" ? text.toLowerCase() : text.toUpperCase();
    const value = row[column] ?? null;
    const given = [condition.value].flat().map((text) => type.read(text)?.written ?? text);
    const order = compare(value, typeof value === "number" ? Number(given[0]) : (given[0] ?? ""));
    if (operator === "null") return (value === null) === (condition.value === "true");
    if (value === null) return false;
    switch (operator) {
      case "=":
      case "IN":
        return given.some((each) => folded(each) === folded(String(value)));
      case "contains":
        return String(value).includes(given[0] ?? "");
      case "startswith":
        return String(value).startsWith(given[0] ?? "");
      case "endswith":
        return String(value).endsWith(given[0] ?? "");
      case "month":
        return given.includes(String(Number(String(value).slice(5, 7))));
      case "day":
        return given.includes(String(Number(String(value).slice(8, 10))));
      case "ILIKE":
        return likeExpression(given[0] ?? "").test(String(value));
      case "ne":
        return order !== 0;
      case "gt":
        return order > 0;
      case "lt":
        return order < 0;
      case "gte":
      case ">=":
        return order >= 0;
      case "lte":
      case "<=":
        return order <= 0;
    }
  }
}

type Value = number | string | null;

/** Null is the greatest value. */
function compare(a: Value, b: Value): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return a < b ? -1 : Number(a > b);
}

const keyOf = (row: Row, sort: readonly SortKey[]): readonly Value[] =>
  sort.map(([name]) => row[name] ?? null);

function compareKeys(a: readonly Value[], b: readonly Value[], sort: readonly SortKey[]): number {
  for (const [i, [, direction]] of sort.entries()) {
    const [one, other] = [a[i] ?? null, b[i] ?? null];
    const order = compare(one, typeof one === "number" && other !== null ? Number(other) : other);
    if (order !== 0) return direction === "ASC" ? order : -order;
  }
  return 0;
}

function likeExpression(pattern: string): RegExp {
  const escaped = pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("%", ".*").replaceAll("_", ".")}$`, "is");
}

function textOf(row: Row, columns: ResultColumns, format: TextFormat): string {
  const values = columns.map(({ name, key = name, wide, numbers }): readonly [string, Value] => {
    const value = row[name] ?? null;
    const isAsked = format === "json-strings" || (format === "json-declared" && numbers === "string");
    return [key, isAsked && wide === true && value !== null ? String(value) : value];
  });
  const none = values.length === 1 ? '""' : "";
  return format === "csv" || format === "spreadsheet"
    ? values
        .map(([, value]) => (typeof value === "string" ? JSON.stringify(value) : String(value ?? none)))
        .join(",")
    : JSON.stringify(Object.fromEntries(values));
}

interface ChunkOptions {
  readonly failsAt: number;
  readonly end: { readonly returned: number; readonly hasMore: boolean; readonly milliseconds: number };
  readonly place: Lease;
}

/** Null: it is longer than what is buffered. */
function shortText(rows: readonly Row[], write: (row: Row) => string, separator: string): string | null {
  let text = "";
  for (const [i, row] of rows.entries()) {
    text += (i === 0 ? "" : separator) + write(row);
    if (text.length > BUFFERED_BYTES) return null;
  }
  return text;
}

/** Rows are written as they are read: a reader may leave. */
function chunksOf(
  rows: readonly Row[],
  write: (row: Row) => string,
  separator: string,
  { failsAt, end, place }: ChunkOptions,
): RowChunks {
  let read = 0;
  const done = () => {
    place.release();
    return Promise.resolve({ done: true as const, value: end });
  };
  return {
    next() {
      if (read >= failsAt) return Promise.reject(new QueryRefused());
      if (read >= rows.length) return done();
      const texts = rows.slice(read, read + ROWS_OF_CHUNK).map(write);
      const value = Buffer.from((read === 0 ? "" : separator) + texts.join(separator));
      read += ROWS_OF_CHUNK;
      return Promise.resolve({ done: false, value });
    },
    return: done,
  };
}
