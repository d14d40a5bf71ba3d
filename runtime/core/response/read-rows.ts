import type { AnsweredRows } from "./answer.js";
import type { Sent } from "./respond.js";

/** Rows as NDJSON, in memory. */
interface RowsRead {
  readonly body: string;
  /** Whether the result is longer: the body ends after a whole row. */
  readonly isCut: boolean;
  /** For the log: the rows of the result, and the bytes of the body. */
  readonly sent: Sent;
}

/** Reads a result up to a size. */
export async function readRows({ result, hasRunQuery }: AnsweredRows, maxBytes: number): Promise<RowsRead> {
  const read: Buffer[] = [];
  let rows: number | null = null;
  let databaseMs = 0;
  if (result.kind === "buffered") {
    read.push(result.body);
    ({ rows, databaseMs } = result);
  } else {
    let bytes = 0;
    let chunk = await result.stream.chunks.next();
    for (; !chunk.done && bytes <= maxBytes; chunk = await result.stream.chunks.next()) {
      read.push(Buffer.from(chunk.value));
      bytes += chunk.value.length;
    }
    const end = chunk.done ? chunk : await result.stream.chunks.return();
    ({ returned: rows, milliseconds: databaseMs } = end.value);
  }
  const text = Buffer.concat(read);
  const isCut = text.length > maxBytes;
  // The incomplete last line of a cut body is dropped.
  const body = isCut ? text.toString("utf8", 0, text.lastIndexOf("\n", maxBytes)) : text.toString();
  const bytes = Buffer.byteLength(body);
  return { body, isCut, sent: { rows, bytes, databaseMs: hasRunQuery ? databaseMs : null } };
}

/** The lines of an NDJSON body. */
export function linesOf(body: string): readonly string[] {
  return body.split("\n").filter((line) => line !== "");
}

export type ReadRow = Readonly<Record<string, unknown>>;

/** A row as an object. Numbers of more digits than JavaScript keeps become texts. */
export function rowOf(line: string): ReadRow {
  const exact = line.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (match) =>
    match.startsWith('"') || match.replace(/e.*$/i, "").replace(/\D/g, "").length <= 15
      ? match
      : JSON.stringify(match),
  );
  return JSON.parse(exact) as ReadRow;
}
