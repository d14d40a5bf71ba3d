import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";
import type { ResultColumns } from "../core/warehouse/warehouse.js";
import { type ColumnValues, type TableColumn, TableRows, type TableType } from "./tables.js";

/** Writes rows as a Parquet file, one row group after another. */
export class ParquetRows extends TableRows {
  readonly #bytes = new ByteWriter();
  readonly #writer: ParquetWriter;

  constructor(columns: ResultColumns) {
    super(columns);
    const fields = this.columns.map(schemaElement);
    const schema = [{ name: "schema", num_children: fields.length }, ...fields];
    this.#writer = new ParquetWriter({ writer: this.#bytes, schema });
  }

  get complete(): number {
    return this.#bytes.index;
  }

  protected written(): Buffer {
    const bytes = Buffer.from(this.#bytes.getBytes());
    this.#bytes.index = 0;
    return bytes;
  }

  protected write(values: readonly ColumnValues[], rowGroupSize: number): void {
    const columnData = values.map((data, i) => ({ name: this.columns[i]?.name ?? "", data: [...data] }));
    // The writer has no `flush`, so that nothing is asynchronous.
    void this.#writer.write({ columnData, rowGroupSize });
  }

  protected finish(): void {
    void this.#writer.finish();
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
