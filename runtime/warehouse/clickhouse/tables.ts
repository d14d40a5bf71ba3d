import type { TableFormat } from "../../model/query.js";
import { ClickhouseError } from "./errors.js";
import { BodyBytes } from "./rows.js";

/** Servers before 25.11 do not mark an error in a body. A text of the data that contains this looks like one there. */
const UNMARKED_ERROR = "DB::Exception: ";

/** Bytes held back: more than the mark of an error, which may arrive in parts, and than follows the version in a footer. */
const HELD_BYTES = 8192;

/** The last text in the footer of Parquet: the program that wrote it. */
const PROGRAM = /ClickHouse( [ \w.()-]+)/g;

/** How a complete table ends: as it begins, or with the end of an Arrow stream. */
const ENDS: Readonly<Record<TableFormat, Buffer>> = {
  parquet: Buffer.from("PAR1"),
  arrow: Buffer.from("ARROW1"),
  "arrow-stream": Buffer.from("ffffffff00000000", "hex"),
};

/**
 * Passes the bytes of a table on as ClickHouse writes them, except for the error behind them and the server's version.
 */
export class TableReader extends BodyBytes {
  /** A table is not cut: its query has the page's own limit. */
  readonly hasMore = false;
  readonly returned = null;
  readonly #format: TableFormat;

  constructor(format: TableFormat, tag: string | null) {
    super(tag, UNMARKED_ERROR, HELD_BYTES);
    this.#format = format;
  }

  end(): Buffer {
    if (this.error !== null) throw this.error;
    const end = ENDS[this.#format];
    if (!this.held.subarray(-end.length).equals(end))
      throw new ClickhouseError("The response of ClickHouse is incomplete.");
    return this.#format === "parquet" ? withoutVersion(this.held) : this.held;
  }

  protected pass(data: Buffer): Buffer {
    return this.hold(data);
  }
}

/** The length of the text has to stay. */
function withoutVersion(end: Buffer): Buffer {
  const text = end.toString("latin1");
  const match = [...text.matchAll(PROGRAM)].at(-1);
  if (!match) return end;
  const [program, version = ""] = match;
  const last = match.index + program.length;
  return Buffer.from(end).fill(" ", last - version.length, last);
}
