import {
  isTable,
  type KeyValues,
  type ResolvedQuery,
  type RowFormat,
  type TableFormat,
} from "../core/model/query.js";
import { QueryAbandoned } from "../core/warehouse/query-errors.js";
import {
  BUFFERED_BYTES,
  type QueryContext,
  type ResultColumns,
  type Rows,
  type StreamEnd,
} from "../core/warehouse/warehouse.js";
import type { Reader, Run } from "./run.js";
import { checkFields, type DescribedField } from "./columns.js";
import type { PreparedColumns, RowFields } from "./prepared-columns.js";
import { fieldsOf, type RowWriter, TextWriter } from "./rows.js";
import type { RowsStatement } from "./select.js";
import { type PooledBytes, type SpoolBudget, SpooledRows } from "../core/warehouse/spool.js";

/** Makes the writer of one result. */
export type MakeWriter = () => RowWriter;

export function writerOf(prepared: PreparedColumns, format: RowFormat): MakeWriter | Promise<MakeWriter> {
  return isTable(format) ? tableWriter(prepared, format) : () => new TextWriter(prepared.layout(format));
}

/** The libraries of the binary formats are loaded with the first request for one. */
async function tableWriter({ columns }: PreparedColumns, format: TableFormat): Promise<MakeWriter> {
  if (format === "parquet") {
    const { ParquetRows } = await import("./parquet.js");
    return () => new ParquetRows(columns);
  }
  const { ArrowRows } = await import("./arrow.js");
  return () => new ArrowRows(columns, format);
}

/** What all streams of a warehouse share. */
export interface StreamResources {
  readonly budget: SpoolBudget;
  /** Statements whose transactions are open while their clients read. */
  readonly open: Set<Run>;
}

/** The rows are more than a buffered result may have, and no place for a stream is free: the query has to wait for one. */
export class NoStreamPlace extends Error {
  constructor() {
    super("All streams are in use.");
  }
}

/** A page to read. */
export interface QueriedPage {
  readonly statement: RowsStatement;
  readonly query: ResolvedQuery;
  readonly columns: ResultColumns;
  readonly context: QueryContext;
  readonly isStream?: boolean;
}

interface ReaderOptions {
  readonly makeWriter: MakeWriter;
  readonly resources: StreamResources;
  readonly resolve: (rows: Rows) => void;
  readonly reject: (error: Error) => void;
}

/** Bytes of a stream that are passed on together. */
const CHUNK_BYTES = 64 * 1024;

/** Pages of at most so many rows have a `statement_timeout`. */
const SHORT_ROWS = 5000;

/**
 * Reads the rows of a statement into a buffer. If it ends within the limits of a buffered result that is the result, else the
 * same statement goes on as a stream.
 */
export class PageReader implements Reader {
  readonly mayBeLong: boolean;
  readonly formats: Buffer;
  readonly #page: QueriedPage;
  readonly #fields: RowFields;
  readonly #options: ReaderOptions;
  readonly #limit: number;
  readonly #startedAt = performance.now();
  #running: Run | null = null;
  #writer: RowWriter | null = null;
  #found = 0;
  #key: KeyValues | null = null;
  #stream: PausingRows | null = null;
  #isRefused = false;

  constructor(page: QueriedPage, options: ReaderOptions) {
    this.#page = page;
    this.#options = options;
    this.#limit = page.query.selection.page?.limit ?? Infinity;
    this.mayBeLong = this.#limit > SHORT_ROWS;
    this.#fields = page.statement.planned.fields;
    this.formats = this.#fields.formats;
  }

  begin(running: Run): void {
    this.#running = running;
    this.#page.context.onStart?.();
    this.#writer = this.#options.makeWriter();
    this.#found = 0;
  }

