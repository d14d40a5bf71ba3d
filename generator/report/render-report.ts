import { styleText } from "node:util";
import { type Sentence, sentenceText, visible } from "../manifest/strings.js";
import {
  type Block,
  codeSpan,
  counted,
  type Format,
  grouped,
  type Item,
  type Level,
  oneLine,
  plainText,
  type Report,
  type Section,
} from "./report.js";
import { sarifReport } from "./sarif.js";

/** A report in one of the formats, with a line break at its end. */
export function renderReport(report: Report, format: Format): string {
  return RENDERERS[format](report);
}

const RENDERERS: Readonly<Record<Format, (report: Report) => string>> = {
  text: textReport,
  markdown: markdownReport,
  json: jsonReport,
  github: githubReport,
  sarif: sarifReport,
};

/** Texts are whole and as the manifest has them, with hidden characters escaped. */
function jsonReport({ json }: Report): string {
  return `${JSON.stringify(json, null, 2).split("\n").map(visible).join("\n")}\n`;
}

/** Wide enough for `compatible`, the longest label. */
const MARGIN = 12;
const INDENT = " ".repeat(MARGIN + 2);

/** The report for people: a line per item, its details under it, then the summary and the verdict. */
function textReport({ sections, requests, notes, summary, verdict }: Report): string {
  const lines = [
    ...[...sections, ...(requests === undefined ? [] : [requests])].flatMap(({ items }) =>
      grouped(items).flatMap(itemLines),
    ),
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
    grouped(items).map((item) =>
      annotation({ ...item, file: item.file === null ? null : project + item.file }),
    ),
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

/** GitHub refuses a comment of more than 65,536 characters: this leaves room for headings, and for what a bot adds. */
const MAX_CHARACTERS = 60_000;

/** Endpoints of a group that are named on its line; more are folded. */
const MAX_NAMED = 3;

/** The report as a comment on a pull request: the verdict first, long parts folded, within GitHub's limit. */
function markdownReport({ title, verdict, summary, notes, sections, requests, blocks }: Report): string {
  const head = [`### ${title}: ${verdict}`, ...[summary, ...notes].map(inMarkdown)];
  let room = MAX_CHARACTERS;
  const parts = [...sections, ...(requests === undefined ? [] : [requests])]
    .map((section) => ({ ...section, items: grouped(section.items) }))
    .filter(({ items }) => items.length > 0)
    .map((section) => {
      const shown = section.items.map(markdownItem).filter((item) => (room -= item.length + 1) > 0);
      return sectionText(section, shown);
    });
  const appended = blocks.map(blockText).filter((block) => (room -= block.length) > 0);
  return `${[...head, ...parts, ...appended].join("\n\n")}\n`;
}

function sectionText({ heading, items, open }: Section, shown: readonly string[]): string {
  const folded = shown.slice(open);
  const left = items.length - shown.length;
  const count = items.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
  const more = open === 0 ? String(folded.length) : `${String(folded.length)} more`;
  return [
    `#### ${heading} (${String(count)})`,
    ...(open === 0 || shown.length === 0 ? [] : [shown.slice(0, open).join("\n")]),
    ...(folded.length === 0
      ? []
      : [`<details><summary>${more}</summary>\n\n${folded.join("\n")}\n\n</details>`]),
    ...(left === 0
      ? []
      : [`${String(left)} are left out here: \`--format text\` and \`--format json\` list all.`]),
  ].join("\n\n");
}

function markdownItem({ title, id, endpoints, difference, location, details }: Item): string {
  const named = endpoints.length <= MAX_NAMED;
  const parts = [
    `**${title}** ${codeSpan(id)}`,
    named ? endpoints.map(codeSpan).join(", ") : counted(endpoints.length, "endpoint"),
    ...(difference === null ? [] : [inMarkdown(difference)]),
    ...(location.length === 0 ? [] : [location.map(codeSpan).join(", ")]),
  ];
  const summary = `<summary>${counted(endpoints.length, "endpoint")}</summary>`;
  return [
    `- ${parts.join(" · ")}`,
    ...details.map((detail) => `  - ${inMarkdown(detail)}`),
    ...(named ? [] : [`  <details>${summary}\n\n  ${endpoints.map(codeSpan).join(", ")}\n\n  </details>`]),
  ].join("\n");
}

function inMarkdown(sentence: Sentence): string {
  return sentenceText(sentence, codeSpan);
}

/** A fence longer than any run of backticks in its text: nothing in it can end the block. */
function blockText({ heading, language, text }: Block): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `<details><summary>${heading}</summary>\n\n${fence}${language}\n${text}\n${fence}\n\n</details>`;
}
