import { styleText } from "node:util";
import { sentenceText } from "../manifest/strings.js";
import { counted, type Item, type Level, oneLine, plainText, type Report } from "./report.js";

/** The terminal that a text report is for. */
export interface Terminal {
  /** Columns to wrap at; null for a file or a pipe, whose lines stay whole. */
  readonly width: number | null;
  readonly hasColor: boolean;
}

/** Wide enough for `compatible`, the longest label. */
const MARGIN = 12;
const INDENT = " ".repeat(MARGIN + 2);

/** The report for a terminal: a line per item, its details under it, then the summary and the verdict. */
export function textReport({ sections, notes, summary, verdict }: Report, terminal: Terminal): string {
  const lines = [
    ...sections.flatMap(({ items }) => items.flatMap((item) => itemLines(item, terminal))),
    ...notes.flatMap((note) => wrapped(`${"note".padEnd(MARGIN)}${plainText(note)}`, terminal)),
    ...wrapped(sentenceText(summary, oneLine), terminal),
    ...wrapped(verdict, terminal),
  ];
  return `${lines.join("\n")}\n`;
}

function itemLines(
  { level, label, id, endpoints, difference, location, details }: Item,
  terminal: Terminal,
): string[] {
  const [first = ""] = endpoints;
  const subject = endpoints.length === 1 ? oneLine(first) : counted(endpoints.length, "endpoint");
  const parts = [id, subject, ...(difference === null ? [] : [sentenceText(difference, oneLine)])];
  const where = location.length === 0 ? "" : `  (${location.map(oneLine).join(", ")})`;
  const [line = "", ...rest] = wrapped(`${label.padEnd(MARGIN)}${parts.join("  ")}${where}`, terminal);
  const colored = terminal.hasColor
    ? `${styleText(COLORS[level], line.slice(0, MARGIN))}${line.slice(MARGIN)}`
    : line;
  return [
    colored,
    ...rest,
    ...(endpoints.length === 1 ? [] : wrapped(`${INDENT}${endpoints.map(oneLine).join(", ")}`, terminal)),
    ...details.flatMap((detail) => wrapped(`${INDENT}${plainText(detail)}`, terminal)),
  ];
}

const COLORS = { error: "red", warning: "yellow", notice: "dim" } as const satisfies Record<Level, string>;

/** Breaks a line at spaces to the terminal's width; a longer word stays whole. */
function wrapped(line: string, { width }: Terminal): string[] {
  if (width === null || line.length <= width) return [line];
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const at = rest.lastIndexOf(" ", width);
    const end = at > INDENT.length ? at : rest.indexOf(" ", INDENT.length);
    if (end === -1) break;
    lines.push(rest.slice(0, end).trimEnd());
    rest = INDENT + rest.slice(end).trimStart();
  }
  return [...lines, rest];
}
