import type { AskedGrouping } from "../model/aggregate/aggregate.js";
import type { ValueKind } from "../model/column-types.js";
import type { RequestContext } from "../model/caller.js";
import type { FilterParameter, Relation } from "../model/endpoint.js";
import type { HttpError } from "../model/errors.js";
import type { LastLoadSql } from "../model/freshness.js";
import type { Condition, KeyValues, ResolvedQuery, TextFormat } from "../model/query.js";
import type { RelationLoad } from "./data-versions.js";
import type { Sql } from "./sql.js";

/** Separator between two rows of a text. */
export const ROW_SEPARATORS = {
  json: ",",
  "json-strings": ",",
  "json-declared": ",",
  ndjson: "\n",
  csv: "\r\n",
  spreadsheet: "\r\n",
} as const satisfies Record<TextFormat, string>;

/** A column of a relation in the database. */
export interface ResultColumn {
  /** Its name in the relation. */
  readonly name: string;
  /** Its name in a row, where the model declares it in another letter case. */
  readonly key?: string;
  /** The engine's name of the type; a leading `_` means an array. */
  readonly type: string;
  /** The fields of a composite type, or of an array of one. */
  readonly fields?: readonly ResultColumn[];
  /** The type of the bounds of a range or multirange, or of an array of them. */
  readonly range?: { readonly bound: string; readonly isMulti: boolean };
  /**
   * The type of a column that holds states of aggregate functions (ClickHouse), then those of results that are states again;
   * `type` is that of the last result.
   */
  readonly states?: readonly string[];
  /** Digits after the point of a `money`, which its locale decides. */
  readonly moneyScale?: number;
  /** PostgreSQL's number of the type, of a domain that of the type under it. */
  readonly oid?: number;
  /** Schema of a type that is not PostgreSQL's own. */
  readonly typeSchema?: string;
  /** Whether that schema has the operators of the type: an extension's type, which PostgreSQL's own operators do not take. */
  readonly hasOwnOperators?: true;
  /** Names of the aggregates that the schema has for the type. */
  readonly ownAggregates?: readonly string[];
  /** Whether the type is an enum. */
  readonly isEnum?: true;
  /** Whether its collation is nondeterministic, which patterns do not take. */
  readonly isNondeterministic?: true;
  /** Precision and scale of a column of decimals: the database's, else those that the model declares. */
  readonly decimal?: readonly [precision: number, scale: number];
  /** Rows that each query of the relation reads whatever it selects. */
  readonly scannedRows?: number;
  /** Whether reading any column of the relation evaluates no expression (ClickHouse). */
  readonly isStored?: boolean;
  /** IANA time zone of a `timestamp` without zone; UTC when absent. */
  readonly timezone?: string;
  /** Whether its numbers are strings in `json-strings`; where no type is declared, the engine's type decides. */
  readonly wide?: boolean;
  /** How they are written in `json-declared`. */
  readonly numbers?: "number" | "string";
}

export type ResultColumns = readonly ResultColumn[];

/** A relation as the database has it. */
export interface DescribedRelation {
  /** Another one where another relation has taken the place of this one. */
  readonly id: string;
  readonly columns: ResultColumns;
}

/** A statement whose columns are looked up. */
export interface DescribedSelect {
  readonly select: Sql<never>;
  /** Its columns. */
  readonly names: readonly string[];
  /** What it reads; the first counts for messages. */
  readonly relations: readonly Relation[];
}

/** What a query selects and compares. */
export interface QueryColumns {
  readonly columns: ResultColumns;
  readonly compared: readonly ResultColumns[];
}

/** A complete result in memory. */
export interface BufferedRows {
  readonly kind: "buffered";
  readonly columns: ResultColumns;
  /** The rows with the format's separator between them, in UTF-8, in any parts; empty without rows. Of a binary table, all its bytes. */
  readonly parts: readonly Buffer[];
  /** Gives the memory of `parts` back, which are not read any more. */
  readonly release?: () => void;
  /** Rows; null where they are not counted: those of a binary table of ClickHouse. */
  readonly returned: number | null;
  /** Whether rows follow this page; false where the query did not look ahead. */
  readonly hasMore: boolean;
  /** With a keyset: the sort key of the last row if rows follow the page, else null. */
  readonly next?: KeyValues | null;
  /** Time in the database, waiting for a connection included. */
  readonly milliseconds: number;
}

/** The bytes of parts; of one, without a copy. */
export function joined(parts: readonly Buffer[]): Buffer {
  const [only, ...others] = parts;
  return only !== undefined && others.length === 0 ? only : Buffer.concat(parts);
}

/** A result in chunks, in bounded memory. Read it to its end or call `return()`: it may hold a connection until then. */
export interface RowStream {
  readonly kind: "stream";
  readonly columns: ResultColumns;
  /** Chunks of what `BufferedRows` has as a whole, none of them empty. Rejects when the database fails. */
  readonly chunks: RowChunks;
  /** See `BufferedRows`. */
  readonly next?: KeyValues | null;
}

export interface RowChunks {
  /** The chunk is valid until the next call, which uses its memory again. */
  next(): Promise<IteratorResult<Buffer, StreamEnd>>;
  /** Ends the stream early; may be called again. */
  return(): Promise<IteratorReturnResult<StreamEnd>>;
}

