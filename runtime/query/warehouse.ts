import type { Tier } from "../model/tier.js";
import type { Column, Filter, Relation, SortKey } from "../model/endpoint.js";
import type { Statement } from "./sql.js";

/** One filter of a request: a declared parameter with its value. */
export type Condition = Filter & {
  /** The parameter's name. */
  readonly name: string;
  readonly column: string;
  readonly value: string | readonly string[];
};

/** A range of the sorted rows. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
  /** Whether to find out if rows follow the page. */
  readonly lookAhead: boolean;
  /** Whether JSON wraps the rows: `{items, pagination}`. */
  readonly envelope?: boolean;
}

/** The rows of a relation that a request selects, in their order. */
export interface Selection {
  /** The declared columns. Rows carry those that the relation has, in this order; none declared: all of the relation. */
  readonly columns?: readonly Column[];
  readonly conditions: readonly Condition[];
  /** No column twice. */
  readonly sort: readonly SortKey[];
  readonly page: Page | null;
}

/**
 * How the database writes rows: JSON objects separated by commas, JSON objects on lines (NDJSON), or CSV records
 * (RFC 4180), `spreadsheet` with cells that cannot be formulas. `json-strings` is JSON with wide numbers as strings.
 */
export type RowFormat = "json" | "json-strings" | "ndjson" | "csv" | "spreadsheet";

/** What stands between two rows. */
export const ROW_SEPARATORS = {
  json: ",",
  "json-strings": ",",
  ndjson: "\n",
  csv: "\r\n",
  spreadsheet: "\r\n",
} as const satisfies Record<RowFormat, string>;

export interface ResolvedQuery {
  readonly relation: Relation;
  readonly selection: Selection;
  readonly format: RowFormat;
  /** A query that runs longer is cancelled; 0: no limit. */
  readonly timeoutMs: number;
}

/** A column of a relation in the database. */
export interface ResultColumn {
  readonly name: string;
  /** The engine's own name of the type; `_` before it: an array. */
  readonly type: string;
  /** The fields of a composite type, or of an array of one. */
  readonly fields?: readonly ResultColumn[];
  /** Identifies the relation's storage: a relation that replaces it has another. */
  readonly storage?: string;
  /** IANA time zone of a `timestamp` without zone; UTC when absent. */
  readonly timezone?: string;
  /** Whether its numbers are strings in `json-strings`; where no type is declared, the engine's type decides. */
  readonly wide?: boolean;
}

export type ResultColumns = readonly ResultColumn[];

const served = new WeakMap<ResultColumns, WeakMap<readonly Column[], ResultColumns>>();

/** The declared columns that a relation has, in declared order; all of the relation where none is declared. */
export function servedColumns(existing: ResultColumns, declared: readonly Column[] = []): ResultColumns {
  if (declared.length === 0) return existing;
  let known = served.get(existing);
  if (!known) served.set(existing, (known = new WeakMap<readonly Column[], ResultColumns>()));
  const columns = known.get(declared) ?? declared.flatMap((column) => servedColumn(existing, column));
  known.set(declared, columns);
  return columns;
}

function servedColumn(existing: ResultColumns, declared: Column): readonly ResultColumn[] {
  const { name, type, timezone, wide = false } = declared;
  const column = existing.find((each) => each.name === name);
  if (!column) return [];
  return [{ ...column, ...(timezone !== undefined && { timezone }), ...(type !== null && { wide }) }];
}

/** A result that is complete in memory. */
export interface BufferedRows {
  readonly kind: "whole";
  readonly columns: ResultColumns;
  /** The rows as the database wrote them, with the format's separator between them; empty without rows. */
  readonly text: string;
  readonly returned: number;
  /** Whether rows follow this page; false where the query did not look ahead. */
  readonly hasMore: boolean;
  /** Time in the database, waiting for a connection included. */
  readonly milliseconds: number;
}

