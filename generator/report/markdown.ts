import { type Sentence, sentenceText } from "../manifest/strings.js";
import { type Block, codeSpan, counted, type Item, type Report, type Section } from "./report.js";

/** GitHub refuses a comment of more than 65,536 characters: this leaves room for headings, and for what a bot adds. */
const MAX_CHARACTERS = 60_000;

/** Endpoints of a group that are named on its line; more are folded. */
const MAX_NAMED = 3;

/** The report as a comment on a pull request: the verdict first, long parts folded, within GitHub's limit. */
export function markdownReport({ title, verdict, summary, notes, sections, blocks }: Report): string {
  const head = [`### ${title}: ${verdict}`, ...[summary, ...notes].map(inMarkdown)];
  let room = MAX_CHARACTERS;
  const parts = sections
    .filter(({ items }) => items.length > 0)
    .map((section) => {
      const shown = section.items.map(itemText).filter((item) => (room -= item.length + 1) > 0);
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

function itemText({ title, id, endpoints, difference, location, details }: Item): string {
  const named = endpoints.length <= MAX_NAMED;
  const parts = [
    `**${title}** ${codeSpan(id)}`,
    named ? endpoints.map(codeSpan).join(", ") : counted(endpoints.length, "endpoint"),
    ...(difference === null ? [] : [inMarkdown(difference)]),
    ...(location.length === 0 ? [] : [location.map(codeSpan).join(", ")]),
  ];
  const list = `  <details><summary>${counted(endpoints.length, "endpoint")}</summary>${endpoints.map(codeSpan).join(", ")}</details>`;
  return [
    `- ${parts.join(" · ")}`,
    ...details.map((detail) => `  - ${inMarkdown(detail)}`),
    ...(named
      ? []
      : [list.replace("</summary>", "</summary>\n\n  ").replace("</details>", "\n\n  </details>")]),
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
