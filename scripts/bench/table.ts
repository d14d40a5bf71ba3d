import { isMet, type Bar, type Column, type Row, type Table } from "./report.js";

/** A table as lines of text: words to the left, numbers to the right. */
export function tableText({ title, columns, rows, notes = [] }: Table): string {
  const cells = [columns.map(({ head }) => head), ...rows.map((row) => columns.map((c) => cell(row, c)))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)));
  const lines = cells.map((line) =>
    line
      .map((text, i) =>
        columns[i]?.digits === undefined ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0),
      )
      .join("   ")
      .trimEnd(),
  );
  const [head = "", ...body] = lines;
  const rule = "-".repeat(Math.max(...lines.map((line) => line.length)));
  return [title, "", head, rule, ...body, ...notes.map((note) => `\n${note}`)]
    .map((line) => (line === title ? line : indent(line)))
    .join("\n");
}

/** The bars, each with its value, its expectation and the verdict. */
export function barsText(bars: readonly Bar[]): string {
  const columns: Column[] = [
    { key: "verdict", head: "bar" },
    { key: "what", head: "" },
    { key: "median", head: "ratio", digits: 2 },
    { key: "expected", head: "expected" },
    { key: "rounds", head: "single rounds" },
  ];
  return tableText({ title: "Bars (median of the rounds' ratios)", columns, rows: bars.map(barRow) });
}

function barRow(bar: Bar): Row {
  const { what, median, lowest, highest, expected } = bar;
  return {
    verdict: isMet(bar) ? "ok" : verdictWhenMissed(bar),
    what,
    median,
    expected:
      "atLeast" in expected
        ? `at least ${expected.atLeast.toFixed(2)}`
        : `at most  ${expected.atMost.toFixed(2)}`,
    rounds: `${lowest.toFixed(2)} to ${highest.toFixed(2)}`,
  };
}

function verdictWhenMissed({ expected }: Bar): string {
  return "atLeast" in expected ? "BELOW" : "ABOVE";
}

function cell(row: Row, { key, digits }: Column): string {
  const value = row[key] ?? "";
  if (typeof value === "string") return value;
  if (Number.isNaN(value)) return "-";
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function indent(line: string): string {
  return line.replace(/^(?=[^\n])/gm, "  ");
}
