/** What a value of an export must be, so that the copy holds it exactly. The load itself checks it too. */
export interface ValueCheck {
  readonly column: string;
  /** Types of the export and of the copy. */
  readonly from: string;
  readonly to: string;
  /** Expressions of the engine: true or false, and the value as a text. */
  readonly isExact: string;
  readonly value: string;
}

/** A value that the copy does not hold. */
export interface Misfit {
  readonly path: string;
  readonly rowGroup: number;
  /** In the file, from 0. */
  readonly row: number;
  readonly check: Pick<ValueCheck, "column" | "from" | "to">;
  readonly value: string | null;
}

export function misfitText({ path, rowGroup, row, check, value }: Misfit): string {
  const { column, from, to } = check;
  const place = `${path}, row group ${String(rowGroup)}, row ${String(row)}`;
  return `${place}: ${shown(value)} of ${column} does not fit ${to} (${from} in the file)`;
}

const MAX_SHOWN = 100;

function shown(value: string | null): string {
  if (value === null) return "a null";
  return `the value ${value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value}`;
}

/** The row group of a row, by the number of rows of each. */
export function rowGroupOf(row: number, rows: readonly number[]): number {
  let end = 0;
  return rows.findIndex((count) => (end += count) > row);
}
