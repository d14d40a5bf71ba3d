import { oneLine } from "../one-line.js";
import { annotation } from "../workflow-command.js";
import { type Finding, severityOf } from "../../lint/finding.js";
import type { LintResult } from "../../lint/lint.js";
import { notesOf, plainText, subjectOf, summaryText } from "./words.js";

/**
 * The report as commands of GitHub's workflows, which show each finding at its model's file. GitHub keeps ten of each
 * level per step: the most serious come first, and the last lines, for the log, sum up.
 */
export function githubReport(result: LintResult): string {
  const lines = [...result.findings.map(findingCommand), ...notesOf(result), summaryText(result)];
  return `${lines.join("\n")}\n`;
}

function findingCommand(finding: Finding): string {
  const { rule, model, file, path, message, hint } = finding;
  const title = `${rule}: ${oneLine(subjectOf(finding))}`;
  const place = `(${oneLine(model)}, ${oneLine(path)})`;
  return annotation(severityOf(finding), file, title, `${plainText(message)}\n${plainText(hint)}\n${place}`);
}
