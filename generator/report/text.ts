import { styleText } from "node:util";
import { sentenceText } from "../manifest/strings.js";
import { counted, type Item, type Level, oneLine, plainText, type Report } from "./report.js";

/** Wide enough for `compatible`, the longest label. */
const MARGIN = 12;
const INDENT = " ".repeat(MARGIN + 2);

/** The report for people: a line per item, its details under it, then the summary and the verdict. */
export function textReport({ sections, notes, summary, verdict }: Report): string {
  const lines = [
    ...sections.flatMap(({ items }) => items.flatMap(itemLines)),
    ...notes.map((note) => `${"note".padEnd(MARGIN)}${plainText(note)}`),
    sentenceText(summary, oneLine),
    verdict,
  ];
  return `${lines.join("\n")}\n`;
}

function itemLines({ level, label, id, endpoints, difference, location, details }: Item): string[] {
  const [first = ""] = endpoints;
  const subject = endpoints.length === 1 ? oneLine(first) : counted(endpoints.length, "endpoint");
  const parts = [id, subject, ...(difference === null ? [] : [sentenceText(difference, oneLine)])];
  const where = location.length === 0 ? "" : `  (${location.map(oneLine).join(", ")})`;
  return [
    `${styled(COLORS[level], label.padEnd(MARGIN))}${parts.join("  ")}${where}`,
    ...(endpoints.length === 1 ? [] : [`${INDENT}${endpoints.map(oneLine).join(", ")}`]),
    ...details.map((detail) => `${INDENT}${plainText(detail)}`),
  ];
}

const COLORS = { error: "red", warning: "yellow", notice: "dim" } as const satisfies Record<Level, string>;

/** Colours a word where the stream is a terminal that shows colours (https://no-color.org). */
export function styled(
  color: "red" | "yellow" | "dim",
  word: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  const { NO_COLOR: off, TERM: terminal } = process.env;
  return stream.isTTY && !off && terminal !== "dumb" ? styleText(color, word) : word;
}
