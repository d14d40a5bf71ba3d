import type { Spread } from "./statistics.js";

/** A column of a table: text, or a number with this many digits after the point. */
export interface Column {
  readonly key: string;
  readonly head: string;
  readonly digits?: number;
}

export type Row = Readonly<Record<string, string | number>>;

export interface Table {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly notes?: readonly string[];
}

/** A measured ratio and its limit. */
export interface Bar {
  readonly name: string;
  readonly ratio: Spread;
  readonly limit: { readonly atLeast: number } | { readonly atMost: number };
}

/** The result of one section. */
export interface Findings {
  readonly tables: readonly Table[];
  readonly bars: readonly Bar[];
}

export function isMet({ ratio: { median }, limit }: Bar): boolean {
  return "atLeast" in limit ? median >= limit.atLeast : median <= limit.atMost;
}

/** The ratio of something measured once. */
export function single(value: number): Spread {
  return { median: value, lowest: value, highest: value };
}

/** Columns of a table of downloads. */
export const DOWNLOAD_COLUMNS: readonly Column[] = [
  { key: "subject", head: "" },
  { key: "megabytes", head: "MB", digits: 0 },
  { key: "seconds", head: "seconds", digits: 2 },
  { key: "megabytesPerSecond", head: "MB/s", digits: 0 },
  { key: "firstByteMs", head: "first byte ms", digits: 0 },
  { key: "cpuPerMegabyte", head: "CPU ms/MB", digits: 2 },
  { key: "memory", head: "MiB above idle", digits: 1 },
];

/** A table as lines of text: text to the left, numbers to the right. */
export function tableText({ title, columns, rows, notes = [] }: Table): string {
  const cells = [columns.map(({ head }) => head), ...rows.map((row) => columns.map((c) => cell(row, c)))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)));
  const pad = (text: string, i: number): string =>
    columns[i]?.digits === undefined ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0);
  const [head = "", ...body] = cells.map((line) => `  ${line.map(pad).join("   ").trimEnd()}`);
  const rule = `  ${"-".repeat(Math.max(...[head, ...body].map((line) => line.length)) - 2)}`;
  return [title, "", head, rule, ...body, ...notes.map((note) => `\n  ${note}`)].join("\n");
}

/** The bars with their verdicts. */
export function barsText(bars: readonly Bar[]): string {
  const columns: Column[] = [
    { key: "verdict", head: "bar" },
    { key: "name", head: "" },
    { key: "median", head: "ratio", digits: 2 },
    { key: "limit", head: "limit" },
    { key: "range", head: "range of the rounds" },
  ];
  const rows = bars.map((bar) => ({
    verdict: isMet(bar) ? "ok" : "MISSED",
    name: bar.name,
    median: bar.ratio.median,
    limit: "atLeast" in bar.limit ? `≥ ${bar.limit.atLeast.toFixed(2)}` : `≤ ${bar.limit.atMost.toFixed(2)}`,
    range: `${bar.ratio.lowest.toFixed(2)} to ${bar.ratio.highest.toFixed(2)}`,
  }));
  return tableText({ title: "Bars (median of the rounds' ratios)", columns, rows });
}

function cell(row: Row, { key, digits }: Column): string {
  const value = row[key] ?? "";
  if (typeof value === "string") return value;
  if (Number.isNaN(value)) return "-";
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
