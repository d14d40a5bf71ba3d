import type { Relation } from "../model/endpoint.js";
import type { ResultColumns } from "./dialect.js";
import type { RowFormat, Selection } from "./selection.js";

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

/** A database that answers questions. Every engine passes the same contract suite (tests/warehouse/). */
export interface Warehouse {
  /**
   * The selected rows, or "overloaded" when too many queries are waiting already. Rejects when the database fails. A
   * query that takes long is cancelled once nobody wants its answer any more; it then rejects.
   */
  rows(question: ResolvedQuery, wanted: IsStillNeeded): Promise<Rows | "overloaded">;
  /** What does not work as it should while questions are answered all the same; null: nothing. */
  readonly degraded: string | null;
  /** Whether the database answers within a short time. */
  isReachable(): Promise<boolean>;
  /** Ends the connections once the queries under way are done. */
  close(): Promise<void>;
}
