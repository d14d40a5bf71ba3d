import type { Middle } from "./statistics.js";

/** A column of a table; text unless it says how many digits follow the point. */
export interface Column {
  readonly key: string;
  readonly head: string;
  readonly digits?: number;
}

export type Row = Readonly<Record<string, string | number>>;

/** A table with what it shows. A row may leave a column out. */
export interface Table {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** What else a reader should know. */
  readonly notes?: readonly string[];
}

/** A ratio with what is expected of it. */
export interface Bar extends Middle {
  readonly what: string;
  readonly expected: { readonly atLeast: number } | { readonly atMost: number };
}

/** What a part of the benchmark found. */
export interface Findings {
  readonly tables: readonly Table[];
  readonly bars: readonly Bar[];
}

export function isMet({ median, expected }: Bar): boolean {
  return "atLeast" in expected ? median >= expected.atLeast : median <= expected.atMost;
}