/** A result in chunks, in bounded memory. It holds a connection until it was read to its end or `return()` was called. */
export interface RowStream {
  readonly kind: "stream";
  readonly columns: ResultColumns;
  /** Together the text of the rows; none is empty. Rejects when the database fails. */
  readonly pieces: RowChunks;
}

export interface RowChunks {
  next(): Promise<IteratorResult<string, StreamEnd>>;
  /** Ends the stream early; may be called again. */
  return(): Promise<IteratorReturnResult<StreamEnd>>;
}

/** What is known once a stream has ended. */
export interface StreamEnd {
  readonly returned: number;
  readonly hasMore: boolean;
  /** Time in the database, without the time it waited for the reader. */
  readonly milliseconds: number;
}

export type Rows = BufferedRows | RowStream;

/** Whether a client still waits for the result. */
export type IsStillNeeded = () => boolean;

/** A query was cancelled because it exceeded its time limit. */
export class QueryTimeout extends Error {
  constructor(cause?: unknown) {
    super("The query exceeded its time limit and was cancelled.", { cause });
  }
}

/** A query was cancelled, or never run, because its answer is not needed any more: its client has disconnected. */
export class QueryAbandoned extends Error {
  constructor() {
    super("The client has disconnected; its query was cancelled.");
  }
}

/** Who a query runs for, and for how long (runtime/README.md, Limits). */
export interface QueryContext {
  /** Key id or network address: connections are shared out by it. */
  readonly callerId: string;
  readonly tier: Tier;
  /** Version of the rows, where it is known: columns belong to it. */
  readonly version: string | null;
  readonly isStillNeeded: IsStillNeeded;
}

/** A database that answers queries. Every engine passes the same contract suite (tests/postgres/). */
export interface Warehouse {
  /**
   * The selected rows, or "overloaded" when the queue, or the caller's share of it, is full. Rejects when the database
   * fails, and when the answer is not needed any more.
   */
  rows(query: ResolvedQuery, context: QueryContext): Promise<Rows | "overloaded">;
  /**
   * The columns of a relation, at once when they are cached for this version of its rows. Rejects when the relation does
   * not exist or the database fails.
   */
  columns(relation: Relation, version: string | null): ResultColumns | Promise<ResultColumns>;
  /** What is degraded while queries still succeed; null: nothing. */
  readonly degraded: string | null;
  /** Relations, as `schema.name`, whose latest query failed because the database does not have them. */
  readonly missingRelations: readonly string[];
  /** Whether the database answers within a short time. */
  isReachable(): Promise<boolean>;
  /** Ends the connections after the running queries. */
  close(): Promise<void>;
}

/** How values are written: right for every value, or in short SQL that is right for nearly all (`Dialect.whole`). */
export type OutputStyle = "plain" | "exact";

/** What differs between engines. */
export interface Dialect {
  /** Selects the columns of a relation: one row with a JSON list of `ResultColumn`, or null without the relation. */
  describe(relation: Relation): Statement;
  /**
   * Selects one row: `rows`, the selected rows in the format with its separator between them (null for none, and where
   * they are too many or too large); `found`, how many rows there are: one past the page at most, and one past
   * `BUFFERED_ROWS` at most; and where the page looks ahead `beyond`, how many bytes at the end of `rows` belong to the
   * row past the page. With `style: "plain"` the SQL is short and `rows` is also null where a value needs the exact
   * style (`hasPlainStyle` tells whether there is a difference).
   */
  whole(
    relation: Relation,
    columns: ResultColumns,
    selection: Selection,
    format: RowFormat,
    style: OutputStyle,
  ): Statement;
  /** Whether the two styles differ for these columns. */
  hasPlainStyle(columns: ResultColumns): boolean;
  /** Selects the rows one by one in one text column: at most one past the page where it looks ahead. */
  each(relation: Relation, columns: ResultColumns, selection: Selection, format: RowFormat): Statement;
}

/** Rows, and bytes of rows, that are answered in one piece at most; longer answers come piece by piece. */
export const BUFFERED_ROWS = 1000;
export const BUFFERED_BYTES = 2 * 1024 * 1024;
