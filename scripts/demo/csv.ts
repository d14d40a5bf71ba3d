/** A field: quoted with quotes doubled inside, or bare; then what ends it. */
const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;

/** A CSV file's header and records. An empty field is null, as dbt reads it. */
export interface Csv {
  readonly header: readonly string[];
  readonly records: readonly (readonly (string | null)[])[];
}

/** Reads a CSV text as RFC 4180 describes it. Throws with the line number when a record is not well formed. */
export function parseCsv(text: string): Csv {
  const [header, ...records] = readRecords(text.replace(/^\uFEFF/, ""));
  if (!header) throw new Error("The file is empty; it needs a header line.");
  const ragged = records.findIndex((record) => record.length !== header.length);
  if (ragged >= 0) {
    throw new Error(
      `Record ${ragged + 1} has ${records[ragged]?.length} fields; the header has ${header.length}.`,
    );
  }
  return { header: header.map((name) => name ?? ""), records };
}

function readRecords(text: string): (string | null)[][] {
  const records: (string | null)[][] = [];
  let record: (string | null)[] = [];
  for (let at = 0; at < text.length || record.length > 0;) {
    const field = fieldAt(text, at);
    record.push(field.value);
    at = field.end;
    if (field.separator === ",") continue;
    records.push(record);
    record = [];
  }
  return records;
}

function fieldAt(text: string, at: number): { value: string | null; separator: string; end: number } {
  FIELD.lastIndex = at;
  const match = FIELD.exec(text);
  if (!match) throw new Error(`Line ${text.slice(0, at).split("\n").length}: a quote is out of place.`);
  const value = match[1]?.replaceAll('""', '"') ?? match[2] ?? "";
  return { value: value === "" ? null : value, separator: match[3] ?? "", end: FIELD.lastIndex };
}
