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

function schemaElement({ name, type }: TableColumn): SchemaElement {
  return { name, repetition_type: "OPTIONAL", ...physicalType(type) };
}

function physicalType(type: TableType): Omit<SchemaElement, "name"> {
  switch (type) {
    case "boolean":
      return { type: "BOOLEAN" };
    case "int32":
      return { type: "INT32" };
    case "int64":
      return { type: "INT64" };
    case "float32":
      return { type: "FLOAT" };
    case "float64":
      return { type: "DOUBLE" };
    case "date":
      return { type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } };
    case "timestamp":
      return {
        type: "INT64",
        converted_type: "TIMESTAMP_MICROS",
        logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
      };
    case "string":
      return { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } };
    default:
      return decimalElement(type);
  }
}

function decimalElement({
  precision,
  scale,
}: {
  precision: number;
  scale: number;
}): Omit<SchemaElement, "name"> {
  return {
    ...(precision <= 18 ? { type: "INT64" } : { type: "FIXED_LEN_BYTE_ARRAY", type_length: 16 }),
    converted_type: "DECIMAL",
    logical_type: { type: "DECIMAL", precision, scale },
    precision,
    scale,
  };
}
