import { codeSpan } from "../code-span.js";
import { commentText, type Section } from "../comment.js";
import { type Change, KINDS, SEVERITIES, severityOf } from "../../diff/change.js";
import type { Accepted, StaleEntry } from "../../diff/judgement.js";
import type { Report } from "./report.js";
import { differenceText, groundsText, HEADINGS, placeText, staleText, summaryText } from "./words.js";

/** Of a section this many items are open, the others folded. */
const OPEN_ITEMS = 10;

/** The report as a comment on a pull request: what breaks on top, long parts folded, within GitHub's limit. */
export function markdownReport(report: Report): string {
  const head = [
    `### API changes: ${summaryText(report)}`,
    `From ${codeSpan(report.base)} to ${codeSpan(report.head)}.`,
  ];
  return commentText(head, sectionsOf(report));
}

function sectionsOf(report: Report): readonly Section[] {
  return [
    ...SEVERITIES.map((severity) => ({
      heading: HEADINGS[severity],
      items: report.open.filter((change) => severityOf(change) === severity).map(changeItem),
      open: severity === "compatible" ? 0 : OPEN_ITEMS,
    })),
    { heading: "Accepted", items: report.accepted.map(acceptedItem), open: 0 },
    { heading: "Stale entries of the accept file", items: report.stale.map(staleItem), open: OPEN_ITEMS },
  ];
}

function changeItem(change: Change): string {
  return [changeLine(change), ...change.details.map((detail) => `  - ${codeSpan(detail)}`)].join("\n");
}

function changeLine(change: Change): string {
  const difference = differenceText(change, codeSpan);
  const parts = [
    `**${KINDS[change.kind].title}** ${codeSpan(change.endpoint)}`,
    difference,
    placeText(change, codeSpan),
  ];
  return `- ${parts.filter((part) => part !== "").join(" · ")}`;
}

function acceptedItem({ change, entry }: Accepted): string {
  return `${changeLine(change)}\n  - ${groundsText(entry, codeSpan)}`;
}

function staleItem(stale: StaleEntry): string {
  const { kind, endpoint, reason } = stale.entry;
  return `- **${KINDS[kind].title}** ${codeSpan(endpoint)} · ${codeSpan(reason)}\n  - ${staleText(stale)}`;
}
