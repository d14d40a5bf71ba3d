import type { RowFormat } from "../../model/query.js";
import type { ResultColumns } from "../warehouse.js";
import { type RowEncoder, TextRows } from "./row-encoder.js";

/** The libraries of the binary formats are loaded with the first request for one. */
export async function encoderOf(columns: ResultColumns, format: RowFormat): Promise<RowEncoder> {
  switch (format) {
    case "parquet": {
      const { ParquetRows } = await import("./parquet-rows.js");
      return new ParquetRows(columns);
    }
    case "arrow":
    case "arrow-stream": {
      const { ArrowRows } = await import("./arrow-rows.js");
      return new ArrowRows(columns, format);
    }
    default:
      return new TextRows(columns, format);
  }
}
