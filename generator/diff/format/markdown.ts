import { type Change, KINDS, SEVERITIES, severityOf } from "../change.js";
import type { Accepted, StaleEntry } from "../judgement.js";
import type { Report } from "./report.js";
import {
  differenceText,
  groundsText,
  HEADINGS,
  oneLine,
  placeText,
  type Quote,
  staleText,
  summaryText,
} from "./words.js";

/** GitHub refuses a comment of more than 65,536 characters: this leaves room for headings, and for what a bot adds. */
const MAX_CHARACTERS = 60_000;

/** Of a section this many items are open, the others folded. */
const OPEN_ITEMS = 10;

interface Section {
  readonly heading: string;
  readonly items: readonly string[];
  /** How many are not folded. */
  readonly open: number;
}

/** The report as a comment on a pull request: what breaks on top, long parts folded, within GitHub's limit. */
export function markdownReport(report: Report): string {
  let room = MAX_CHARACTERS;
  const sections = sectionsOf(report).map((section) => {
    const items = section.items.filter((item) => (room -= item.length + 1) > 0);
    return sectionText(section, items);
  });
  const head = [
    `### API changes: ${summaryText(report)}`,
    `From ${code(report.base)} to ${code(report.head)}.`,
  ];
  return `${[...head, ...sections].join("\n\n")}\n`;
}

function sectionsOf(report: Report): readonly Section[] {
  const sections = [
    ...SEVERITIES.map((severity) => ({
      heading: HEADINGS[severity],
      items: report.open.filter((change) => severityOf(change) === severity).map(changeItem),
      open: severity === "compatible" ? 0 : OPEN_ITEMS,
    })),
    { heading: "Accepted", items: report.accepted.map(acceptedItem), open: 0 },
    { heading: "Stale entries of the accept file", items: report.stale.map(staleItem), open: OPEN_ITEMS },
  ];
  return sections.filter(({ items }) => items.length > 0);
}

function sectionText({ heading, items: all, open }: Section, items: readonly string[]): string {
  const folded = items.slice(open);
  const left = all.length - items.length;
  const summary = `${open === 0 ? "All" : "Another"} ${String(folded.length)}`;
  return [
    `#### ${heading} (${String(all.length)})`,
    ...(open === 0 || items.length === 0 ? [] : [items.slice(0, open).join("\n")]),
    ...(folded.length === 0
      ? []
      : [`<details><summary>${summary}</summary>\n\n${folded.join("\n")}\n\n</details>`]),
    ...(left === 0
      ? []
      : [`${String(left)} are left out here: \`--format text\` and \`--format json\` tell all.`]),
  ].join("\n\n");
}

function changeItem(change: Change): string {
  return [changeLine(change), ...change.details.map((detail) => `  - ${code(detail)}`)].join("\n");
}

function changeLine(change: Change): string {
  const difference = differenceText(change, code);
  const parts = [
    `**${KINDS[change.kind].title}** ${code(change.endpoint)}`,
    difference,
    placeText(change, code),
  ];
  return `- ${parts.filter((part) => part !== "").join(" · ")}`;
}

function acceptedItem({ change, entry }: Accepted): string {
  return `${changeLine(change)}\n  - ${groundsText(entry, code)}`;
}

function staleItem(stale: StaleEntry): string {
  const { kind, endpoint, reason } = stale.entry;
  return `- **${KINDS[kind].title}** ${code(endpoint)} · ${code(reason)}\n  - ${staleText(stale)}`;
}

/** A code span, which nothing in the text can end: neither Markdown nor HTML nor a mention means anything in one. */
const code: Quote = (text) => {
  const line = oneLine(text);
  const longest = Math.max(0, ...Array.from(line.matchAll(/`+/g), ([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  const space = longest > 0 || line.trim() === "" ? " " : "";
  return `${fence}${space}${line}${space}${fence}`;
};