  checkFields(fields: readonly DescribedField[]): void {
    checkFields(this.#fields.expected, fields);
  }

  row(frame: Buffer, offset: number): void {
    const position = this.#found++;
    if (position === 0) this.#checkFields(frame, offset);
    if (this.#writer === null || this.#stream?.hasClosed() === true || position >= this.#limit) return;
    this.#writer.row(frame, offset);
    if (position === this.#limit - 1) this.#key = this.#keyIn(frame, offset);
    if (this.#stream !== null) {
      if (this.#writer.complete >= CHUNK_BYTES) this.#stream.store(this.#writer.take());
    } else if (this.#writer.size > BUFFERED_BYTES) this.#overflow();
  }

  end(error: Error | null): void {
    const { resolve, reject } = this.#options;
    if (this.#stream !== null) this.#endStream(this.#stream, error);
    else if (this.#isRefused) reject(new NoStreamPlace());
    else if (error !== null) reject(error);
    else
      try {
        resolve(this.#buffered());
      } catch (failure) {
        reject(failure as Error);
      }
  }

  /** The statement is not of the text that was sent if it has other fields. */
  #checkFields(frame: Buffer, offset: number): void {
    if (frame.readInt16BE(offset - 2) !== this.#fields.count)
      throw new Error("PostgreSQL sent a row with other fields than were asked for.");
  }

  #keyIn(frame: Buffer, offset: number): KeyValues | null {
    const { count, keys } = this.#fields;
    if (keys === null) return null;
    const found = fieldsOf(frame, offset, count);
    return keys.map(({ position, text }) => {
      const field = found[position] ?? null;
      return field === null ? null : text(field);
    });
  }

  /** The last row's key, where rows follow it. */
  get #next(): KeyValues | null {
    return this.#found > this.#limit ? this.#key : null;
  }

  get #returned(): number {
    return Math.min(this.#found, this.#limit);
  }

  #overflow(): void {
    const { query, columns } = this.#page;
    const { resources, resolve } = this.#options;
    const running = this.#running as Run;
    if (!running.becomeStream()) {
      this.#isRefused = true;
      this.#writer = null;
      running.cancel(new NoStreamPlace());
      return;
    }
    resources.open.add(running);
    this.#stream = new PausingRows(running, resources.budget, this.#fields.keys !== null);
    this.#stream.store((this.#writer as RowWriter).take());
    // The key of the next page precedes the rows: such a page is in the spool before it is sent.
    if (this.#fields.keys === null || query.selection.page === null)
      resolve({ kind: "stream", columns, chunks: this.#stream });
  }

  #endStream(stream: PausingRows, error: Error | null): void {
    const { columns } = this.#page;
    const { resources, resolve, reject } = this.#options;
    const running = this.#running as Run;
    resources.open.delete(running);
    const milliseconds = performance.now() - this.#startedAt - stream.pausedMs;
    const end = { returned: this.#returned, hasMore: this.#found > this.#limit, milliseconds };
    void stream
      .end(error, () => (this.#writer as RowWriter).end(), end)
      .then((failure) => {
        if (this.#fields.keys === null) return;
        if (failure === null) return resolve({ kind: "stream", columns, chunks: stream, next: this.#next });
        void stream.return();
        reject(failure);
      });
  }

  #buffered(): Rows {
    const writer = this.#writer ?? this.#options.makeWriter();
    const { columns } = this.#page;
    const { bytes, release } = writer.end();
    return {
      kind: "buffered",
      columns,
      parts: [bytes],
      release,
      returned: this.#returned,
      hasMore: this.#found > this.#limit,
      milliseconds: performance.now() - this.#startedAt,
      next: this.#next,
    };
  }
}

/** Pauses the connection while rows are stored: the rest waits in PostgreSQL. */
class PausingRows extends SpooledRows {
  readonly #running: Run;
  /** The rows that are being stored. */
  #storing: Promise<void> = Promise.resolve();
  #stored = 0;
  #pausedAt = 0;
  /** Time for which reading was paused. */
  pausedMs = 0;

  constructor(running: Run, budget: SpoolBudget, isUnread: boolean) {
    const stop = (): void => running.cancel(new QueryAbandoned());
    super(budget, { stop, release: () => running.release() }, isUnread);
    this.#running = running;
  }

  store({ bytes, release }: PooledBytes): void {
    if (bytes.length === 0) return;
    if (this.#stored++ === 0) {
      this.#running.pause();
      this.#pausedAt = performance.now();
    }
    this.#storing = this.#storing.then(() => this.push(bytes, release));
    this.#storing.then(
      () => this.#resume(),
      (error: unknown) => this.#running.cancel(error as Error),
    );
  }

  #resume(): void {
    if (--this.#stored > 0) return;
    this.pausedMs += performance.now() - this.#pausedAt;
    this.#running.resume();
  }

  /** All rows have been read, or the statement has failed. Resolves with the failure once what was read is stored. */
  async end(error: Error | null, rest: () => PooledBytes, end: StreamEnd): Promise<Error | null> {
    let failure = error;
    try {
      await this.#storing;
      if (error === null && !this.hasClosed()) {
        const { bytes, release } = rest();
        await this.push(bytes, release);
      }
    } catch (cause) {
      failure = cause as Error;
    }
    this.finish(end, failure);
    return failure;
  }
}
