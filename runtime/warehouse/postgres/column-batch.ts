import type { ResultColumns } from "../warehouse.js";
import type { Texts } from "./prepared-statements.js";
import { type TableColumn, tableColumns, type TableValue } from "./table-columns.js";

/** Rows and characters of a batch, which is a row group of Parquet and a record batch of Arrow: it is in memory as a whole. */
const MAX_ROWS = 8192;
const MAX_CHARACTERS = 2 * 1024 * 1024;

export type ColumnValues = readonly (TableValue | null)[];

/** Collects rows by their columns. */
export class ColumnBatch {
  readonly columns: readonly TableColumn[];
  #values: (TableValue | null)[][];
  #rows = 0;
  #characters = 0;

  constructor(columns: ResultColumns) {
    this.columns = tableColumns(columns);
    this.#values = this.columns.map(() => []);
  }

  get rows(): number {
    return this.#rows;
  }

  get isFull(): boolean {
    return this.#rows >= MAX_ROWS || this.#characters >= MAX_CHARACTERS;
  }

  /** A row may have more fields than columns. */
  add(row: Texts): void {
    this.#rows++;
    for (let i = 0; i < this.columns.length; i++) {
      const text = row[i] ?? null;
      this.#characters += text?.length ?? 0;
      this.#values[i]?.push(text === null ? null : (this.columns[i]?.read(text) ?? null));
    }
  }

  /** The values of the columns, and empties the batch. */
  take(): readonly ColumnValues[] {
    const values = this.#values;
    this.#values = this.columns.map(() => []);
    this.#rows = this.#characters = 0;
    return values;
  }
}