/** Totals of a stream that has ended. */
export interface StreamEnd {
  /** See `BufferedRows`. */
  readonly returned: number | null;
  readonly hasMore: boolean;
  /** Time in the database, without waiting for the reader. */
  readonly milliseconds: number;
}

export type Rows = BufferedRows | RowStream;

/** What a query selects on all pages. */
export interface AggregateResult {
  readonly count: number;
  /** The lowest and the highest value of each column, as JSON has them; null without values. */
  readonly bounds: readonly { readonly min: unknown; readonly max: unknown }[];
}

/** An engine names the aggregates `count`, `min0`, `max0`, `min1`, …. */
export function readAggregate(
  row: Readonly<Record<string, unknown>>,
  columns: ResultColumns,
): AggregateResult {
  const bounds = columns.map((_, i) => ({ min: row[`min${String(i)}`], max: row[`max${String(i)}`] }));
  return { count: Number(row["count"]), bounds };
}

/** The request of a query: its caller has shares of the connections (runtime/docs/limits.md). */
export interface QueryContext extends Pick<RequestContext, "id" | "caller" | "isStillNeeded"> {
  /** Version of the rows and of their columns; null if unknown. */
  readonly version: string | null;
  /** Called when a statement of its rows has a connection; again where it runs again. */
  readonly onStart?: (() => void) | undefined;
  /** Called with the roll-up that answers, as `schema.name`, before a statement runs; null: none does. */
  readonly onRollUp?: ((relation: string | null) => void) | undefined;
}

/** Version of the rows of a roll-up, by its dbt node, if they are of the last builds of its sources; null if that is unknown. */
export type RollUpVersion = (node: string) => string | null;

/** Clocks of the database, in milliseconds since 1970. */
export interface LastLoad {
  readonly now: number;
  /** When rows were last loaded; null: there is none, or it is no time. */
  readonly loadedAt: number | null;
}

/** Queries of a database, for the metrics. */
export interface WarehouseLoad {
  /** Queries that hold a connection now. */
  readonly running: number;
  /** Queries that wait for one. */
  readonly waiting: number;
  /** Queries that got a connection since the start, and how long they waited in sum. */
  readonly started: number;
  readonly waitedMs: number;
}

export type ExplainedFilter = FilterParameter | readonly Condition[];

/** A database that runs queries. Every engine passes tests/core/warehouse/contract.test.ts. */
export interface Warehouse {
  /**
   * The selected rows. Rejects with `Overloaded` when the queue or the caller's share of it is full; also when the database fails
   * (with those of `query-errors.ts`), and with `QueryAbandoned` when the result is no longer needed.
   */
  rows(query: ResolvedQuery, context: QueryContext): Promise<Rows>;
  /** The number of rows that the query's filters select on all pages, and the bounds of these columns; rejects as `rows`. */
  aggregate(query: ResolvedQuery, context: QueryContext, columns: ResultColumns): Promise<AggregateResult>;
  /** The columns of a relation, cached by version: a promise costs more. Rejects when the relation does not exist or the database fails. */
  columns(relation: Relation, version: string | null): ResultColumns | Promise<ResultColumns>;
  /** What the values of a column are. */
  valuesOf(column: ResultColumn): ValueKind;
  /** The columns of a query's rows, and those that its conditions compare with, of each relation that it reads; rejects as `columns`. */
  columnsOf(query: ResolvedQuery, version: string | null): QueryColumns | Promise<QueryColumns>;
  /** Gives conditions their values in the types of these columns. The first value that is not of its column's type, as an error. */
  check(conditions: readonly Condition[], columns: ResultColumns): HttpError | null;
  /**
   * Whether an index finds the rows of a filter with any value, or of conditions with theirs, by the plan of the statement that the server sends; null where the relation is so small
   * that it makes no difference. Of a grouping: in its statement; null for a group of a join or an expression. Rejects when the database cannot run the query.
   */
  usesIndex(relation: Relation, filter: ExplainedFilter, grouping?: AskedGrouping): Promise<boolean | null>;
  /** The columns of what the query reads are looked up again before they are used. */
  expireColumns(query: ResolvedQuery): void;
  /** The loads of those of the relations that `routewright ddl` has filled. Rejects when the database fails. */
  loads(relations: readonly Relation[]): Promise<readonly RelationLoad[]>;
  /** When the rows of a relation were last loaded. Rejects when the database fails, and after 10 s. */
  lastLoad(relation: Relation, load: LastLoadSql): Promise<LastLoad>;
  readonly load: WarehouseLoad;
  /** Why queries fail although the database responds, as a sentence for `/health`; null while they do not. */
  readonly degraded: string | null;
  /** Looks up which relations exist, so that `missingRelations` names the others. Never rejects. */
  checkRelations(relations: readonly Relation[]): Promise<void>;
  /** Relations, as `schema.name`, that the database did not have at their latest query. */
  readonly missingRelations: readonly string[];
  /** Why one of them is missing although the database has something of its name, as a sentence for `/health`. */
  reasonMissing(name: string): string | null;
  /** The columns of a relation as last looked up, without a query; null where they are not known. */
  knownColumns(relation: Relation): ResultColumns | null;
  /** Whether the database responds within a short time, as it does now or did within a second. */
  isReachable(): Promise<boolean>;
  /** Closes the connections after the running queries. */
  close(): Promise<void>;
}

/** Maximum bytes of a buffered result; larger results are streamed. */
export const BUFFERED_BYTES = 2 * 1024 * 1024;
