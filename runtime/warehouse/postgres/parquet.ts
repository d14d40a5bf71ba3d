import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";
import type { ResultColumns } from "../warehouse.js";
import type { RowWriter } from "./rows.js";
import { ColumnBatch, type TableColumn, type TableType } from "./tables.js";

/** Writes rows as a Parquet file, one row group after another. */
export class ParquetRows implements RowWriter {
  readonly #batch: ColumnBatch;
  readonly #bytes = new ByteWriter();
  readonly #writer: ParquetWriter;

  constructor(columns: ResultColumns) {
    this.#batch = new ColumnBatch(columns);
    const fields = this.#batch.columns.map(schemaElement);
    const schema = [{ name: "schema", num_children: fields.length }, ...fields];
    this.#writer = new ParquetWriter({ writer: this.#bytes, schema });
  }

  get size(): number {
    return this.#batch.bytes + this.#bytes.index;
  }

  get complete(): number {
    return this.#bytes.index;
  }

  row(frame: Buffer, offset: number): void {
    this.#batch.add(frame, offset);
    if (this.#batch.isFull) this.#writeGroup();
  }

  end(): Buffer {
    if (this.#batch.rows > 0) this.#writeGroup();
    void this.#writer.finish();
    return this.take();
  }

  #writeGroup(): void {
    const { rows: rowGroupSize, columns } = this.#batch;
    const columnData = this.#batch
      .take()
      .map((data, i) => ({ name: columns[i]?.name ?? "", data: [...data] }));
    // The writer has no `flush`, so that nothing is asynchronous.
    void this.#writer.write({ columnData, rowGroupSize });
  }

  take(): Buffer {
    const bytes = Buffer.from(this.#bytes.getBytes());
    this.#bytes.index = 0;
    return bytes;
  }
}

type PhysicalType = Omit<SchemaElement, "name">;

const TYPES: Readonly<Record<Exclude<TableType, object>, PhysicalType>> = {
  boolean: { type: "BOOLEAN" },
  int32: { type: "INT32" },
  int64: { type: "INT64" },
  float32: { type: "FLOAT" },
  float64: { type: "DOUBLE" },
  date: { type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } },
  timestamp: {
    type: "INT64",
    converted_type: "TIMESTAMP_MICROS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
  },
  string: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
};

function schemaElement({ name, type }: TableColumn): SchemaElement {
  const physical = typeof type === "object" ? decimalType(type) : TYPES[type];
  return { name, repetition_type: "OPTIONAL", ...physical };
}

function decimalType(digits: { readonly precision: number; readonly scale: number }): PhysicalType {
  return {
    ...(digits.precision <= 18 ? { type: "INT64" } : { type: "FIXED_LEN_BYTE_ARRAY", type_length: 16 }),
    converted_type: "DECIMAL",
    logical_type: { type: "DECIMAL", ...digits },
    ...digits,
  };
}
