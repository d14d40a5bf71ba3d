import { styleText } from "node:util";
import { sentenceText, visible } from "../manifest/strings.js";
import { markdownReport } from "./markdown.js";
import { counted, type Format, type Item, type Level, oneLine, plainText, type Report } from "./report.js";

/** A report in one of the formats, with a line break at its end. */
export function renderReport(report: Report, format: Format): string {
  return RENDERERS[format](report);
}

const RENDERERS: Readonly<Record<Format, (report: Report) => string>> = {
  text: textReport,
  markdown: markdownReport,
  json: jsonReport,
  github: githubReport,
};

/** Texts are whole and as the manifest has them, with hidden characters escaped. */
function jsonReport({ json }: Report): string {
  return `${JSON.stringify(json, null, 2).split("\n").map(visible).join("\n")}\n`;
}

/** Wide enough for `compatible`, the longest label. */
const MARGIN = 12;
const INDENT = " ".repeat(MARGIN + 2);

/** The report for people: a line per item, its details under it, then the summary and the verdict. */
function textReport({ sections, notes, summary, verdict }: Report): string {
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

/**
 * The report as commands of GitHub's workflows, which show each item at its model's file. GitHub keeps ten of each
 * level per step: the most serious come first, and the last lines, for the log, sum up.
 */
function githubReport(report: Report): string {
  const { sections, notes, summary, verdict, project = "" } = report;
  const commands = sections.flatMap(({ items }) =>
    items.map((item) => annotation({ ...item, file: item.file === null ? null : project + item.file })),
  );
  return `${[...commands, ...notes.map(plainText), sentenceText(summary, oneLine), verdict].join("\n")}\n`;
}

/** A command that annotates a file, or the run where `file` is null. */
function annotation({ level, file, title, endpoints, difference, location, details }: Item): string {
  const [first = ""] = endpoints;
  const subject = endpoints.length === 1 ? oneLine(first) : counted(endpoints.length, "endpoint");
  const properties = [
    ...(file === null ? [] : [`file=${property(file)}`]),
    `title=${property(`${title}: ${subject}`)}`,
  ];
  const where = location.length === 0 ? "" : `(${location.map(oneLine).join(", ")})`;
  const message = [
    [...(difference === null ? [] : [sentenceText(difference, oneLine)]), where]
      .filter((part) => part !== "")
      .join(" "),
    ...details.map(plainText),
    ...(endpoints.length === 1 ? [] : endpoints.map(oneLine)),
  ];
  return `::${level} ${properties.join(",")}::${data(message.filter((line) => line !== "").join("\n"))}`;
}

/** Percent signs and line breaks would be read as the command's own. */
function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** In a property, colons and commas too. */
function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
