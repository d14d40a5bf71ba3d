/** A column of an export's file, by the file's own schema: readers rename and convert columns. */
export interface FileColumn {
  readonly name: string;
  /** What the file says of the column's type. */
  readonly shape: string;
  readonly logical: LogicalType | null;
  /** Values, also nested ones, of which an engine may read microseconds only. */
  readonly nanoseconds: "time" | "int96" | null;
}

/** Types of Parquet whose values an engine reads as those of another type. */
export type LogicalType = "null" | "time" | "time in nanoseconds" | "interval";

export interface ExportFile {
  readonly path: string;
  readonly columns: readonly FileColumn[];
}

/** Files of an export that have the same columns. */
export interface FileGroup {
  readonly paths: readonly string[];
  readonly columns: readonly FileColumn[];
}

const COMPRESSED = /\.(?:gz|gzip|zst|zstd|br|xz|lzma|lz4|bz2|snappy|deflate)(?:\?.*)?$/i;

/** A file that is compressed as a whole, by its name: ClickHouse unpacks some, DuckDB none. */
export function compressedProblem(relation: string, paths: readonly string[]): string | null {
  const path = paths.find((each) => COMPRESSED.test(each));
  return path === undefined
    ? null
    : `The export of ${relation}: ${path} is compressed as a whole: unpack it. Parquet compresses its own pages.`;
}

/** Each group is read with its own types: a reader would convert the values of later files to the types of the first one. */
export function fileGroups(files: readonly ExportFile[]): readonly FileGroup[] {
  const groups = new Map<string, ExportFile[]>();
  for (const file of files) {
    const key = JSON.stringify(file.columns.map(({ name, shape }) => [name, shape]));
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  return [...groups.values()].map((each) => ({
    paths: each.map(({ path }) => path),
    columns: each[0]?.columns ?? [],
  }));
}

/** The logical type that the words of an engine's metadata mean. */
export function logicalTypeIn(text: string): LogicalType | null {
  if (/^Null/.test(text)) return "null";
  if (/^Interval/i.test(text)) return "interval";
  if (!/^Time(?:Type)?\(/.test(text)) return null;
  return /NanoSeconds|nanoseconds/.test(text) ? "time in nanoseconds" : "time";
}
