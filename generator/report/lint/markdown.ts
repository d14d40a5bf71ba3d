import { codeSpan } from "../code-span.js";
import { commentText } from "../comment.js";
import { sentenceText } from "../sentence.js";
import { type Finding, RULES, SEVERITIES, type Severity, severityOf } from "../../lint/finding.js";
import type { LintResult, SuppressedFinding } from "../../lint/lint.js";
import { notesOf, subjectOf, summaryText } from "./words.js";

/** Of a section this many items are open, the others folded. */
const OPEN_ITEMS = 10;

const HEADINGS = {
  error: "Errors",
  warning: "Warnings",
  notice: "Notices",
} as const satisfies Record<Severity, string>;

/** The report as a comment on a pull request: errors on top, long parts folded, within GitHub's limit. */
export function markdownReport(result: LintResult): string {
  return commentText(
    [`### API lint: ${summaryText(result)}`, ...notesOf(result)],
    [
      ...SEVERITIES.map((severity) => ({
        heading: HEADINGS[severity],
        items: result.findings.filter((finding) => severityOf(finding) === severity).map(findingItem),
        open: severity === "notice" ? 0 : OPEN_ITEMS,
      })),
      { heading: "Turned off", items: result.suppressed.map(suppressedItem), open: 0 },
    ],
  );
}

function findingItem(finding: Finding): string {
  const { message, hint } = finding;
  return `${findingLine(finding)}\n  - ${sentenceText(message, codeSpan)}\n  - ${sentenceText(hint, codeSpan)}`;
}

function suppressedItem(finding: SuppressedFinding): string {
  return `${findingLine(finding)}\n  - ${codeSpan(finding.reason)}`;
}

function findingLine(finding: Finding): string {
  const { rule, model, file, path } = finding;
  const place = [model, ...(file === null ? [] : [file]), path].map(codeSpan).join(", ");
  return `- **${RULES[rule].title}** ${codeSpan(rule)} ${codeSpan(subjectOf(finding))} · ${place}`;
}
