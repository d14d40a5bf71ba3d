import { oneLine } from "../one-line.js";
import { type Finding, severityOf } from "../../lint/finding.js";
import type { LintResult } from "../../lint/lint.js";
import { notesOf, plainText, subjectOf, summaryText } from "./words.js";

/** Wide enough for `warning`, the longest word in front of a finding. */
const MARGIN = 9;

/** The report for a terminal: what and where, then why and what to do. */
export function textReport(result: LintResult): string {
  const notes = notesOf(result).map((note) => `${"note".padEnd(MARGIN)}${note}`);
  return `${[...result.findings.flatMap(findingLines), ...notes, summaryText(result)].join("\n")}\n`;
}

function findingLines(finding: Finding): string[] {
  const { rule, model, file, path, message, hint } = finding;
  const place = [model, ...(file === null ? [] : [file])].map(oneLine).join(", ");
  const indent = " ".repeat(MARGIN + 2);
  return [
    `${severityOf(finding).padEnd(MARGIN)}${rule}  ${oneLine(subjectOf(finding))}  (${place})`,
    `${indent}${oneLine(path)}: ${plainText(message)}`,
    `${indent}${plainText(hint)}`,
  ];
}
