import {
  AsyncByteQueue,
  Bool,
  type Data,
  DateDay,
  type DataType,
  Decimal,
  Field,
  Float32,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  type RecordBatchWriter,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import type { ResultColumns } from "../warehouse.js";
import { type ColumnValues, TableRows, type TableType } from "./tables.js";

/** Writes rows as an Arrow file or stream, one record batch after another. */
export class ArrowRows extends TableRows {
  readonly #schema: Schema;
  readonly #sink = new Sink();
  readonly #writer: RecordBatchWriter;

  constructor(columns: ResultColumns, format: "arrow" | "arrow-stream") {
    super(columns);
    this.#schema = new Schema(this.columns.map(({ name, type }) => new Field(name, arrowType(type), true)));
    const options = { autoDestroy: false };
    this.#writer =
      format === "arrow" ? new RecordBatchFileWriter(options) : new RecordBatchStreamWriter(options);
    this.#writer.reset(this.#sink, this.#schema);
  }

  get complete(): number {
    return this.#sink.size;
  }

  take(): Buffer {
    return this.#sink.take();
  }

  protected write(values: readonly ColumnValues[], length: number): void {
    const children = values.map((each, i) => columnData(this.columns[i]?.type ?? "string", each));
    const type = new Struct(this.#schema.fields);
    this.#writer.write(new RecordBatch(this.#schema, makeData({ type, length, nullCount: 0, children })));
  }

  protected finish(): void {
    this.#writer.finish();
  }
}

/** Collects the bytes of a writer. */
class Sink extends AsyncByteQueue {
  #parts: Buffer[] = [];

  override write(value: Uint8Array): void {
    this.#parts.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  }

  get size(): number {
    return this.#parts.reduce((sum, { length }) => sum + length, 0);
  }

  take(): Buffer {
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    return bytes;
  }
}

/** The type in a file, and where another one has the same values in memory, that one. */
const TYPES: Readonly<Record<Exclude<TableType, object>, readonly [DataType, memory?: DataType]>> = {
  boolean: [new Bool()],
  int32: [new Int32()],
  int64: [new Int64()],
  float32: [new Float32()],
  float64: [new Float64()],
  date: [new DateDay(), new Int32()],
  timestamp: [new TimestampMicrosecond("UTC"), new Int64()],
  string: [new Utf8()],
};

function arrowType(type: TableType): DataType {
  return typeof type === "object" ? new Decimal(type.scale, type.precision, 128) : TYPES[type][0];
}

function columnData(type: TableType, values: ColumnValues): Data {
  const [own, memory = own] = typeof type === "object" ? [arrowType(type)] : TYPES[type];
  const written = typeof type === "object" ? values.map(wideInteger) : values;
  return vectorFromArray(written, memory).data[0]?.clone(own) as Data;
}

/** 128 bits, the low ones first. */
function wideInteger(value: ColumnValues[number]): Uint32Array | null {
  if (value === null) return null;
  const number = value as bigint;
  return new Uint32Array(new BigInt64Array([BigInt.asIntN(64, number), number >> 64n]).buffer);
}
