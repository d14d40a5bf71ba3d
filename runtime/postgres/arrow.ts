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
} from "apache-arrow";
import type { ResultColumns } from "../core/warehouse/warehouse.js";
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

  protected written(): Buffer {
    return this.#sink.take();
  }

  protected write(values: readonly ColumnValues[], length: number): void {
    const children = values.map((each, i) => columnData(this.#schema.fields[i]?.type as DataType, each));
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

const TYPES: Readonly<Record<Exclude<TableType, object>, () => DataType>> = {
  boolean: () => new Bool(),
  int32: () => new Int32(),
  int64: () => new Int64(),
  float32: () => new Float32(),
  float64: () => new Float64(),
  date: () => new DateDay(),
  timestamp: () => new TimestampMicrosecond("UTC"),
  string: () => new Utf8(),
};

function arrowType(type: TableType): DataType {
  return typeof type === "object" ? new Decimal(type.scale, type.precision, 128) : TYPES[type]();
}

/** By hand: the builders of `apache-arrow` took 0.4 µs a value instead of 0.02, 2.4 s for a million rows of six columns. */
function columnData(type: DataType, values: ColumnValues): Data {
  const { length } = values;
  const { nullBitmap, nullCount } = validity(values);
  const common = { length, nullCount, ...(nullCount > 0 && { nullBitmap }) };
  if (type instanceof Utf8) return makeData({ type, ...common, ...textData(values) });
  if (type instanceof Bool)
    return makeData({ type, ...common, data: bits(values, (value) => value === true) });
  if (type instanceof Decimal) return makeData({ type, ...common, data: wideIntegers(values) });
  const data = new (type.ArrayType as ArrayOf)(length);
  const zero = data instanceof BigInt64Array ? 0n : 0;
  for (let i = 0; i < length; i++) data[i] = (values[i] ?? zero) as never;
  return makeData({ type, ...common, data } as Parameters<typeof makeData>[0]);
}

type ArrayOf = new (length: number) => Int32Array | BigInt64Array | Float32Array | Float64Array;

function validity(values: ColumnValues): { nullBitmap: Uint8Array; nullCount: number } {
  let nullCount = 0;
  for (const value of values) if (value === null) nullCount++;
  return { nullBitmap: bits(values, (value) => value !== null), nullCount };
}

function bits(values: ColumnValues, isSet: (value: ColumnValues[number]) => boolean): Uint8Array {
  const bytes = new Uint8Array((values.length + 7) >> 3);
  values.forEach((value, i) => {
    if (isSet(value)) bytes[i >> 3] = (bytes[i >> 3] ?? 0) | (1 << (i & 7));
  });
  return bytes;
}

function textData(values: ColumnValues): { valueOffsets: Int32Array; data: Uint8Array } {
  const valueOffsets = new Int32Array(values.length + 1);
  values.forEach((value, i) => {
    valueOffsets[i + 1] = (valueOffsets[i] ?? 0) + Buffer.byteLength((value ?? "") as string);
  });
  return { valueOffsets, data: Buffer.from(values.map((value) => value ?? "").join("")) };
}

/** 128 bits each, the low 64 first. */
function wideIntegers(values: ColumnValues): Uint32Array {
  const halves = new BigInt64Array(2 * values.length);
  values.forEach((value, i) => {
    if (value === null) return;
    halves[2 * i] = BigInt.asIntN(64, value as bigint);
    halves[2 * i + 1] = (value as bigint) >> 64n;
  });
  return new Uint32Array(halves.buffer);
}
