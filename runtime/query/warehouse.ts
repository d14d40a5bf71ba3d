import type { Relation, Filter, SortKey } from "../model/endpoint.js";
import type { Tier } from "../model/tier.js";
import type { Statement } from "./sql.js";

/** What is asked of a database. */
export interface ResolvedQuery {
  readonly relation: Relation;
  readonly selection: Selection;
  /** How the database writes the rows. */
  readonly format: RowFormat;
  /** A query that runs longer is cancelled; 0: no limit. */
  readonly timeoutMs: number;
}

/** Rows that came in one piece: any answer of moderate size. */
export interface BufferedRows {
  readonly kind: "whole";
  readonly columns: ResultColumns;
  /** The rows as the database wrote them, with the format's separator between them; empty when there is no row. */
  readonly text: string;
  /** How many there are. */
  readonly returned: number;
  /** Whether rows follow this page; always false where nobody asked. */
  readonly hasMore: boolean;
  /** What the database took, waiting for a connection included. */
  readonly milliseconds: number;
}

/**
 * Rows that come piece by piece: an answer of any size in bounded memory. It holds a connection until it has been read to
 * its end, or `return()` was called, also when nothing was read.
 */
export interface RowStream {
  readonly kind: "stream";
  readonly columns: ResultColumns;
  /** Together what would be one `WholeRows.text`; none of them is empty. Rejects when the database fails. */
  readonly pieces: RowChunks;
}

/** Pieces of rows, and in the end what came of them. */
export interface RowChunks {
  next(): Promise<IteratorResult<string, StreamEnd>>;
  /** Ends the stream where it is; may be called again. */
  return(): Promise<IteratorReturnResult<StreamEnd>>;
}

/** What is known once a stream has ended. */
export interface StreamEnd {
  readonly returned: number;
  readonly hasMore: boolean;
  /** What the database took, the time that it waited for the reader left out. */
  readonly milliseconds: number;
}

export type Rows = BufferedRows | RowStream;

/** Tells whether anybody still waits for an answer. */
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
  /** What does not work as it should while queries are answered all the same; null: nothing. */
  readonly degraded: string | null;
  /** Relations, as `schema.name`, whose latest query failed because the database does not have them. */
  readonly missingRelations: readonly string[];
  /** Whether the database answers within a short time. */
  isReachable(): Promise<boolean>;
  /** Ends the connections once the queries under way are done. */
  close(): Promise<void>;
}

/** One filter of a request: a declared parameter with its value, already checked. */
export type Condition = Filter & { readonly column: string; readonly value: string | readonly string[] };

/** A stretch of the sorted rows. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
  /** Whether to find out if there are more rows behind it. */
  readonly lookAhead: boolean;
}

/** Which rows of a relation, in which order: what a request comes down to once its parameters are checked. */
export interface Selection {
  readonly conditions: readonly Condition[];
  /** No column twice. */
  readonly sort: readonly SortKey[];
  readonly page: Page | null;
}

/** How rows are written: JSON objects with commas, JSON objects on lines (NDJSON), or CSV records (RFC 4180). */
export type RowFormat = "json" | "ndjson" | "csv";

/** What stands between two rows. */
export const ROW_SEPARATORS = { json: ",", ndjson: "\n", csv: "\r\n" } as const satisfies Record<
  RowFormat,
  string
>;

/** A column as the warehouse has it, which need not be as the manifest says. */
export interface ResultColumn {
  readonly name: string;
  /** The engine's own name of the type. */
  readonly type: string;
}

/** The columns of a relation, in its own order. */
export type ResultColumns = readonly ResultColumn[];

/** What differs from engine to engine: one small file each. */
export interface Dialect {
  /** Asks for the columns of a relation: one row, a JSON list of `RealColumn` in the order of the columns, or null. */
  describe(relation: Relation): Statement;
  /**
   * Asks for one row: `rows`, the selected rows in the format with its separator between them (null for none, and where
   * they are too many or too large), and `found`, how many rows there are: one past the page at most, and one past
   * `BUFFERED_ROWS` at most.
   */
  whole(relation: Relation, shape: ResultColumns, selection: Selection, format: RowFormat): Statement;
  /** Asks for the selected rows one by one, in one text column: one past the page at most where the page looks ahead. */
  each(relation: Relation, shape: ResultColumns, selection: Selection, format: RowFormat): Statement;
}

/** Rows, and bytes of rows, that are answered in one piece at most; longer answers come piece by piece. */
export const BUFFERED_ROWS = 1000;
export const BUFFERED_BYTES = 2 * 1024 * 1024;
