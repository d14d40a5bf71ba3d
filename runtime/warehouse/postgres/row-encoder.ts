import type { TextFormat } from "../../model/query.js";
import { type ResultColumns, ROW_SEPARATORS } from "../warehouse.js";
import type { Texts } from "./prepared-statements.js";
import { type RowWriter, rowWriter } from "./row-text.js";

/** Writes rows in parts that belong together: the bytes of a result are those of `write`, in order, and of `end`. */
export interface RowEncoder {
  /** The bytes that are complete; perhaps none. */
  write(rows: readonly Texts[]): Buffer;
  /** The last bytes. */
  end(): Buffer;
}

/** Text has the format's separator between rows. */
export class TextRows implements RowEncoder {
  readonly #writer: RowWriter;
  readonly #separator: string;
  #hasRows = false;

  constructor(columns: ResultColumns, format: TextFormat) {
    this.#writer = rowWriter(columns, format);
    this.#separator = ROW_SEPARATORS[format];
  }

  write(rows: readonly Texts[]): Buffer {
    if (rows.length === 0) return NOTHING;
    const before = this.#hasRows ? this.#separator : "";
    this.#hasRows = true;
    const text = this.#writer.ofRows(rows);
    const bytes = typeof text === "string" ? Buffer.from(text) : text;
    return Buffer.concat([Buffer.from(before), bytes]);
  }

  end(): Buffer {
    return NOTHING;
  }
}

const NOTHING = Buffer.alloc(0);
