import { isTable, type RowFormat } from "../../model/query.js";
import type { ResultColumns } from "../warehouse.js";
import { type RowWriter, TextWriter } from "./rows.js";

/** Makes the writer of one result. */
export type MakeWriter = () => RowWriter;

/** Null where the libraries of the format have to be loaded: `loadWriter` does so. */
export function textWriter(columns: ResultColumns, format: RowFormat): MakeWriter | null {
  return isTable(format) ? null : () => new TextWriter(columns, format);
}

/** The libraries of the binary formats are loaded with the first request for one. */
export async function loadWriter(columns: ResultColumns, format: RowFormat): Promise<MakeWriter> {
  if (format === "parquet") {
    const { ParquetRows } = await import("./parquet.js");
    return () => new ParquetRows(columns);
  }
  const { ArrowRows } = await import("./arrow.js");
  return () => new ArrowRows(columns, format === "arrow" ? format : "arrow-stream");
}
